// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestProblemsAreLoggedOnce: a new obstacle is logged at level error with its cause, once, and its
// end at level info.
func TestProblemsAreLoggedOnce(t *testing.T) {
	s := &stub{values: "sha256:a"}
	s.stored = []release.Revision{{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, ConfigDigest: "sha256:a", Sealed: true, Owner: "uid-1"}}
	r := testReconciler(t, s)
	var lines []string
	ctx := ctrl.LoggerInto(t.Context(), funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{}))
	reconcile := func() (problems []string) {
		t.Helper()
		lines = nil
		if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
			return !strings.Contains(line, `"error"`) && !strings.Contains(line, `"recovered"`)
		})
	}
	for range 4 {
		if got := reconcile(); len(got) > 0 {
			t.Fatalf("a sound release: %v", got)
		}
	}
	for _, cause := range []string{"no key", "no Secret"} {
		s.unresolved = release.BlockedBy(helmv2.ReasonValuesError, errors.New(cause), "Could not read")
		want := `"msg":"failed","error":"Could not read: ` + cause + `. Nothing was changed.`
		if got := reconcile(); len(got) != 1 || !strings.Contains(got[0], want) || !strings.Contains(got[0], `"reason":"ValuesError"`) {
			t.Errorf("the new obstacle: %v, want %s", got, want)
		}
		for range 3 {
			if got := reconcile(); len(got) > 0 {
				t.Errorf("the same obstacle: %v", got)
			}
		}
	}
	s.unresolved = nil
	r.memory.With(key, func(m *memory) { m.sync.invalidate() })
	if got := reconcile(); len(got) != 1 || !strings.Contains(got[0], `"msg":"recovered"`) {
		t.Errorf("the end of the obstacle: %v", got)
	}
	s.unresolved = &release.Blocked{Reason: helmv2.ReasonDependencyNotReady, Message: "it waits", Normal: true, Retry: release.Backoff()}
	if got := reconcile(); len(got) > 0 {
		t.Errorf("a regular wait: %v", got)
	}
}

// deniedStub may not read the records of a release.
type deniedStub struct{ *stub }

func (*deniedStub) History(context.Context, genericclioptions.RESTClientGetter, release.Target, helmv2.Snapshots) ([]release.Revision, error) {
	return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no"))
}

// TestMissingRightIsExplained: Ready names the field that selects the identity, in place of the API
// server's error.
func TestMissingRightIsExplained(t *testing.T) {
	s := &stub{values: "sha256:a"}
	r := testReconciler(t, s)
	r.helm = &deniedStub{s}
	r.connections.DefaultServiceAccount = "tenant"
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
	const want = "Could not determine release state: this release acts as apps/tenant (--default-service-account), which does not exist"
	if c == nil || c.Reason != helmv2.ReasonStateError || !strings.HasSuffix(c.Message, "\n"+want) {
		t.Errorf("Ready is %+v", c)
	}
}
