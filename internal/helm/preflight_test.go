// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

func TestBlocks(t *testing.T) {
	t.Parallel()
	pods := apischema.GroupResource{Resource: "pods"}
	cases := map[string]struct {
		reason   string
		err      error
		prepares bool
		want     bool
	}{
		"Invalid":           {"a verdict", apierrors.NewInvalid(apischema.GroupKind{Kind: "Pod"}, "web", nil), false, true},
		"InvalidBeforeHook": {"a hook may put it right", apierrors.NewInvalid(apischema.GroupKind{Kind: "Pod"}, "web", nil), true, false},
		"UnknownField":      {"a verdict", apierrors.NewBadRequest(`strict decoding error: unknown field "spec.x"`), true, true},
		"UntypedField": {
			"a verdict that looks like trouble",
			apierrors.NewInternalError(errors.New("failed to create typed patch object (prod/web): .spec.x: field not declared in schema")), true, true,
		},
		"Forbidden":      {"it would be forbidden later", apierrors.NewForbidden(pods, "web", errors.New("no")), true, true},
		"Missing":        {"nobody brings it", apierrors.NewNotFound(apischema.GroupResource{Resource: "namespaces"}, "elsewhere"), false, true},
		"MissingOwn":     {"it comes with the release", apierrors.NewNotFound(apischema.GroupResource{Resource: "namespaces"}, "own"), false, false},
		"MissingHook":    {"a hook may bring it", apierrors.NewNotFound(apischema.GroupResource{Resource: "namespaces"}, "elsewhere"), true, false},
		"ServiceAccount": {"it comes with the release", apierrors.NewForbidden(pods, "web", errors.New(`error looking up service account prod/own: serviceaccount "own" not found`)), false, false},
		"SameName":       {"of the same name, it comes with the release", apierrors.NewForbidden(pods, "web", errors.New(`serviceaccount "web" not found`)), false, false},
		"OwnNameOnly":    {"a name alone says nothing", apierrors.NewForbidden(pods, "web", errors.New("own is not allowed")), false, true},
		"NoDryRun":       {"nothing was asked", apierrors.NewBadRequest(`admission webhook "a" does not support dry run`), false, false},
		"Webhook":        {"the upgrade may repair the webhook", apierrors.NewInternalError(errors.New(`failed calling webhook "a"`)), false, false},
		"Busy":           {"the server is busy", apierrors.NewTooManyRequests("later", 1), false, false},
		"Conflict":       {"somebody else writes too", apierrors.NewConflict(pods, "web", errors.New("changed")), false, false},
		"Wrapped":        {"the cause counts", fmt.Errorf("dry-run: %w", apierrors.NewTooManyRequests("later", 1)), false, false},
		"NoAnswer":       {"what could not be asked is not known", context.DeadlineExceeded, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &preflight{prepares: tc.prepares, names: map[string]bool{"web": true, "own": true}}
			if got := p.blocks(&resource.Info{Name: "web"}, tc.err); got != tc.want {
				t.Errorf("%s: blocks is %t for %v", tc.reason, got, tc.err)
			}
		})
	}
}

func TestExpectHooks(t *testing.T) {
	t.Parallel()
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec: {group: example.com, names: {kind: Thing}}\n"
	hook := func(name, kind, manifest string, event helmrelease.HookEvent) *helmrelease.Hook {
		return &helmrelease.Hook{Name: name, Kind: kind, Manifest: manifest, Events: []helmrelease.HookEvent{event}}
	}
	cases := map[string]struct {
		reason   string
		hook     *helmrelease.Hook
		prepares bool
		names    []string
		shipped  bool
	}{
		"Job":        {"a Job may do anything", hook("a", "Job", "", helmrelease.HookPreUpgrade), true, []string{"a"}, false},
		"Pod":        {"so may a Pod", hook("a", "Pod", "", helmrelease.HookPreUpgrade), true, []string{"a"}, false},
		"Late":       {"too late", hook("a", "Job", "", helmrelease.HookPostUpgrade), false, nil, false},
		"Secret":     {"it is there then and does nothing", hook("a", "Secret", "", helmrelease.HookPreUpgrade), false, []string{"a"}, false},
		"Definition": {"it changes what the server knows", hook("things.example.com", crdKind, crd, helmrelease.HookPreUpgrade), false, []string{"things.example.com"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &preflight{shipped: map[apischema.GroupKind]bool{}, names: map[string]bool{}}
			p.expectHooks([]*helmrelease.Hook{tc.hook}, helmrelease.HookPreUpgrade)
			if p.prepares != tc.prepares || p.shipped[apischema.GroupKind{Group: "example.com", Kind: "Thing"}] != tc.shipped {
				t.Errorf("%s: prepares %t, shipped %v", tc.reason, p.prepares, p.shipped)
			}
			if diff := cmp.Diff(tc.names, slices.Collect(maps.Keys(p.names))); diff != "" {
				t.Errorf("%s: names (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReportConflicts: what Helm itself had is nobody else's.
func TestReportConflicts(t *testing.T) {
	w := newWorld(t)
	var lines []string
	run, err := w.runner.prepare(t.Context(), w.conn, Job{Desired: release.Desired{Target: target()}}, redactor{}, false)
	if err != nil {
		t.Fatal(err)
	}
	run.client.Log = func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	cause := func(kind metav1.CauseType, who, field string) metav1.StatusCause {
		return metav1.StatusCause{Type: kind, Message: `conflict with "` + who + `" using v1`, Field: field}
	}
	list, err := run.client.parse(manifestOf("web"))
	if err != nil {
		t.Fatal(err)
	}
	run.client.reportConflicts(list[0], &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
			cause(metav1.CauseTypeFieldManagerConflict, "kubectl", ".data.a"),
			cause(metav1.CauseTypeFieldManagerConflict, "helm", ".data.b"),
			cause(metav1.CauseTypeFieldManagerConflict, fieldManager, ".data.c"),
			cause(metav1.CauseTypeFieldValueInvalid, "kubectl", ".data.d"),
		}},
	}})
	want := []string{`ConfigMap/prod/web: taking over field .data.a: conflict with "kubectl" using v1`}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestTryingOutWhatIsDeletedMeanwhile: the object is there when the client looks what
// to merge into, and gone when it sends that. It will be made.
func TestTryingOutWhatIsDeletedMeanwhile(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	install(t, w, artifact, "one")
	gone := false
	w.Refuse = func(method, path string) int {
		if method != http.MethodPatch || path != configMapPath || gone {
			return 0
		}
		gone = true
		w.Remove(path)
		return http.StatusNotFound
	}
	j := job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "two"})
	j.Spec.Upgrade = &helmv2.Upgrade{ServerSideApply: helmv2.ServerSideApplyDisabled}
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
		t.Error(out.Err)
	}
	if object := w.Object(configMapPath); !gone || object == nil || !strings.Contains(fmt.Sprint(object.Object["data"]), "two") {
		t.Errorf("it was deleted: %t; it is %v", gone, object)
	}
}
