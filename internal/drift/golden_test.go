// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

var rewrite = flag.Bool("rewrite", false, "replace the expected results in testdata")

// golden is one file of testdata. Most files were recorded from a real API server.
type golden struct {
	Ignore   []helmv2.IgnoreRule `json:"ignore,omitempty"`
	Override []string            `json:"override,omitempty"`
	// Autoscaler is the autoscaler that targets the live object.
	Autoscaler Autoscaler      `json:"autoscaler,omitzero"`
	Desired    json.RawMessage `json:"desired"`
	Live       json.RawMessage `json:"live"`
	DryRun     json.RawMessage `json:"dryRun"`
	Want       found           `json:"want"`
}

// found is the expected result of a comparison.
type found struct {
	Exempt bool `json:"exempt,omitempty"`
	// Contained is the result of Contains.
	Contained bool           `json:"contained,omitempty"`
	Fields    []foundField   `json:"fields,omitempty"`
	Ceded     []foundField   `json:"ceded,omitempty"`
	Body      map[string]any `json:"body,omitempty"`
	Disown    []any          `json:"disown,omitempty"`
	Error     string         `json:"error,omitempty"`
}

type foundField struct {
	Kind    release.DriftKind `json:"kind"`
	Path    string            `json:"path"`
	Pointer string            `json:"pointer"`
	Want    string            `json:"want,omitempty"`
	Have    string            `json:"have,omitempty"`
	By      string            `json:"by,omitempty"`
}

func foundFields(fields []release.DriftedField) []foundField {
	var all []foundField
	for _, f := range fields {
		by := strings.TrimSpace(strings.Join([]string{f.Manager, f.Operation, f.Subresource}, " "))
		if !f.Time.IsZero() {
			by += f.Time.UTC().Format(" 2006-01-02T15:04:05Z")
		}
		all = append(all, foundField{f.Kind, f.Path, f.Pointer, f.Want, f.Have, by})
	}
	return all
}

func decode(t testing.TB, raw []byte) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return o
}

func readGolden(t testing.TB, file string) golden {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g := golden{}
	if err := yaml.UnmarshalStrict(raw, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// play runs the same steps as Detector.refresh.
func (g golden) play(t *testing.T) (f found) {
	t.Helper()
	desired, live, dryRun := decode(t, g.Desired), decode(t, g.Live), decode(t, g.DryRun)
	before := []*unstructured.Unstructured{desired.DeepCopy(), live.DeepCopy(), dryRun.DeepCopy()}
	rules, err := CompileRules(g.Ignore)
	if err != nil {
		t.Fatal(err)
	}
	ignore, exempt := rules.For(desired)
	if exempt || Exempt(desired) || Exempt(live) {
		return found{Exempt: true}
	}
	normal := Normalize(desired)
	f.Contained = Contains(live.Object, normal.Object)
	c := Case{Desired: normal, Live: live, DryRun: dryRun, Ignore: ignore, Override: g.Override, Autoscaler: g.Autoscaler}
	d, err := Compare(c)
	if err != nil {
		return found{Error: err.Error()}
	}
	if f.Contained && len(g.Override) == 0 && len(d.Fields) > 0 {
		t.Error("Contains is true, but Compare found differences")
	}
	f.Fields, f.Ceded = foundFields(d.Fields), foundFields(d.Ceded)
	if d.Body != nil {
		f.Body = d.Body.Object
	}
	for i := range d.Disown {
		e, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&d.Disown[i])
		if err != nil {
			t.Fatal(err)
		}
		f.Disown = append(f.Disown, e)
	}
	if diff := cmp.Diff(before, []*unstructured.Unstructured{desired, live, dryRun}); diff != "" {
		t.Errorf("an argument was changed:\n%s", diff)
	}
	return f
}

// TestGolden: each file of testdata compares to its expected result. The flag -rewrite replaces the
// expected results, to be reviewed as a diff.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			got, err := yaml.Marshal(map[string]any{"want": readGolden(t, file).play(t)})
			if err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			given, want, _ := strings.Cut(string(raw), "\nwant:")
			if *rewrite {
				if err := os.WriteFile(file, []byte(given+"\n"+string(got)), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split("want:"+want, "\n"), strings.Split(string(got), "\n")); diff != "" {
				t.Errorf("(-want +got), run go test -rewrite if the change is intended:\n%s", diff)
			}
		})
	}
}
