// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
)

// benched returns the chart that test/load/bench installs.
func benched(tb testing.TB) []byte {
	tb.Helper()
	root := filepath.Join("..", "..", "test", "charts", "bench")
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		files["bench/"+filepath.ToSlash(name)] = string(content)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return archive(tb, files)
}

// large returns a chart of about 2 MB, packed, with long values and a subchart. Its text compresses
// about as well as the CRDs and dashboards of large charts.
func large(tb testing.TB) []byte {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	text := func(lines int) string {
		var b strings.Builder
		for i := range lines {
			fmt.Fprintf(&b, "key%d: a description of what this is about %x\n", i, random.Uint64())
		}
		return b.String()
	}
	files := map[string]string{
		"large/Chart.yaml":               "apiVersion: v2\nname: large\nversion: 1.0.0\ndependencies:\n- name: sub\n  version: 1.0.0\n",
		"large/values.yaml":              text(2000),
		"large/charts/sub/Chart.yaml":    "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"large/charts/sub/values.yaml":   text(500),
		"large/charts/sub/crds/crd.yaml": text(20000),
	}
	for i := range 40 {
		files[fmt.Sprintf("large/templates/t%d.yaml", i)] = text(2800)
	}
	return archive(tb, files)
}

// BenchmarkParse measures the parser of Helm.
func BenchmarkParse(b *testing.B) {
	for name, data := range map[string][]byte{"bench": benched(b), "large": large(b)} {
		b.Run(fmt.Sprintf("%s-%dkB", name, len(data)>>10), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := loader.LoadArchive(bytes.NewReader(data)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkIdentify measures a no-op reconciliation, BenchmarkLoad an action whose chart is cached
// or only fetched.
func BenchmarkIdentify(b *testing.B) {
	s, a := filled(b, benched(b), DefaultCacheBytes)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Identify(b.Context(), a, "app"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for name, data := range map[string][]byte{"bench": benched(b), "large": large(b)} {
		for mode, limit := range map[string]int64{"Cached": DefaultCacheBytes, "Fetched": 0} {
			b.Run(name+mode, func(b *testing.B) {
				s, a := filled(b, data, limit)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Load(b.Context(), a); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// filled returns a store that has identified an artifact, and the fetched artifact.
func filled(b *testing.B, data []byte, limit int64) (*Store, Artifact) {
	b.Helper()
	srv := newServer(data)
	s := NewStore(Options{Workers: workers(), Client: &http.Client{Transport: srv}, MaxBytes: 1 << 30, CacheBytes: limit, NoCache: limit == 0, Grace: time.Minute})
	_, a, err := s.Identify(b.Context(), srv.artifact("well", "a"), "app")
	if err != nil {
		b.Fatal(err)
	}
	if a, err = s.Fetch(b.Context(), a, "app"); err != nil {
		b.Fatal(err)
	}
	return s, a
}
