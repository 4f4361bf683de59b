// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"testing"
	"testing/synctest"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// answer makes the controller answer requests, and then change the conditions.
func answer(changes ...metav1.Condition) func(hr *helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		requests := release.RequestsOf(hr.Annotations)
		hr.Status.LastHandledReconcileAt, hr.Status.LastHandledForceAt, hr.Status.LastHandledResetAt = requests.Reconcile, requests.Force, requests.Reset
		if requests.Test != "" {
			hr.Annotations[helmv2.AnnotationHandled] = release.WithHandled(hr.Annotations, helmv2.AnnotationTestAt, requests.Test)
		}
		if requests.Reconcile != "" {
			for _, c := range changes {
				apimeta.SetStatusCondition(&hr.Status.Conditions, c)
			}
		}
	}
}

func TestAct(t *testing.T) {
	for name, tc := range map[string]struct {
		changes  []metav1.Condition
		commands []string
	}{
		"reconcile": {nil, []string{"reconcile web", "reconcile web --force --reset", "reconcile shop", "reconcile missing", "reconcile web --wait=false", "reconcile cart --timeout 1ms"}},
		"suspend": {
			[]metav1.Condition{{Type: helmv2.ConditionSuspended, Status: "True", Reason: helmv2.ReasonSuspended, Message: "annotation pintle.dev/suspend: database maintenance"}},
			[]string{"suspend web --reason maintenance --until 2h", "reconcile web", "suspend web --until yesterday", "suspend web --until 2026-01-01T00:00:00Z", "suspend web --spec --until 2h"},
		},
		"resume": {nil, []string{"resume reports -n finance"}},
		"unhold": {nil, []string{"unhold web", "unhold missing"}},
		"rollback": {
			[]metav1.Condition{{Type: helmv2.ConditionRolledBack, Status: "True", Reason: helmv2.ReasonRolledBack, Message: "held at revision 4 (annotation pintle.dev/rollback-to) until 2026-01-02T17:00:00Z"}},
			[]string{"rollback web 4 --until 2h", "rollback web 3", "rollback web 3 --yes", "rollback web 40", "rollback web 40 --yes", "rollback web 2", "rollback web 2 --yes", "rollback web four", "rollback web"},
		},
		"rollback-refused": {
			[]metav1.Condition{{Type: helmv2.ConditionRolledBack, Status: "False", Reason: helmv2.ReasonRollbackRefused, Message: "revision 4 has failed"}},
			[]string{"rollback web 4"},
		},
		"test": {
			[]metav1.Condition{{Type: helmv2.ConditionTestSuccess, Status: "True", Reason: helmv2.ReasonTestSucceeded, Message: "1 test hook completed successfully"}},
			[]string{"test web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := historyWorld(t)
			w.react, w.stored, w.differ = answer(tc.changes...), records, &fakeDiffer{}
			w.golden(name, tc.commands...)
		})
	}
}

// TestActForbidden: a request that the user may not send ends the command.
func TestActForbidden(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.patch = errors.New("helmreleases.helm.toolkit.fluxcd.io \"web\" is forbidden")
	if code := w.run("suspend", "web"); code != 1 || !contains(w.err.String(), "is forbidden") {
		t.Errorf("exit code %d: %s", code, w.err.String())
	}
}

// TestUnanswered: if no controller answers, the message says so. If one does, it says what it does.
func TestUnanswered(t *testing.T) {
	for reconciling, want := range map[string]string{
		"":             "error: No controller answered within 8s. Is one running? kubectl pintle doctor\n",
		"upgrade runs": "error: timed out after 8s; the request stays: waiting for the controller: upgrade runs\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "cluster.yaml")
			w.react = func(hr *helmv2.HelmRelease) {
				if reconciling != "" {
					apimeta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{Type: helmv2.ConditionReconciling, Status: "True", Reason: "Progressing", Message: reconciling})
				}
			}
			if code := w.run("reconcile", "web", "--timeout", "8s"); code != 1 || !contains(w.err.String(), want) {
				t.Errorf("exit code %d: %s", code, w.err.String())
			}
		})
	}
}

// TestAwait: a read that fails while a command waits is repeated.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "cluster.yaml")
		reads := 0
		w.react = func(hr *helmv2.HelmRelease) { reads++; answer()(hr) }
		w.unread = func() error {
			if reads == 1 {
				reads++
				return errors.New("no answer")
			}
			return nil
		}
		if code := w.run("reconcile", "web"); code != 0 || !contains(w.err.String(), "not read, and repeated: no answer") {
			t.Errorf("exit code %d: %s", code, w.err.String())
		}
	})
}
