// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package hookjob_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/hookjob"
)

var rewrite = flag.Bool("rewrite", false, "replace the expected output in testdata")

const (
	below = "=====\n"
	uid   = "4f6a0c1e-7d3b-4f0e-9a51-0f6f3c1d2b7a"
)

// header is the first document of a file in testdata. The others are the rendered objects of a
// chart; those with a helm.sh/hook annotation are hooks.
type header struct {
	Operation  string
	Namespace  string
	Release    string
	Installed  string // namespace of the release
	ClusterID  string
	Timeout    metav1.Duration
	Parameters opsv1alpha1.Parameters
	Present    []string // existing objects, as "Kind name"
}

// TestGolden: the input above the line of each file in testdata has the output below it. -rewrite
// replaces the output.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			above, want, _ := strings.Cut(string(raw), below)
			got := play(t, above)
			if *rewrite {
				if err := os.WriteFile(file, []byte(above+below+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("(-want +got), go test -rewrite replaces it:\n%s", diff)
			}
		})
	}
}

func play(t *testing.T, above string) string {
	t.Helper()
	in, h := inputOf(t, above)
	p, err := hookjob.Make(in)
	var rejection *hookjob.Rejection
	if errors.As(err, &rejection) {
		return show(t, map[string]any{"rejected": rejection.Reason, "message": rejection.Message, "hooks": rejection.Hooks})
	}
	var out strings.Builder
	out.WriteString(show(t, map[string]any{"release": p.Release}))
	for _, s := range p.Steps {
		out.WriteString("---\n" + show(t, map[string]any{"step": s.Hook, "digest": s.Digest, "deadline": s.Deadline.String()}))
		out.WriteString("---\n" + show(t, s.Job.Object))
	}
	var present []hookjob.Reference
	for _, n := range p.Needs {
		for _, name := range h.Present {
			if n.String() == name {
				present = append(present, n.Reference)
			}
		}
	}
	clones, missing := p.Missing(present)
	var needs []string
	for _, n := range p.Needs {
		needs = append(needs, n.String())
	}
	out.WriteString("---\n" + show(t, map[string]any{"needs": needs, "missing": missing}))
	for _, c := range clones {
		out.WriteString("---\n" + show(t, c.Object))
	}
	return out.String()
}

func show(t *testing.T, v any) string {
	t.Helper()
	raw, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func inputOf(t *testing.T, above string) (hookjob.Input, header) {
	t.Helper()
	first, rest, _ := strings.Cut(above, "\n---\n")
	h := header{Operation: "migrate", Namespace: "apps", Release: "web", Installed: "apps", Timeout: metav1.Duration{Duration: time.Hour}}
	if err := yaml.UnmarshalStrict([]byte(first), &h); err != nil {
		t.Fatal(err)
	}
	r := &hookjob.Release{Name: h.Release, Namespace: h.Installed, Revision: 3}
	for document := range strings.SplitSeq(rest, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		document = strings.TrimSuffix(document, "\n") + "\n"
		var o metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		events, isHook := o.Annotations["helm.sh/hook"]
		if !isHook {
			r.Selecting = append(r.Selecting, hookjob.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Manifest: document})
			continue
		}
		hook := hookjob.Hook{Name: o.Name, Kind: o.Kind, Path: "web/templates/" + strings.ToLower(o.Kind) + ".yaml", Manifest: document}
		for e := range strings.SplitSeq(events, ",") {
			hook.Events = append(hook.Events, strings.TrimSpace(e))
		}
		hook.Weight, _ = strconv.Atoi(o.Annotations["helm.sh/hook-weight"])
		r.Hooks = append(r.Hooks, hook)
	}
	in := hookjob.Input{
		Operation:  hookjob.Operation{Namespace: h.Namespace, Name: h.Operation, UID: uid},
		Parameters: h.Parameters, Release: r, Timeout: h.Timeout.Duration, ClusterID: h.ClusterID,
	}
	return in, h
}
