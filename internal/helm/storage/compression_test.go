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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"

	"github.com/pintle-dev/pintle/internal/release"
)

// encoded returns the JSON of a release together with what was kept.
func encoded(rls *helmrelease.Release, kept unknownFields) ([]byte, error) {
	fixed, err := encodeFixed(rls, kept, nil)
	if err != nil {
		return nil, err
	}
	moving, err := encodeState(rls, kept)
	return slices.Concat(fixed, moving), err
}

// TestRawChart: a chart that was encoded before is stored with the same bytes, and its files are
// found when the size is reported. It is not used for another chart.
func TestRawChart(t *testing.T) {
	t.Parallel()
	rls := heavy(1, 100<<10)
	want, err := encodeFixed(rls, applyMethodField(ServerSide), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(append(bytes.Clone(want), '}'), &all); err != nil || all["name"] == "" || all["apply_method"] != ServerSide {
		t.Errorf("the first part of the record cannot be read: %v", err)
	}
	raw, err := json.Marshal(rls.Chart)
	if err != nil {
		t.Fatal(err)
	}
	small := *rls
	small.Chart = &helmchart.Chart{Metadata: rls.Chart.Metadata}
	chart := &RawChart{Chart: small.Chart, JSON: raw}
	if got, err := encodeFixed(&small, applyMethodField(ServerSide), chart); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d; %v", len(got), len(want), err)
	}
	other := *rls
	other.Chart = &helmchart.Chart{Metadata: rls.Chart.Metadata}
	if got, err := encodeFixed(&other, unknownFields{}, chart); err != nil || bytes.Contains(got, raw) {
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

// packed returns the data of a record whose JSON is raw and what follows.
func packed(raw []byte, rest ...string) ([]byte, error) {
	data, _, err := (&packer{}).pack(firstPart{}, func() ([]byte, error) { return raw, nil }, []byte(strings.Join(rest, "")))
	return data, err
}

func FuzzPack(f *testing.F) {
	f.Add([]byte(`{"name":"app"`), []byte(`{}}`), []byte(`{"status":"deployed"}}`))
	f.Add([]byte(strings.Repeat("a", 70000)), []byte("b"), []byte(""))
	f.Add([]byte(""), []byte(""), []byte("x"))
	f.Fuzz(func(t *testing.T, fixed, moving, later []byte) {
		moving, later = append([]byte(statePrefix), moving...), append([]byte(statePrefix), later...)
		p := &packer{}
		read := func(data, want []byte) {
			raw, err := unpack(data)
			if err != nil || !bytes.Equal(raw, want) {
				t.Fatalf("read %q, want %q; %v", raw, want, err)
			}
			// As every other reader does.
			stream, err := base64.StdEncoding.DecodeString(string(data))
			if err != nil {
				t.Fatal(err)
			}
			r, err := gzip.NewReader(bytes.NewReader(stream))
			if err != nil {
				t.Fatal(err)
			}
			r.Multistream(false)
			if raw, err := io.ReadAll(r); err != nil || !bytes.Equal(raw, want) {
				t.Fatalf("others read %q, want %q; %v", raw, want, err)
			}
		}
		data, first, err := p.pack(firstPart{}, func() ([]byte, error) { return fixed, nil }, moving)
		if err != nil {
			t.Fatal(err)
		}
		read(data, slices.Concat(fixed, moving))
		never := func() ([]byte, error) { t.Fatal("compressed once more"); return nil, nil }
		for _, part := range []firstPart{first, readFirstPart(data, slices.Concat(fixed, moving))} {
			again, _, err := p.pack(part, never, later)
			if err != nil {
				t.Fatal(err)
			}
			read(again, slices.Concat(fixed, later))
		}
	})
}

// FuzzFirstPart: whatever a header says, what is made of it is either right or
// not used.
func FuzzFirstPart(f *testing.F) {
	data, err := packed([]byte(`{"name":"app"`), statePrefix+"{}}")
	if err != nil {
		f.Fatal(err)
	}
	stream, _ := base64.StdEncoding.DecodeString(string(data))
	f.Add(stream)
	f.Add(stream[:len(stream)/2])
	f.Add([]byte("\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\x0c\x00PT\x08\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		text := []byte(base64.StdEncoding.EncodeToString(stream))
		raw, err := unpack(text)
		first := readFirstPart(text, raw)
		if first.deflated == nil {
			return
		}
		if err != nil {
			t.Fatalf("a part of what cannot be read: %v", err)
		}
		data, _, err := (&packer{}).pack(first, nil, []byte("end"))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := unpack(data); err != nil || string(again) != string(raw[:first.size])+"end" {
			t.Fatalf("a part that cannot be continued: %q, %v", again, err)
		}
	})
}

// TestHeaderOfAnotherStream: a tool that compresses records anew may keep the
// header, whose border then is wrong.
func TestHeaderOfAnotherStream(t *testing.T) {
	t.Parallel()
	fixed := strings.Repeat(`{"name":"app"}`, 100)
	ours, err := packed([]byte(fixed), statePrefix)
	if err != nil {
		t.Fatal(err)
	}
	raw := []byte(fixed + statePrefix)
	stream, err := base64.StdEncoding.DecodeString(string(ours))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	w.Header = r.Header
	if _, err := io.Copy(w, r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if string(w.Extra[:2]) != "PT" {
		t.Fatalf("extra field %q", w.Extra)
	}
	if first := readFirstPart([]byte(base64.StdEncoding.EncodeToString(buf.Bytes())), raw); first.deflated != nil {
		t.Errorf("the border of another stream was believed: %+v", first)
	}
	if first := readFirstPart(ours, raw); first.deflated == nil || int(first.size) != 1400 {
		t.Errorf("our own is not found: %+v", first)
	}
	if first := readFirstPart(ours, []byte(fixed+`,"hooks":`)); first.deflated != nil {
		t.Errorf("what is not followed by the state was believed: %+v", first)
	}
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
	if helms := base64.StdEncoding.EncodedLen(buf.Len()); len(data) > helms+200 || buf.Len() < quickLimit {
		t.Errorf("%d bytes, Helm's would be %d", len(data), helms)
	}
}

func TestPartOfARecordIsUsedAgain(t *testing.T) {
	t.Parallel()
	was := revision(3, helmrelease.StatusDeployed, nil)
	known := &stored{full: detached(was), first: &firstPart{deflated: []byte("x")}}
	if known.part(detached(was)).deflated == nil {
		t.Error("nothing has changed but the state")
	}
	for name, change := range map[string]func(*helmrelease.Release){
		"chart":     func(r *helmrelease.Release) { c := *r.Chart; r.Chart = &c },
		"manifest":  func(r *helmrelease.Release) { r.Manifest += " " },
		"values":    func(r *helmrelease.Release) { r.Config = map[string]any{} },
		"version":   func(r *helmrelease.Release) { r.Version++ },
		"name":      func(r *helmrelease.Release) { r.Name += "x" },
		"namespace": func(r *helmrelease.Release) { r.Namespace += "x" },
	} {
		other := detached(was)
		change(other)
		if known.part(other).deflated != nil {
			t.Errorf("another %s was not stored", name)
		}
	}
	if (&stored{}).part(was).deflated != nil {
		t.Error("nothing was known")
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
		s := &secretStore{namespace: "prod", packer: &packer{}}
		known := &stored{full: rls}
		b.Run(name+"/Create", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.secret("a", rls, &stored{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		w, err := s.secret("a", rls, &stored{})
		if err != nil {
			b.Fatal(err)
		}
		raw, err := unpack(w.secret.Data[dataKey])
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/Update", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				known.first = w.first
				if _, err := s.secret("a", rls, known); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/UpdateRead", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				known.first, known.data, known.raw = nil, w.secret.Data[dataKey], raw
				if _, err := s.secret("a", rls, known); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/Read", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := readRelease(w.secret, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
