// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func ruled(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: parse(t, "apiVersion: apps/v1\nmetadata: {name: web, namespace: apps, labels: {app: web}, annotations: {tier: front}}")}
	o.SetKind("Deployment")
	return o
}

func TestRulesTargets(t *testing.T) {
	o := ruled(t)
	for name, tc := range map[string]struct {
		target helmv2.Selector
		want   bool
	}{
		"Empty":           {helmv2.Selector{}, true},
		"Group":           {helmv2.Selector{Group: "apps"}, true},
		"OtherGroup":      {helmv2.Selector{Group: "app"}, false},
		"Version":         {helmv2.Selector{Version: "v1"}, true},
		"OtherVersion":    {helmv2.Selector{Version: "v1beta1"}, false},
		"Kind":            {helmv2.Selector{Kind: "Dep.*|Pod"}, true},
		"AnchoredStart":   {helmv2.Selector{Kind: "Pod|ployment"}, false},
		"AnchoredEnd":     {helmv2.Selector{Kind: "Deploy|Pod"}, false},
		"Name":            {helmv2.Selector{Name: "w.b"}, true},
		"OtherName":       {helmv2.Selector{Name: "w"}, false},
		"Namespace":       {helmv2.Selector{Namespace: "apps"}, true},
		"OtherNamespace":  {helmv2.Selector{Namespace: "default"}, false},
		"Label":           {helmv2.Selector{LabelSelector: "app in (web, site)"}, true},
		"OtherLabel":      {helmv2.Selector{LabelSelector: "app!=web"}, false},
		"Annotation":      {helmv2.Selector{AnnotationSelector: "tier=front,!other"}, true},
		"OtherAnnotation": {helmv2.Selector{AnnotationSelector: "other"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := CompileRules([]helmv2.IgnoreRule{{Paths: []string{"/a"}, Target: &tc.target}})
			if err != nil {
				t.Fatal(err)
			}
			if got, exempt := r.For(o); (len(got) == 1) != tc.want || exempt {
				t.Errorf("%q, %v", got, exempt)
			}
		})
	}
}

func TestRulesAddUp(t *testing.T) {
	o := ruled(t)
	r, err := CompileRules([]helmv2.IgnoreRule{
		{Paths: []string{"/a", "/b"}}, {Paths: []string{"/c"}}, {Paths: []string{"", "/d"}, Target: &helmv2.Selector{Kind: "Pod"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, exempt := r.For(o); !slices.Equal(got, []string{"/a", "/b", "/c"}) || exempt {
		t.Errorf("%q, %v", got, exempt)
	}
	o.SetKind("Pod")
	if got, exempt := r.For(o); len(got) != 0 || !exempt {
		t.Errorf("%q, %v", got, exempt)
	}
	if got, exempt := (*Rules)(nil).For(o); len(got) != 0 || exempt {
		t.Errorf("no rules: %q, %v", got, exempt)
	}
}

func TestRulesErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		rule helmv2.IgnoreRule
		want string
	}{
		"Pointer":    {helmv2.IgnoreRule{Paths: []string{"/a", "spec/replicas"}}, `ignore[1].paths[1]: a JSON pointer is empty or begins with a slash: "spec/replicas"`},
		"Group":      {helmv2.IgnoreRule{Target: &helmv2.Selector{Group: "("}}, "ignore[1].target.group: error parsing regexp: missing closing )"},
		"Unbalanced": {helmv2.IgnoreRule{Target: &helmv2.Selector{Name: "a)(b"}}, "ignore[1].target.name: error parsing regexp: unexpected ): `a)(b`"},
		"Namespace":  {helmv2.IgnoreRule{Target: &helmv2.Selector{Namespace: "["}}, "ignore[1].target.namespace: "},
		"Label":      {helmv2.IgnoreRule{Target: &helmv2.Selector{LabelSelector: "a in"}}, "ignore[1].target.labelSelector: "},
		"Annotation": {helmv2.IgnoreRule{Target: &helmv2.Selector{AnnotationSelector: "=a="}}, "ignore[1].target.annotationSelector: "},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := CompileRules([]helmv2.IgnoreRule{{Paths: []string{"/a"}}, tc.rule})
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || r != nil {
				t.Errorf("%v, %v", r, err)
			}
		})
	}
}

func TestExempt(t *testing.T) {
	o := ruled(t)
	if Exempt(o) {
		t.Error("exempt without label or annotation")
	}
	for _, value := range []string{"disabled", "DISABLED"} {
		o := ruled(t)
		o.SetLabels(map[string]string{helmv2.MetadataDriftDetection: value})
		if !Exempt(o) {
			t.Errorf("label %s", value)
		}
		o = ruled(t)
		o.SetAnnotations(map[string]string{helmv2.MetadataDriftDetection: value})
		if !Exempt(o) {
			t.Errorf("annotation %s", value)
		}
	}
	o.SetLabels(map[string]string{helmv2.MetadataDriftDetection: "enabled"})
	if Exempt(o) {
		t.Error("exempt by another value")
	}
}

func TestPointers(t *testing.T) {
	for pointer, want := range map[string][]string{
		"": nil, "/": {""}, "/a/0": {"a", "0"}, "/a~1b/c~0d": {"a/b", "c~d"}, "/~01": {"~1"},
	} {
		got := parsePointer(pointer)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q", pointer, got)
		}
		if back := formatPointer(got); back != pointer {
			t.Errorf("%q becomes %q", pointer, back)
		}
	}
}

// TestRulesLimits: the regular expressions of all rules have a common limit.
func TestRulesLimits(t *testing.T) {
	costly := helmv2.IgnoreRule{Target: &helmv2.Selector{Name: "(?:abcdefgh){1000}"}}
	_, err := CompileRules([]helmv2.IgnoreRule{costly, costly, costly, costly, costly})
	if err != nil {
		t.Error(err)
	}
	_, err = CompileRules([]helmv2.IgnoreRule{costly, costly, costly, costly, costly, costly})
	if err == nil || !strings.HasPrefix(err.Error(), "ignore[5].target.name: the regular expressions together cost 54") {
		t.Errorf("six rules: %v", err)
	}
	_, err = CompileRules([]helmv2.IgnoreRule{{Target: &helmv2.Selector{Kind: "(?:abcdefghij){1000}"}}})
	if err == nil || !strings.HasPrefix(err.Error(), "ignore[0].target.kind: the regular expression costs more than 10000") {
		t.Errorf("one rule: %v", err)
	}
}
