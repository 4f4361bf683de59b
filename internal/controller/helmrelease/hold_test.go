// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/release"
)

// deployed makes a release with two revisions, of which the newest is deployed and recorded.
func deployed(t *testing.T, s *stub, annotations map[string]string) *Reconciler {
	t.Helper()
	s.stored = []release.Revision{
		{Name: "web", Namespace: "apps", Version: 2, Status: helmv2.StatusDeployed, Sealed: true, Owner: "uid-1"},
		{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusSuperseded, Sealed: true, Owner: "uid-1", Unread: true},
	}
	r := testReconciler(t, s)
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	hr.Annotations = annotations
	if err := r.client.Update(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
	hr.Status.StorageNamespace = "apps"
	hr.Status.History = helmv2.Snapshots{{APIVersion: release.SnapshotScheme, Name: "web", Namespace: "apps", Version: 2, Status: helmv2.StatusDeployed}}
	if err := r.client.Status().Update(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTokenIsAcceptedFirst: a token is recorded as handled before its tests begin, and never begins
// them twice, whichever of the requests fails.
func TestTokenIsAcceptedFirst(t *testing.T) {
	lost := apierrors.NewInternalError(errors.New("the answer is lost"))
	// write is one write: of the annotation, or of the announcement.
	type write struct {
		status, carriedOut bool
		err                error
	}
	for name, tc := range map[string]struct {
		reason string
		write  *write
		// other is true if another process accepts the token at the same time, and closed if no
		// action can begin. dies is true if the process dies then.
		other, closed, dies bool
		runs                int
	}{
		"Answered":        {reason: "the request is carried out", runs: 1},
		"OtherProcess":    {reason: "the write fails, and the other process acts", other: true},
		"LostCarriedOut":  {reason: "this process has accepted it", write: &write{carriedOut: true, err: lost}, runs: 1},
		"Lost":            {reason: "the write is repeated", write: &write{err: lost}, runs: 1},
		"Announcement":    {reason: "the token is accepted already", write: &write{status: true, err: lost}, runs: 1},
		"Closed":          {reason: "no action can begin at first", closed: true, runs: 1},
		"ClosedAndDies":   {reason: "the next process does not act", closed: true, dies: true},
		"LostAndDies":     {reason: "nothing shows whether the tests have begun", write: &write{carriedOut: true, err: lost}, dies: true},
		"NotSentAndDies":  {reason: "nothing was accepted", write: &write{err: lost}, dies: true, runs: 1},
		"ForbiddenAtOnce": {reason: "the write is repeated", write: &write{err: apierrors.NewForbidden(helmv2.GroupVersion.WithResource("x").GroupResource(), "web", nil)}, runs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stub{closed: tc.closed}
			r := deployed(t, s, map[string]string{helmv2.AnnotationTestAt: "one"})
			honest := r.client
			var log []string
			fail := func(status bool, do func() error) error {
				if tc.write == nil || tc.write.status != status {
					return do()
				}
				w := *tc.write
				if tc.write = nil; w.carriedOut {
					return errors.Join(do(), w.err)
				}
				return w.err
			}
			r.client = interceptor.NewClient(honest.(client.WithWatch), interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
					log = append(log, "handled")
					return fail(false, func() error { return c.Patch(ctx, obj, patch, opts...) })
				},
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
					log = append(log, "announced")
					return fail(true, func() error { return c.SubResource(sub).Patch(ctx, obj, patch, opts...) })
				},
			})
			if tc.other {
				s.meanwhile = func() {
					s.meanwhile = nil
					edit(t, honest, func(hr *helmv2.HelmRelease) {
						hr.Annotations[helmv2.AnnotationHandled] = release.WithHandled(nil, helmv2.AnnotationTestAt, "one")
					})
				}
			}
			runs := 0
			for range 4 {
				s.begun = nil
				_, _ = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
				if s.begun != nil {
					runs++
					log = append(log, "begun")
				}
				s.closed = false
				if tc.dies {
					r.memory = &controller.Table[memory]{}
				}
			}
			if begun := slices.Index(log, "begun"); runs != tc.runs || begun >= 0 && !slices.Contains(log[:begun], "handled") {
				t.Errorf("%s: %d runs, want %d: %v", tc.reason, runs, tc.runs, log)
			}
			hr := &helmv2.HelmRelease{}
			if err := honest.Get(t.Context(), key, hr); err != nil || release.RequestsOf(hr.Annotations).TestHandled != "one" {
				t.Errorf("handled: %s, %v", hr.Annotations[helmv2.AnnotationHandled], err)
			}
		})
	}
}

// edit changes the HelmRelease.
func edit(t *testing.T, c client.Client, change func(*helmv2.HelmRelease)) {
	t.Helper()
	hr := &helmv2.HelmRelease{}
	if err := c.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	change(hr)
	if err := c.Update(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
}

// TestHoldNeedsNoInputs: a release is rolled back although its inputs cannot be read. The texts of its
// Secrets are redacted nevertheless. Faults of the API server are waited for.
func TestHoldNeedsNoInputs(t *testing.T) {
	blocked := release.BlockedBy(helmv2.ReasonSourceNotReady, errors.New("no artifact"), "The source is not ready")
	fault := release.BlockedBy(helmv2.ReasonStateError, apierrors.NewInternalError(errors.New("etcd")), "Could not read the source")
	for name, tc := range map[string]struct {
		hold, begins bool
		err          error
	}{
		"Held": {true, true, blocked}, "NotHeld": {false, false, blocked}, "Fault": {true, false, fault},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stub{unresolved: tc.err}
			annotations := map[string]string{helmv2.AnnotationTestAt: ""}
			if tc.hold {
				annotations[helmv2.AnnotationRollbackTo] = "1"
			}
			r := deployed(t, s, annotations)
			s.really = []release.Revision{{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusSuperseded, Sealed: true, Owner: "uid-1"}}
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
				t.Fatal(err)
			}
			if (s.begun != nil) != tc.begins {
				t.Fatalf("begun: %t", s.begun != nil)
			}
			if !tc.begins {
				return
			}
			s.begun(t.Context(), nil)
			want := release.Rollback{Version: 1, Hold: true}
			if s.job.Action != release.HelmAction(want) || !slices.Equal(s.job.Secrets, []string{"hunter33"}) {
				t.Errorf("job %+v with secrets %v", s.job.Action, s.job.Secrets)
			}
		})
	}
}

// TestHeldIsNotRendered: the chart in the spec is not rendered for a release that is held.
func TestHeldIsNotRendered(t *testing.T) {
	s := &stub{mode: helmv2.DriftDetectionEnabled, rendered: release.RenderResult{Reads: true, Lookup: true, Changed: true}}
	r := deployed(t, s, map[string]string{helmv2.AnnotationRollbackTo: "2", helmv2.AnnotationReconcileRequest: "now"})
	for range 3 {
		reconcileOnce(t, r)
	}
	if s.renderings > 0 || s.begun != nil {
		t.Errorf("%d renderings, begun %t", s.renderings, s.begun != nil)
	}
}
