// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/cli-runtime/pkg/resource"
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
		"Invalid":           {"the object is invalid", apierrors.NewInvalid(apischema.GroupKind{Kind: "Pod"}, "web", nil), false, true},
		"InvalidBeforeHook": {"a hook may put it right", apierrors.NewInvalid(apischema.GroupKind{Kind: "Pod"}, "web", nil), true, false},
		"UnknownField":      {"the object is invalid", apierrors.NewBadRequest(`strict decoding error: unknown field "spec.x"`), true, true},
		"UntypedField": {
			"it is answered like an internal error",
			apierrors.NewInternalError(errors.New("failed to create typed patch object (prod/web): .spec.x: field not declared in schema")), true, true,
		},
		"Forbidden":      {"it would be forbidden later", apierrors.NewForbidden(pods, "web", errors.New("no")), true, true},
		"Missing":        {"it does not come with the release", apierrors.NewNotFound(apischema.GroupResource{Resource: "namespaces"}, "elsewhere"), false, true},
		"MissingOwn":     {"it comes with the release", apierrors.NewNotFound(apischema.GroupResource{Resource: "namespaces"}, "own"), false, false},
		"MissingHook":    {"a hook may bring it", apierrors.NewNotFound(apischema.GroupResource{Resource: "namespaces"}, "elsewhere"), true, false},
		"ServiceAccount": {"it comes with the release", apierrors.NewForbidden(pods, "web", errors.New(`error looking up service account prod/own: serviceaccount "own" not found`)), false, false},
		"SameName":       {"of the same name, it comes with the release", apierrors.NewForbidden(pods, "web", errors.New(`serviceaccount "web" not found`)), false, false},
		"OwnNameOnly":    {"a name alone says nothing", apierrors.NewForbidden(pods, "web", errors.New("own is not allowed")), false, true},
		"NoDryRun":       {"nothing was asked", apierrors.NewBadRequest(`admission webhook "a" does not support dry run`), false, false},
		"Webhook":        {"the upgrade may repair the webhook", apierrors.NewInternalError(errors.New(`failed calling webhook "a"`)), false, false},
		"Busy":           {"the server is busy", apierrors.NewTooManyRequests("later", 1), false, false},
		"Conflict":       {"another client writes too", apierrors.NewConflict(pods, "web", errors.New("changed")), false, false},
		"Wrapped":        {"the cause counts", fmt.Errorf("dry-run: %w", apierrors.NewTooManyRequests("later", 1)), false, false},
		"NoAnswer":       {"what could not be asked is not known", context.DeadlineExceeded, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &expectations{prepares: tc.prepares, names: map[string]bool{"web": true, "own": true}}
			if got := e.block(&resource.Info{Name: "web"}, tc.err); got != tc.want {
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
		"Definition": {"it changes what the server knows", hook("things.example.com", CRDKind, crd, helmrelease.HookPreUpgrade), false, []string{"things.example.com"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExpectations()
			e.expectHooks([]*helmrelease.Hook{tc.hook}, helmrelease.HookPreUpgrade)
			if e.prepares != tc.prepares || e.shipped[apischema.GroupKind{Group: "example.com", Kind: "Thing"}] != tc.shipped {
				t.Errorf("%s: prepares %t, shipped %v", tc.reason, e.prepares, e.shipped)
			}
			if diff := cmp.Diff(tc.names, slices.Collect(maps.Keys(e.names))); diff != "" {
				t.Errorf("%s: names (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFreesPorts: a node port that another Service of the release gives up is no denial. One that the
// action frees too late, or not at all, is.
func TestFreesPorts(t *testing.T) {
	t.Parallel()
	type ports map[string]int64
	list := func(all ports) (list kube.ResourceList) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			spec := map[string]any{"ports": []any{map[string]any{"port": int64(80)}, map[string]any{"nodePort": all[name]}}}
			list.Append(&resource.Info{
				Name: name, Namespace: "prod", Mapping: &meta.RESTMapping{GroupVersionKind: apischema.GroupVersionKind{Version: "v1", Kind: "Service"}},
				Object: &unstructured.Unstructured{Object: map[string]any{"spec": spec}},
			})
		}
		return list
	}
	taken := apierrors.NewInvalid(apischema.GroupKind{Kind: "Service"}, "a", field.ErrorList{
		field.Invalid(field.NewPath("spec", "ports").Index(1).Child("nodePort"), 30080, "provided port is already allocated"),
	})
	for name, tc := range map[string]struct {
		reason         string
		previous, next ports
		err            error
		clientSide     bool
		want           bool
	}{
		"Moves":      {"b gives up the port", ports{"b": 30080}, ports{"a": 30080, "b": 30081}, taken, false, true},
		"Changes":    {"so it does if a had another one", ports{"a": 30082, "b": 30080}, ports{"a": 30080, "b": 30081}, taken, false, true},
		"Keeps":      {"b keeps it", ports{"b": 30080}, ports{"a": 30080, "b": 30080}, taken, false, false},
		"Dropped":    {"b is deleted after a is applied", ports{"b": 30080}, ports{"a": 30080}, taken, false, false},
		"Elsewhere":  {"another release has it", ports{"b": 30081}, ports{"a": 30080, "b": 30082}, taken, false, false},
		"OtherCause": {"the port is not what is missing", ports{"b": 30080}, ports{"a": 30080, "b": 30081}, errors.New("no"), false, false},
		"ClientSide": {"Helm applies each object once", ports{"b": 30080}, ports{"a": 30080, "b": 30081}, taken, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &Preflight{
				builds:  &builds{previous: list(tc.previous), last: list(tc.next)},
				dryRuns: &dryRuns{method: &Method{ServerSide: !tc.clientSide}},
			}
			if got := p.freesPorts(p.builds.last[0], tc.err); got != tc.want {
				t.Errorf("%s: it frees the port: %t", tc.reason, got)
			}
		})
	}
}
