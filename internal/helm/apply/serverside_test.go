// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/apitest"
)

// TestMustMigrate: an object is read before it is applied if client-side apply may own
// fields of it, and no dry run has shown that.
func TestMustMigrate(t *testing.T) {
	yes, no := &dryRun{clientSideFields: true}, &dryRun{}
	cases := map[string]struct {
		reason                   string
		tried                    *dryRun
		migrate, away, isPresent bool
		want                     bool
	}{
		"Traces":     {"trying out has shown them", yes, false, false, true, true},
		"NoTraces":   {"trying out has shown none", no, true, true, true, false},
		"New":        {"it is known not to exist", nil, true, false, false, false},
		"Untried":    {"the way of applying changes", nil, true, false, true, true},
		"Unknown":    {"it is not known whether it exists", nil, true, true, false, true},
		"SameMethod": {"it was applied in the same way", nil, false, true, true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.client(t.Context(), nil)
			list, err := c.Build(strings.NewReader(oneYAML), false)
			if err != nil {
				t.Fatal(err)
			}
			c.lookups.skipped.Store(tc.away)
			c.method.Migrate = tc.migrate
			if tc.tried != nil {
				c.dryRuns.keep(list[0], *tc.tried)
			}
			original := list
			if !tc.isPresent {
				original = nil
			}
			if got := c.serverSide.mustMigrate(list[0], original); got != tc.want {
				t.Errorf("%s: migrates %t", tc.reason, got)
			}
		})
	}
}

// TestBodyOnce: the body of the dry run is applied, once, even if the object has changed since.
func TestBodyOnce(t *testing.T) {
	w := newWorld(t)
	c := w.client(t.Context(), nil)
	list, err := c.Build(strings.NewReader(oneYAML), false)
	if err != nil {
		t.Fatal(err)
	}
	c.Begin(Method{ServerSide: true})
	if err := c.dryRuns.run(list[0]); err != nil {
		t.Fatal(err)
	}
	tried := list[0].Object
	list[0].Object = apitest.Parse(t, oneYAML+"data: {a: b}\n")
	if _, err := c.Create(list); err != nil {
		t.Fatal(err)
	}
	if got := w.Object(onePath); got.Object["data"] != nil {
		t.Errorf("applied %v, tried out %v", got, tried)
	}
	list[0].Object = apitest.Parse(t, oneYAML+"data: {a: b}\n")
	if _, err := c.Create(list); err != nil || w.Object(onePath).Object["data"] == nil {
		t.Errorf("what was tried out holds once: %v", err)
	}
}

// TestApplyAllGoesOn: other objects are applied if one fails, and then no object is pruned.
func TestApplyAllGoesOn(t *testing.T) {
	w := newWorld(t)
	w.Refuse = func(method, path string) int {
		if method == http.MethodPatch && (strings.HasSuffix(path, "/bad") || strings.HasSuffix(path, "/worse")) {
			return http.StatusForbidden
		}
		return 0
	}
	c := w.client(t.Context(), nil)
	c.method.ServerSide = true
	for _, name := range []string{"there", "old"} {
		w.Put("/api/v1/namespaces/prod/configmaps/"+name, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "prod"},
		})
	}
	target, err := c.builder.parse(manifestOf("bad", "there", "new", "worse"), wanted)
	if err != nil {
		t.Fatal(err)
	}
	original, err := c.builder.parse(manifestOf("there", "old"), wanted)
	if err != nil {
		t.Fatal(err)
	}
	result, err := c.Update(original, target, false)
	if err == nil || !strings.Contains(err.Error(), "ConfigMap/prod/bad") || !strings.Contains(err.Error(), "ConfigMap/prod/worse") {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([][]string{{"new"}, {"there"}, nil}, [][]string{names(result.Created), names(result.Updated), names(result.Deleted)}); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if w.Object("/api/v1/namespaces/prod/configmaps/old") == nil {
		t.Error("a failed upgrade has pruned")
	}
	w.Refuse = nil
	result, err = c.Update(original, target, false)
	if err != nil || !slices.Equal(names(result.Deleted), []string{"old"}) || w.Object("/api/v1/namespaces/prod/configmaps/old") != nil {
		t.Errorf("deleted %v, error %v", names(result.Deleted), err)
	}
}

func names(list kube.ResourceList) []string {
	var all []string
	for _, info := range list {
		all = append(all, info.Name)
	}
	return all
}

// broken is a client that panics.
type broken struct{ resource.RESTClient }

// TestApplyPanics: a panic is the error of one object, and others are applied. Helm calls on goroutines
// whose panics end the process.
func TestApplyPanics(t *testing.T) {
	w := newWorld(t)
	c := w.client(t.Context(), nil)
	c.method.ServerSide = true
	target, err := c.builder.parse(manifestOf("bad", "good"), wanted)
	if err != nil {
		t.Fatal(err)
	}
	target[0].Client = broken{}
	_, err = c.serverSide.applyAll(target, target)
	if err == nil || !strings.Contains(err.Error(), "ConfigMap/prod/bad: panic: runtime error: ") || w.Object("/api/v1/namespaces/prod/configmaps/good") == nil {
		t.Errorf("error %v", err)
	}
}

// TestConflicts: conflicts are logged and returned, except those with Helm itself.
func TestConflicts(t *testing.T) {
	w := newWorld(t)
	var lines []string
	c := w.client(t.Context(), func(o *Options) {
		o.Log = func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	})
	cause := func(kind metav1.CauseType, who, field string) metav1.StatusCause {
		return metav1.StatusCause{Type: kind, Message: `conflict with "` + who + `" using v1`, Field: field}
	}
	list, err := c.builder.parse(manifestOf("web"), wanted)
	if err != nil {
		t.Fatal(err)
	}
	taken := c.serverSide.conflicts(list[0], &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
			cause(metav1.CauseTypeFieldManagerConflict, "kubectl", ".data.a"),
			cause(metav1.CauseTypeFieldManagerConflict, "helm", ".data.b"),
			cause(metav1.CauseTypeFieldManagerConflict, fieldManager, ".data.c"),
			cause(metav1.CauseTypeFieldValueInvalid, "kubectl", ".data.d"),
			cause(metav1.CauseTypeFieldManagerConflict, `a \"b\" c`, ".data.e"),
		}},
	}})
	want := []string{
		`ConfigMap/prod/web: taking over field .data.a: conflict with "kubectl" using v1`,
		`ConfigMap/prod/web: taking over field .data.e: conflict with "a \"b\" c" using v1`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	web := release.Object{Version: "v1", Kind: "ConfigMap", Namespace: "prod", Name: "web"}
	if diff := cmp.Diff([]release.TakenField{{Object: web, Path: ".data.a", Manager: "kubectl"}, {Object: web, Path: ".data.e", Manager: `a "b" c`}}, taken); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
}
