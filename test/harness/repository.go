// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/opencontainers/go-digest"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/repo"
	"sigs.k8s.io/yaml"
)

// HelmRepository serves chart archives with an index, in any number of folders. Each folder is a
// repository. The contents are in memory.
type HelmRepository struct {
	address string
	server  *http.Server

	mu      sync.Mutex
	indices map[string]*repo.IndexFile
	files   map[string][]byte
}

// StartHelmRepository listens on a free port of the loopback interface.
func StartHelmRepository(ctx context.Context) (*HelmRepository, error) {
	r := &HelmRepository{indices: map[string]*repo.IndexFile{}, files: map[string][]byte{}}
	server, address, err := Serve(ctx, "127.0.0.1:0", r)
	if err != nil {
		return nil, fmt.Errorf("start a Helm repository: %w", err)
	}
	r.server, r.address = server, address
	return r, nil
}

// Close ends the repository.
func (r *HelmRepository) Close() error { return r.server.Close() }

// URL returns the address of a folder, for a HelmRepository.
func (r *HelmRepository) URL(folder string) string { return "http://" + r.address + "/" + folder }

// Add adds a chart archive to a folder.
func (r *HelmRepository) Add(folder string, archive []byte) error {
	c, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return fmt.Errorf("chart for the Helm repository: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	index := r.indices[folder]
	if index == nil {
		index = repo.NewIndexFile()
		r.indices[folder] = index
	}
	name := c.Name() + "-" + c.Metadata.Version + ".tgz"
	if err := index.MustAdd(c.Metadata, name, r.URL(folder), digest.FromBytes(archive).Encoded()); err != nil {
		return fmt.Errorf("index of the Helm repository: %w", err)
	}
	index.SortEntries()
	content, err := yaml.Marshal(index)
	if err != nil {
		return err
	}
	r.files["/"+folder+"/"+name], r.files["/"+folder+"/index.yaml"] = archive, content
	return nil
}

func (r *HelmRepository) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	content, ok := r.files[request.URL.Path]
	r.mu.Unlock()
	if !ok {
		http.NotFound(w, request)
		return
	}
	_, _ = w.Write(content)
}
