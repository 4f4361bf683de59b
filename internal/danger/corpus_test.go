// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package danger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/bounded"
)

// maxFalse is the number of dangers in the corpus that are none.
const maxFalse = 3

// TestCorpus: of pairs of manifests, each danger is found, and nothing else. A file of the corpus
// has the dangers as "Class Kind/name: start of the reason", with "false" before a danger that is
// none, and the manifests before and after an upgrade. Half of the pairs are modelled on what new
// versions of common charts do.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d pairs, %v", len(files), err)
	}
	var wrong []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(raw), "-- want --\n")
		wanted, rest, _ := strings.Cut(rest, "-- old --\n")
		before, after, found := strings.Cut(rest, "-- new --\n")
		if !found {
			t.Fatalf("%s has not all parts", file)
		}
		missing := strings.FieldsFunc(wanted, func(r rune) bool { return r == '\n' })
		for _, d := range Find(upgrade(t, before, after)) {
			got, listed := string(d.Class)+" "+d.Kind+"/"+d.Name+": "+d.Reason, false
			for i, want := range missing {
				is, isFalse := strings.CutPrefix(want, "false ")
				if listed = strings.HasPrefix(got, is); listed {
					if missing = append(missing[:i:i], missing[i+1:]...); isFalse {
						wrong = append(wrong, file)
					}
					break
				}
			}
			if !listed {
				t.Errorf("%s: found %s", file, got)
			}
		}
		for _, want := range missing {
			t.Errorf("%s: did not find %s", file, want)
		}
	}
	if len(wrong) > maxFalse {
		t.Errorf("%d false dangers, in %v", len(wrong), wrong)
	}
}

// upgrade returns an upgrade from one manifest to another, with its deletions.
func upgrade(t *testing.T, before, after string) Input {
	t.Helper()
	in := Input{Namespace: "apps", Old: parse(t, before), New: parse(t, after)}
	is := newWorld(in)
	for _, o := range is.before.all {
		if kept := text(o.content, "metadata", "annotations", "helm.sh/resource-policy") == "keep"; is.after.by[o.key] == o && !o.hook && !kept {
			in.Changes = append(in.Changes, v1alpha1.PlanChange{
				APIVersion: o.apiVersion, Kind: o.kind, Name: o.name, Change: v1alpha1.ChangeDelete, Destructive: true,
			})
		}
	}
	return in
}

// parse returns the objects of a manifest.
func parse(t *testing.T, manifest string) []Object {
	t.Helper()
	var all []Object
	for document := range strings.SplitSeq(manifest, "---\n") {
		var content map[string]any
		if err := bounded.Manifest().UnmarshalStrict([]byte(document), &content); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if len(content) > 0 {
			all = append(all, Object{Content: content, Hook: text(content, "metadata", "annotations", "helm.sh/hook") != ""})
		}
	}
	return all
}
