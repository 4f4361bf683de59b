// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"

	"github.com/pintle-dev/pintle/internal/render/remote"
)

// Files are the files of an artifact that a pattern selects, in the order of their paths. They must
// not be changed.
type Files struct {
	Files []remote.File
	// Refused is why they cannot be used; empty if they can.
	Refused string
}

// size estimates the memory of files.
func (f Files) size() int64 {
	const overhead = 128
	size := int64(overhead + len(f.Refused))
	for _, file := range f.Files {
		size += int64(overhead + len(file.Path) + len(file.Data))
	}
	return size
}

// Select returns the files of an artifact that the first pattern selects. The other patterns are those
// of other users of the artifact: their files are cached, so that it is unpacked once. Unless the files
// are cached, Select waits for a download for a short time, and then returns a *Pending, as Identify
// does.
func (s *Store) Select(ctx context.Context, a Artifact, patterns []string, waiter string) (Files, error) {
	a.files = true
	s.mu.Lock()
	a.result = s.takeResult(a, waiter)
	known, ok := s.cache.files.Get(a.filesKey(patterns[0]))
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	if a.result == nil {
		var err error
		if a.result, err = s.await(ctx, a, waiter); err != nil {
			return Files{}, err
		}
	}
	if a.result.err != nil {
		return Files{}, a.result.err
	}
	return s.selected(ctx, a, a.result.archive, patterns)
}

// LoadFiles is Select, but waits until a download has ended.
func (s *Store) LoadFiles(ctx context.Context, a Artifact, patterns []string) (Files, error) {
	a.files, a.result = true, nil
	s.mu.Lock()
	known, ok := s.cache.files.Get(a.filesKey(patterns[0]))
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	archive, err := s.Load(ctx, a)
	if err != nil {
		return Files{}, err
	}
	return s.selected(ctx, a, archive, patterns)
}

// filesKey identifies files in the cache.
func (a Artifact) filesKey(pattern string) string { return a.cacheKey() + " " + pattern }

// selected reads the files of an archive, and caches them.
func (s *Store) selected(ctx context.Context, a Artifact, archive []byte, patterns []string) (Files, error) {
	all, err := s.charts.Files(ctx, a.Tenant, archive, patterns)
	if err != nil {
		return Files{}, a.Unreadable(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range all {
		s.cache.keepFiles(a.filesKey(of.Pattern), Files{Files: of.Files, Refused: of.Refused})
	}
	return Files{Files: all[0].Files, Refused: all[0].Refused}, nil
}
