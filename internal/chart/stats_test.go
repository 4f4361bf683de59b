// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"net/http"
	"testing"
	"time"
)

// TestStats: the observer gets size, duration and error of each download, and Stats counts the
// cache.
func TestStats(t *testing.T) {
	type observed struct {
		took   time.Duration
		size   int64
		failed bool
	}
	data := pack(t, "web", "1.0.0")
	a, _ := artifactServer(t, data)
	all, now := make(chan observed, 9), time.Unix(0, 0)
	s := NewStore(Options{
		Workers: workers(), Client: http.DefaultClient, MaxBytes: 1 << 20,
		// Downloads run one at a time.
		Now:        func() time.Time { now = now.Add(time.Second); return now },
		Downloaded: func(took time.Duration, size int64, err error) { all <- observed{took, size, err != nil} },
	})
	for range 2 {
		if _, err := s.Load(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := <-all, (observed{time.Second, int64(len(data)), false}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(all) > 0 {
		t.Error("the observer was called for a cached artifact")
	}
	got := s.Stats()
	if got.ArchiveBytes != int64(len(data)) {
		t.Errorf("Stats are %+v for %d bytes", got, len(data))
	}
	got.ArchiveBytes = 0
	if want := (Stats{Identities: 1, Archives: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	a.Digest = "sha256:" + a.Digest[len(a.Digest)-64:len(a.Digest)-1] + "g"
	if _, err := s.Load(t.Context(), a); err == nil {
		t.Error("an invalid digest was accepted")
	}
	if got := <-all; !got.failed || got.size != 0 {
		t.Errorf("the observer got %+v for a failure", got)
	}
}
