// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestUnreadyReleasesAreSpread(t *testing.T) {
	for _, c := range []struct{ releases, percent, want, most int }{{200, 5, 10, 20}, {100, 10, 10, 10}, {10, 10, 1, 10}, {7, 0, 0, 7}, {30, 50, 15, 2}} {
		l := load{Releases: c.releases, Unready: c.percent}
		n, gap, widest := 0, 0, 0
		for i := range c.releases {
			gap++
			if l.unready(i) {
				n, gap = n+1, 0
			}
			widest = max(widest, gap)
		}
		if n != c.want || l.healthy() != c.releases-c.want || widest > c.most {
			t.Errorf("%+v: %d, %d healthy, at most %d of them in a row", c, n, l.healthy(), widest)
		}
	}
}

func TestLoads(t *testing.T) {
	s, loads, err := parse([]string{"--n=30", "--concurrent=2,3", "--chart-size=2MB", "--unready=10", "--unready-timeout=90s", "--json=x"})
	if err != nil || s.json != "x" || s.idle != time.Minute || !s.audit {
		t.Fatalf("%+v, %v", s, err)
	}
	want := load{Releases: 30, Concurrent: 2, Charts: 1, Padding: 2_000_000, Unready: 10, UnreadyTimeout: metav1.Duration{Duration: 90 * time.Second}}
	if len(loads) != 2 || loads[0] != want || loads[1].Concurrent != 3 {
		t.Errorf("%+v", loads)
	}
	if text := loads[0].text(); text != "30 releases, --concurrent=2, 10 % never ready (timeout 1m30s), 2000000 bytes of text in the chart" {
		t.Error(text)
	}
	for _, bad := range []string{
		"--n=0", "--concurrent=0", "--unready=100", "--charts=0", "--charts=101", "--chart-size=big", "--chart-size=-1", "--crds=-1",
		"--suite=some", "--interval=-1s", "more",
	} {
		if _, loads, err := parse([]string{bad}); err == nil {
			t.Errorf("%s: %+v", bad, loads)
		}
	}
}

func TestSuite(t *testing.T) {
	_, loads, err := parse([]string{"--suite=all", "--n=50", "--check"})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, l := range loads {
		texts = append(texts, l.text())
	}
	got := strings.Join(texts, "\n")
	want := strings.Join([]string{
		"50 releases, --concurrent=10",
		"50 releases, --concurrent=10, 500 extra CRDs",
		"50 releases, --concurrent=10, 10 % never ready (timeout 2m0s)",
		"50 releases, --concurrent=10, 20 charts",
		"50 releases, --concurrent=10, 2000000 bytes of text in the chart",
		"200 releases, --concurrent=4, 5 % never ready (timeout 2m0s)",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// A plain load equals one from an older file.
	if want := (load{Releases: 50, Concurrent: 10, Charts: 1}); loads[0] != want {
		t.Errorf("%+v, want %+v", loads[0], want)
	}
	if !loads[0].plain() || loads[1].plain() || loads[2].plain() || loads[3].plain() || loads[4].plain() {
		t.Error("only the first load is plain")
	}
}

// TestPaddingFitsIntoASecret: the record of a padded chart fits into a Secret of one mebibyte,
// although its files are encoded twice.
func TestPaddingFitsIntoASecret(t *testing.T) {
	text := padding(2_000_000, 7)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(base64.StdEncoding.EncodeToString(text)))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	stored := base64.StdEncoding.EncodedLen(packed.Len())
	t.Logf("%d bytes of text are stored as %d", len(text), stored)
	if len(text) != 2_000_000 || stored > 1<<20 || stored < 100_000 {
		t.Errorf("%d bytes of text are stored as %d", len(text), stored)
	}
	if bytes.Equal(text[:1000], padding(1000, 8)) {
		t.Error("two charts have the same text")
	}
}

func TestDefinitions(t *testing.T) {
	plain, err := definitions(t.TempDir(), 0)
	if err != nil || filepath.Base(plain) != "bases" {
		t.Errorf("%s, %v", plain, err)
	}
	dir, err := definitions(t.TempDir(), 25)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, "extra.yaml"))
	if err != nil || strings.Count(string(content), "kind: CustomResourceDefinition") != 25 {
		t.Errorf("%s, %v", content, err)
	}
	if !strings.Contains(string(content), "name: things24.g2.bench.example.com") || strings.Contains(string(content), "%!") {
		t.Errorf("%s", content)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) < 2 {
		t.Errorf("%v, %v", entries, err)
	}
}
