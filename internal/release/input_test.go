// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestInputIsPlainData: an Input holds no function, channel or interface, so that a decision cannot
// perform I/O. Times are not inspected; they point to a time zone, which is data.
func TestInputIsPlainData(t *testing.T) {
	walk(t, reflect.TypeFor[Input](), "Input", map[reflect.Type]bool{
		reflect.TypeFor[time.Time]():   true,
		reflect.TypeFor[metav1.Time](): true,
	})
}

func walk(t *testing.T, typ reflect.Type, path string, seen map[reflect.Type]bool) {
	t.Helper()
	if seen[typ] {
		return
	}
	seen[typ] = true
	switch typ.Kind() {
	case reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer, reflect.Uintptr:
		t.Errorf("%s is a %s", path, typ)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		walk(t, typ.Elem(), path+"[]", seen)
	case reflect.Map:
		walk(t, typ.Key(), path+".key", seen)
		walk(t, typ.Elem(), path+"[]", seen)
	case reflect.Struct:
		for f := range typ.Fields() {
			if !f.IsExported() {
				t.Errorf("%s.%s is not exported: JSON would lose it", path, f.Name)
			}
			walk(t, f.Type, path+"."+f.Name, seen)
		}
	}
}

// TestInputSurvivesJSON: an Input that was written as JSON leads to the same decision.
func TestInputSurvivesJSON(t *testing.T) {
	in := inSyncInput()
	newestIs(&in, helmv2.StatusPendingUpgrade)
	in.Observed.Revisions[0].Owner, in.Observed.Revisions[0].Modified = "", testNow.Add(-time.Minute)
	in.Observed.Revisions[1].Interrupted = true
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var back Input
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, back); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(Decide(in), Decide(back)); diff != "" {
		t.Errorf("the decision changed (-before +after):\n%s", diff)
	}
}

// TestRulesMatchDocument: the table in docs/spec/helmreleases.md lists the rules in their order, and
// the one in docs/spec/policies.md the gates.
func TestRulesMatchDocument(t *testing.T) {
	for _, tc := range []struct {
		page, section string
		want          []Rule
	}{
		{"helmreleases.md", "The rules", Rules()}, {"policies.md", "The gates", Gates()},
	} {
		raw, err := os.ReadFile("../../docs/spec/" + tc.page)
		if err != nil {
			t.Fatal(err)
		}
		var documented []Rule
		_, rest, found := strings.Cut(string(raw), "\n## "+tc.section+"\n")
		if !found {
			t.Fatalf("%s has no section %s", tc.page, tc.section)
		}
		section, _, _ := strings.Cut(rest, "\n## ")
		for line := range strings.SplitSeq(section, "\n") {
			cells := strings.Split(line, "|")
			if len(cells) < 5 {
				continue
			}
			if name, ok := strings.CutPrefix(strings.TrimSpace(cells[2]), "`"); ok {
				documented = append(documented, Rule(strings.TrimSuffix(name, "`")))
			}
		}
		if diff := cmp.Diff(tc.want, documented); diff != "" {
			t.Errorf("docs/spec/%s lists other rules (-code +document):\n%s", tc.page, diff)
		}
	}
}
