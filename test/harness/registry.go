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
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	helmregistry "helm.sh/helm/v3/pkg/registry"
	"oras.land/oras-go/v2/registry/remote"
)

// Registry is an OCI registry without TLS in this process; it forgets all when
// it is closed.
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
	r := &Registry{
		Address: listener.Addr().String(),
		server: &http.Server{
			Handler:           registry.New(registry.Logger(log.New(io.Discard, "", 0))),
			ReadHeaderTimeout: 10 * time.Second,
		},
	}
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

// Close ends the registry.
func (r *Registry) Close() error { return r.server.Close() }

// PushChart stores a packed chart as `helm push` does: as NAMESPACE/<chart's
// name>, its version being the tag.
func (r *Registry) PushChart(ctx context.Context, namespace string, archive []byte) error {
	c, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return fmt.Errorf("chart to push: %w", err)
	}
	return r.Push(ctx, namespace+"/"+c.Name(), c.Metadata.Version, c.Metadata, archive)
}

// Push stores bytes as the one layer of a Helm artifact, whether they are a
// chart or not.
func (r *Registry) Push(ctx context.Context, repository, tag string, about *helmchart.Metadata, layer []byte) error {
	repo, err := remote.NewRepository(r.Address + "/" + repository)
	if err != nil {
		return err
	}
	repo.PlainHTTP = true
	config, err := json.Marshal(about)
	if err != nil {
		return err
	}
	manifest := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageManifest,
		Config:    describe(helmregistry.ConfigMediaType, config),
		Layers:    []ocispec.Descriptor{describe(helmregistry.ChartLayerMediaType, layer)},
	}
	content, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	err = errors.Join(
		repo.Push(ctx, manifest.Config, bytes.NewReader(config)),
		repo.Push(ctx, manifest.Layers[0], bytes.NewReader(layer)),
	)
	if err == nil {
		err = repo.PushReference(ctx, describe(manifest.MediaType, content), bytes.NewReader(content), tag)
	}
	if err != nil {
		return fmt.Errorf("push %s:%s to %s: %w", repository, tag, r.Address, err)
	}
	return nil
}

func describe(mediaType string, content []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
}

// HelloChart returns the chart of test/charts/hello, packed under a version.
func HelloChart(version string) (archive []byte, err error) {
	c, err := loader.LoadDir(filepath.Join(Root(), "test", "charts", "hello"))
	if err != nil {
		return nil, err
	}
	c.Metadata.Version = version
	dir, err := os.MkdirTemp("", "pintle-chart-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path, err := chartutil.Save(c, dir)
	if err != nil {
		return nil, fmt.Errorf("pack chart hello: %w", err)
	}
	return os.ReadFile(path)
}
