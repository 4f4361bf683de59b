// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func TestBuildLabels(t *testing.T) {
	w := newWorld(t)
	_, list := patient(t.Context(), t, w, nil,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, labels: {own: kept, "+helmv2.LabelName+": forged}}\n---\n"+
			"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: two}}\n")
	got := map[string]map[string]string{}
	for _, info := range list {
		u, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("object %T", info.Object)
		}
		got[info.Mapping.GroupVersionKind.Kind+" "+info.Namespace+"/"+info.Name] = u.GetLabels()
	}
	want := map[string]map[string]string{
		"ConfigMap prod/one": {"own": "kept", helmv2.LabelName: "app", helmv2.LabelNamespace: "prod"},
		"Namespace /two":     {helmv2.LabelName: "app", helmv2.LabelNamespace: "prod"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("every object, those in lists too, says where it comes from (-want +got):\n%s", diff)
	}
}

func TestLogBuffer(t *testing.T) {
	t.Parallel()
	var passed []string
	log := funcr.New(func(_, args string) { passed = append(passed, args) }, funcr.Options{Verbosity: 1})
	moment := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	b := newLogBuffer(log, func() time.Time { return moment }, redactor{})
	if got := b.lines(); len(got) != 0 {
		t.Errorf("lines %q", got)
	}
	for i := range 13 {
		b.printf("line %d of %s", i, "100%")
	}
	var want []string
	for i := 3; i < 13; i++ {
		want = append(want, fmt.Sprintf("2026-01-02T02:04:05Z line %d of 100%%", i))
	}
	got := b.lines()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the last ten, oldest first (-want +got):\n%s", diff)
	}
	if len(passed) != 13 {
		t.Errorf("%d of 13 lines reached the debug log", len(passed))
	}
	got[0] = "changed"
	if b.lines()[0] == "changed" {
		t.Error("lines are shared")
	}
	quiet := newLogBuffer(logr.Discard(), time.Now, redactor{})
	quiet.printf("kept %s", "anyway")
	if len(quiet.lines()) != 1 {
		t.Error("a line is kept whether or not it is logged")
	}
}
