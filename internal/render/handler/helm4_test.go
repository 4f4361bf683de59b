// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// ofHelm4 is the content of testdata/helm4.json, which tests in test/helm compare with Helm 4.
type ofHelm4 struct {
	Functions  []string `json:"functions"`
	Renderings []struct {
		Name     string            `json:"name"`
		Files    map[string]string `json:"files"`
		Values   m                 `json:"values"`
		Manifest string            `json:"manifest"`
		Fails    bool              `json:"fails"`
		Differs  bool              `json:"differs"`
	} `json:"renderings"`
}

func helm4(t *testing.T) ofHelm4 {
	t.Helper()
	raw, err := os.ReadFile("testdata/helm4.json")
	if err != nil {
		t.Fatal(err)
	}
	var all ofHelm4
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRendersAsHelm4: charts that Helm 3 renders in another way have the manifests of Helm 4, except for
// known differences.
func TestRendersAsHelm4(t *testing.T) {
	t.Parallel()
	client := remote.New(worker.Local{Handler: New()})
	for _, tc := range helm4(t).Renderings {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			files := m{}
			for name, text := range tc.Files {
				files[name] = text
			}
			in := input(t, files, tc.Values)
			got, err := client.Render(t.Context(), in, &rest.Config{})
			if tc.Differs {
				if (err != nil) == tc.Fails && (err != nil || cmp.Equal(lines(tc.Manifest), lines(got.Manifest))) {
					t.Error("it does not differ any more")
				}
				return
			}
			if (err != nil) != tc.Fails {
				t.Fatalf("error %v, want one: %t", err, tc.Fails)
			}
			if err != nil {
				return
			}
			// Helm 4 keeps newlines at the end of a document.
			if diff := cmp.Diff(lines(tc.Manifest), lines(got.Manifest)); diff != "" {
				t.Errorf("(-Helm 4 +ours):\n%s", diff)
			}
		})
	}
}

func lines(manifest string) []string {
	return slices.DeleteFunc(strings.Split(manifest, "\n"), func(line string) bool { return line == "" })
}

// TestHelm4Functions: templates have all functions of Helm 4, and Pintle adds no others.
func TestHelm4Functions(t *testing.T) {
	t.Parallel()
	all := helm4(t).Functions
	client := remote.New(worker.Local{Handler: New()})
	for _, name := range all {
		in := input(t, m{"templates/a.yaml": "kind: A\n{{ if false }}{{ " + name + " }}{{ end }}"}, nil)
		if _, err := client.Render(t.Context(), in, &rest.Config{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name := range helm4Functions() {
		if !slices.Contains(all, name) {
			t.Errorf("Helm 4 has no function %s", name)
		}
	}
	if len(all) < 200 {
		t.Errorf("Helm 4 has %d functions", len(all))
	}
}

func TestChartV3(t *testing.T) {
	t.Parallel()
	client := remote.New(worker.Local{Handler: New()})
	for version, want := range map[string]string{
		"v1": "", "v2": "",
		"v3": `is rejected: Chart.yaml has apiVersion "v3", and only v1 and v2 can be rendered`,
	} {
		in := input(t, m{"Chart.yaml": "apiVersion: " + version + "\nname: web\nversion: 1.0.0\n", "templates/a.yaml": "kind: A\n"}, nil)
		_, err := client.Render(t.Context(), in, &rest.Config{})
		var bad *remote.Unloadable
		if got := errors.As(err, &bad); got != (want != "") || got && bad.Text != want {
			t.Errorf("%s: %v", version, err)
		}
	}
}
