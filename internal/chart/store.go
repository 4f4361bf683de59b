// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package chart turns chart artifacts into charts: it downloads them, verifies
// their digest, keeps their bytes by digest and hands out fresh copies.
//
// It knows neither HelmReleases nor clusters, and it never hands out the same
// chart twice: Helm changes the chart it renders, so a shared one would carry
// the values of one release into the next.
package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/singleflight"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// Limits that are no settings: what a chart's identity costs is a few strings,
// and bytes are worth keeping only while several releases use them.
const (
	maxIdentities  = 4096
	maxCachedBytes = 64 << 20
)

// ErrNotFound says that the artifact server does not have the artifact (any
// more), which usually means that the source has moved on.
var ErrNotFound = errors.New("artifact not found")

// Artifact names one packaged chart.
type Artifact struct {
	URL string
	// Digest is "<algorithm>:<hex>" of the bytes at URL; required.
	Digest string
}

// Identity is what Chart.yaml says.
type Identity struct {
	Name       string
	Version    string
	AppVersion string
}

// Store downloads artifacts and remembers them. It may be used concurrently.
type Store struct {
	client   *http.Client
	maxBytes int64

	downloads singleflight.Group

	mu         sync.Mutex
	bytes      *simplelru.LRU[string, []byte]
	held       int
	identities *simplelru.LRU[string, Identity]
}

// NewStore returns a store that downloads through client, whose Timeout bounds
// a download, and refuses artifacts of more than maxBytes bytes.
func NewStore(client *http.Client, maxBytes int64) *Store {
	s := &Store{client: client, maxBytes: maxBytes}
	// Sizes are positive constants, the one thing NewLRU can object to.
	s.identities, _ = simplelru.NewLRU[string, Identity](maxIdentities, nil)
	s.bytes, _ = simplelru.NewLRU(maxIdentities, func(_ string, data []byte) { s.held -= len(data) })
	return s
}

// Identify returns the identity of an artifact's chart. It downloads only what
// it has not seen before.
func (s *Store) Identify(ctx context.Context, a Artifact) (Identity, error) {
	s.mu.Lock()
	id, known := s.identities.Get(a.Digest)
	s.mu.Unlock()
	if known {
		return id, nil
	}
	c, err := s.Load(ctx, a)
	if err != nil {
		return Identity{}, err
	}
	id = Identity{Name: c.Metadata.Name, Version: c.Metadata.Version, AppVersion: c.Metadata.AppVersion}
	s.mu.Lock()
	s.identities.Add(a.Digest, id)
	s.mu.Unlock()
	return id, nil
}

// Load returns a chart of its own for the caller to render and change.
func (s *Store) Load(ctx context.Context, a Artifact) (*helmchart.Chart, error) {
	data, err := s.get(ctx, a)
	if err != nil {
		return nil, err
	}
	c, err := loader.LoadArchive(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("chart in %s cannot be read: %w", a.URL, err)
	}
	return c, nil
}

// get returns the verified bytes of an artifact. Callers must not change them.
func (s *Store) get(ctx context.Context, a Artifact) ([]byte, error) {
	s.mu.Lock()
	data, cached := s.bytes.Get(a.Digest)
	s.mu.Unlock()
	if cached {
		return data, nil
	}
	// Whoever comes first downloads for all, so its context must not end the
	// download; the client's timeout does. The URL is part of the key because one
	// server may have the bytes when another has lost them.
	result := s.downloads.DoChan(a.Digest+" "+a.URL, func() (any, error) {
		return s.download(context.WithoutCancel(ctx), a)
	})
	select {
	case got := <-result:
		data, _ = got.Val.([]byte)
		return data, got.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("artifact %s was not waited for: %w", a.URL, context.Cause(ctx))
	}
}

func (s *Store) download(ctx context.Context, a Artifact) ([]byte, error) {
	want, err := digest.Parse(a.Digest)
	if err != nil {
		return nil, fmt.Errorf("artifact %s has no usable digest %q: %w", a.URL, a.Digest, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("artifact URL %q: %w", a.URL, err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("artifact cannot be downloaded: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, fmt.Errorf("%w: %s", ErrNotFound, a.URL)
	default:
		return nil, fmt.Errorf("artifact cannot be downloaded: GET %s answered %s", a.URL, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, s.maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("artifact %s broke off: %w", a.URL, err)
	}
	if int64(len(data)) > s.maxBytes {
		return nil, fmt.Errorf("artifact %s is larger than the limit of %d bytes", a.URL, s.maxBytes)
	}
	if got := want.Algorithm().FromBytes(data); got != want {
		return nil, fmt.Errorf("artifact %s has digest %s, but its source announced %s", a.URL, got, want)
	}
	s.keep(a.Digest, data)
	return data, nil
}

func (s *Store) keep(key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(data) > maxCachedBytes || s.bytes.Contains(key) {
		return
	}
	s.bytes.Add(key, data)
	s.held += len(data)
	for s.held > maxCachedBytes {
		s.bytes.RemoveOldest()
	}
}
