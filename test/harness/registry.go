// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	helmregistry "helm.sh/helm/v3/pkg/registry"
	"oras.land/oras-go/v2/registry/remote"
)

// Registry is an OCI registry without TLS in this process. It keeps its contents in memory.
type Registry struct {
	// Address is host and port.
	Address string

	server *http.Server
}

// StartRegistry listens on an address, whose port may be 0.
func StartRegistry(ctx context.Context, address string) (*Registry, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return ServeRegistry(listener), nil
}

// ServeRegistry starts a registry that accepts connections of a listener.
func ServeRegistry(listener net.Listener) *Registry {
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	return &Registry{Address: listener.Addr().String(), server: serveOn(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			// A client that has the registry as proxy tries TLS first. The handler panics without a path.
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		handler.ServeHTTP(w, r)
	}))}
}

// Close ends the registry.
func (r *Registry) Close() error { return r.server.Close() }

// PushChart stores a chart archive as `helm push` does: as NAMESPACE/<chart's name> with the
// version as tag.
func (r *Registry) PushChart(ctx context.Context, namespace string, archive []byte) error {
	c, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return fmt.Errorf("chart to push: %w", err)
	}
	return r.Push(ctx, namespace+"/"+c.Name(), c.Metadata.Version, c.Metadata, archive)
}

// Push stores bytes as the only layer of a Helm artifact. The bytes need not be a chart.
func (r *Registry) Push(ctx context.Context, repository, tag string, about *helmchart.Metadata, layer []byte) error {
	config, err := json.Marshal(about)
	if err != nil {
		return err
	}
	return r.put(ctx, repository, tag,
		blob{mediaType: helmregistry.ConfigMediaType, content: config},
		blob{mediaType: helmregistry.ChartLayerMediaType, content: layer})
}

// PushFiles stores files as `flux push artifact` does.
func (r *Registry) PushFiles(ctx context.Context, repository, tag string, files map[string]string) error {
	content, err := PackFiles(files)
	if err != nil {
		return err
	}
	return r.put(ctx, repository, tag,
		blob{mediaType: "application/vnd.cncf.flux.config.v1+json", content: []byte("{}")},
		blob{mediaType: "application/vnd.cncf.flux.content.v1.tar+gzip", content: content})
}

// Digest returns the digest of a tag's artifact.
func (r *Registry) Digest(ctx context.Context, repository, tag string) (string, error) {
	repo, err := r.repository(repository)
	if err != nil {
		return "", err
	}
	found, err := repo.Resolve(ctx, tag)
	if err != nil {
		return "", fmt.Errorf("digest of %s:%s at %s: %w", repository, tag, r.Address, err)
	}
	return found.Digest.String(), nil
}

func (r *Registry) repository(name string) (*remote.Repository, error) {
	repo, err := remote.NewRepository(r.Address + "/" + name)
	if err != nil {
		return nil, err
	}
	repo.PlainHTTP = true
	return repo, nil
}

// blob is a part of an artifact.
type blob struct {
	mediaType   string
	content     []byte
	annotations map[string]string
}

func (b blob) descriptor() ocispec.Descriptor {
	return ocispec.Descriptor{
		MediaType: b.mediaType, Digest: digest.FromBytes(b.content), Size: int64(len(b.content)), Annotations: b.annotations,
	}
}

// put stores an artifact of one layer under a tag.
func (r *Registry) put(ctx context.Context, repository, tag string, config, layer blob) error {
	repo, err := r.repository(repository)
	if err != nil {
		return err
	}
	content, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageManifest,
		Config:    config.descriptor(),
		Layers:    []ocispec.Descriptor{layer.descriptor()},
	})
	if err != nil {
		return err
	}
	manifest := blob{mediaType: ocispec.MediaTypeImageManifest, content: content}
	err = errors.Join(
		repo.Push(ctx, config.descriptor(), bytes.NewReader(config.content)),
		repo.Push(ctx, layer.descriptor(), bytes.NewReader(layer.content)),
	)
	if err == nil {
		err = repo.PushReference(ctx, manifest.descriptor(), bytes.NewReader(content), tag)
	}
	if err != nil {
		return fmt.Errorf("push %s:%s to %s: %w", repository, tag, r.Address, err)
	}
	return nil
}
