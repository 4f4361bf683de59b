// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// recorded returns a reconciler whose HelmRelease has a status.
func recorded(t *testing.T, s *stub, status helmv2.HelmReleaseStatus) *Reconciler {
	t.Helper()
	r := testReconciler(t, s)
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	hr.Status = status
	if err := r.client.Status().Update(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
	return r
}

// movedStatus is of a release that was installed under another name.
func movedStatus() helmv2.HelmReleaseStatus {
	return helmv2.HelmReleaseStatus{
		StorageNamespace: "apps",
		History:          helmv2.Snapshots{{Name: "old", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed}},
	}
}

func (s *stub) isReady(t *testing.T, r *Reconciler) metav1.Condition {
	t.Helper()
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	for _, c := range hr.Status.Conditions {
		if c.Type == helmv2.ConditionReady {
			return c
		}
	}
	return metav1.Condition{}
}

// TestMovesOnlyToCheckedTargets: the old release is uninstalled only if the check is
// complete and finds nothing in the way.
func TestMovesOnlyToCheckedTargets(t *testing.T) {
	old := []release.Revision{{Name: "old", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, Sealed: true, Owner: "uid-1"}}
	for name, tc := range map[string]struct {
		stub   stub
		begins bool
		reason string
		says   string
	}{
		"Free":       {stub{}, true, "", ""},
		"Refused":    {stub{target: release.TargetCheck{Refused: "namespace x does not exist"}}, false, helmv2.ReasonTargetUnavailable, "namespace x does not exist"},
		"Taken":      {stub{target: release.TargetCheck{Revisions: []release.Revision{{Status: helmv2.StatusDeployed}}}}, false, helmv2.ReasonTargetUnavailable, "stores another Helm release"},
		"Incomplete": {stub{unchecked: errors.New("connection refused")}, false, helmv2.ReasonStateError, "connection refused"},
		"NotHeld":    {stub{unheld: release.BlockedBy(helmv2.ReasonArtifactFailed, errors.New("gone"), "no chart")}, false, helmv2.ReasonArtifactFailed, "no chart"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.stub
			s.stored = old
			r := recorded(t, &s, movedStatus())
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
			if err != nil || (s.begun != nil) != tc.begins {
				t.Fatalf("begun is %t, error %v", s.begun != nil, err)
			}
			if tc.begins {
				s.begun(t.Context(), nil)
				if _, uninstalls := s.job.Action.(release.Uninstall); !uninstalls {
					t.Errorf("the action is %+v", s.job.Action)
				}
				if s.checked == nil || s.checked.Artifact.URL != "held" {
					t.Errorf("checked was %+v", s.checked)
				}
				return
			}
			if c := s.isReady(t, r); c.Reason != tc.reason || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, tc.says) {
				t.Errorf("Ready is %+v", c)
			}
			if result.RequeueAfter == 0 {
				t.Error("nothing looks again")
			}
		})
	}
}

// TestLooksForStraysOnlyAfterACrash: a HelmRelease with a history, or without an announced action,
// has left no release behind.
func TestLooksForStraysOnlyAfterACrash(t *testing.T) {
	begun := helmv2.HelmReleaseStatus{StorageNamespace: "apps", LastAttemptedReleaseAction: helmv2.ActionInstall}
	ended := begun
	ended.LastAttemptedReleaseActionDuration = &metav1.Duration{}
	stored := []release.Revision{{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusPendingInstall, Sealed: true, Owner: "uid-1"}}
	for name, tc := range map[string]struct {
		status   helmv2.HelmReleaseStatus
		stored   []release.Revision
		searches int
	}{
		"New": {helmv2.HelmReleaseStatus{}, nil, 0}, "Begun": {begun, nil, 1}, "Ended": {ended, nil, 0},
		"Found": {begun, stored, 0}, "Recorded": {movedStatus(), nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := stub{stored: tc.stored}
			r := recorded(t, &s, tc.status)
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || s.searches != tc.searches {
				t.Errorf("%d searches, error %v", s.searches, err)
			}
		})
	}
}

// TestStrayIsUnlockedWhereItIs: not where the spec wants the release by now. As long as
// it is not known whether there is one, nothing is installed.
func TestStrayIsUnlockedWhereItIs(t *testing.T) {
	old := release.Target{Name: "old", Namespace: "apps", StorageNamespace: "vault"}
	status := helmv2.HelmReleaseStatus{StorageNamespace: "vault", LastAttemptedReleaseAction: helmv2.ActionInstall}
	s := stub{stray: &old, strays: []release.Revision{{Name: "old", Namespace: "apps", Version: 1, Status: helmv2.StatusPendingInstall, Sealed: true, Owner: "uid-1"}}}
	r := recorded(t, &s, status)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || s.begun == nil {
		t.Fatalf("nothing was begun: %v", err)
	}
	s.begun(t.Context(), nil)
	if a, unlocks := s.job.Action.(release.Unlock); !unlocks || a.Target != old {
		t.Errorf("the action is %+v", s.job.Action)
	}

	s = stub{unsearched: errors.New("connection refused")}
	r = recorded(t, &s, status)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || s.begun != nil {
		t.Errorf("something was begun, or error %v", err)
	}
	if c := s.isReady(t, r); c.Reason != helmv2.ReasonStateError || !strings.Contains(c.Message, "connection refused") {
		t.Errorf("Ready is %+v", c)
	}
}

// TestMovesNotToNamesOfOthers: HelmReleases that request the new name, or made its revisions, are
// found.
func TestMovesNotToNamesOfOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		asks  string
		there []release.Revision
	}{
		"Asked": {"web", nil},
		"Made":  {"elsewhere", []release.Revision{{Name: "web", Version: 1, Status: helmv2.StatusDeployed, Sealed: true, Owner: "uid-2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stub{
				stored: []release.Revision{{Name: "old", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, Sealed: true, Owner: "uid-1"}},
				target: release.TargetCheck{Revisions: tc.there},
			}
			r := recorded(t, s, movedStatus())
			other := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "another", UID: "uid-0"}, Spec: helmv2.HelmReleaseSpec{ReleaseName: tc.asks}}
			if len(tc.there) > 0 {
				other.UID = "uid-2"
			}
			if err := r.client.Create(t.Context(), other); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || s.begun != nil {
				t.Errorf("something was begun, or error %v", err)
			}
			if c := s.isReady(t, r); c.Reason != helmv2.ReasonContested || !strings.Contains(c.Message, "apps/another") {
				t.Errorf("Ready is %+v", c)
			}
		})
	}
}

// TestStrayIsReadWhereItIs: its values and objects are not looked for where the spec
// wants the release by now.
func TestStrayIsReadWhereItIs(t *testing.T) {
	old := release.Target{Name: "old", Namespace: "apps", StorageNamespace: "vault"}
	s := &stub{
		preserves: true, stray: &old,
		strays: []release.Revision{{Name: "old", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, Sealed: true, Owner: "uid-1"}},
	}
	r := recorded(t, s, helmv2.HelmReleaseStatus{StorageNamespace: "vault", LastAttemptedReleaseAction: helmv2.ActionInstall})
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || s.begun != nil {
		t.Fatalf("something was begun, or error %v", err)
	}
	if s.preserved != old || s.listed != old {
		t.Errorf("values are read of %+v, objects of %+v", s.preserved, s.listed)
	}
}
