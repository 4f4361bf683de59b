// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"

	"github.com/pintle-dev/pintle/internal/release"
)

// TestRawChart: a chart that was encoded before is stored with the same bytes, and its files are
// found when the size is reported. It is not used for another chart.
func TestRawChart(t *testing.T) {
	t.Parallel()
	rls := heavy(1, 100<<10)
	want, err := encode(rls, applyMethodField(ServerSide), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(want, &all); err != nil || all["name"] == "" || all["apply_method"] != ServerSide {
		t.Errorf("the record cannot be read: %v", err)
	}
	raw, err := json.Marshal(rls.Chart)
	if err != nil {
		t.Fatal(err)
	}
	small := *rls
	small.Chart = &helmchart.Chart{Metadata: rls.Chart.Metadata}
	chart := &RawChart{Chart: small.Chart, JSON: raw}
	if got, err := encode(&small, applyMethodField(ServerSide), chart); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d; %v", len(got), len(want), err)
	}
	other := *rls
	other.Chart = &helmchart.Chart{Metadata: rls.Chart.Metadata}
	if got, err := encode(&other, unknownFields{}, chart); err != nil || bytes.Contains(got, raw) {
		t.Errorf("the chart of another release is stored: %v", err)
	}
	sizes := map[string][]release.RecordPart{}
	for name, r := range map[string]*helmrelease.Release{"whole": rls, "raw": &small} {
		size, err := (&packer{}).measure(r, chart, corev1.MaxSecretSize)
		if err != nil {
			t.Fatal(err)
		}
		sizes[name] = size.Parts
	}
	if diff := cmp.Diff(sizes["whole"], sizes["raw"]); diff != "" || len(sizes["raw"]) == 0 {
		t.Errorf("parts (-whole +raw):\n%s", diff)
	}
}

// packed returns the data of a record whose JSON is raw.
func packed(raw []byte) ([]byte, error) { return (&packer{}).pack(raw) }

// FuzzPack: every reader of gzip reads what was packed, by a writer that was used before.
func FuzzPack(f *testing.F) {
	f.Add([]byte(`{"name":"app"}`), []byte(`{}`))
	f.Add([]byte(strings.Repeat("a", 70000)), []byte("b"))
	f.Add([]byte(""), []byte(""))
	f.Fuzz(func(t *testing.T, one, other []byte) {
		p := &packer{}
		for _, want := range [][]byte{one, other, one} {
			data, err := p.pack(want)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := base64.StdEncoding.DecodeString(string(data))
			if err != nil {
				t.Fatal(err)
			}
			r, err := gzip.NewReader(bytes.NewReader(stream))
			if err != nil {
				t.Fatal(err)
			}
			if raw, err := io.ReadAll(r); err != nil || !bytes.Equal(raw, want) {
				t.Fatalf("others read %q, want %q; %v", raw, want, err)
			}
			if raw, err := unpack(data); err != nil || !bytes.Equal(raw, want) {
				t.Fatalf("read %q, want %q; %v", raw, want, err)
			}
		}
	})
}

// TestPackTightly: a record that comes near what a Secret holds is compressed as
// Helm compresses it.
func TestPackTightly(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewChaCha8([32]byte{}))
	var text strings.Builder
	for text.Len() < 5<<18 {
		fmt.Fprintf(&text, "%x\n", r.Uint64())
	}
	data, err := packed([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if helms := base64.StdEncoding.EncodedLen(buf.Len()); len(data) > helms || buf.Len() < quickLimit {
		t.Errorf("%d bytes, Helm's would be %d", len(data), helms)
	}
}

// large returns a revision whose chart has files of some 2 KB each.
func large(files int) *helmrelease.Release {
	rls := revision(1, helmrelease.StatusDeployed, nil)
	for i := range files {
		var text strings.Builder
		for j := range 50 {
			fmt.Fprintf(&text, "  key%d: {{ .Values.some%d }} # text of file %d\n", j*7919%1000, j, i)
		}
		rls.Chart.Templates = append(rls.Chart.Templates, &helmchart.File{Name: fmt.Sprint("templates/", i), Data: []byte(text.String())})
		rls.Manifest += text.String()
	}
	return rls
}

func BenchmarkStore(b *testing.B) {
	for name, files := range map[string]int{"Small": 4, "Large": 800} {
		rls := large(files)
		d := openDriver(b.Context(), accessTo(nil), time.Now)
		b.Run(name+"/Create", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.secret("a", rls, &stored{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		w, err := d.secret("a", rls, &stored{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/Read", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c, err := decode(nil, "prod", w.secret)
				if err != nil {
					b.Fatal(err)
				}
				c.revision(nil)
			}
		})
	}
}
