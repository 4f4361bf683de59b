// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// annotate sets annotations of a HelmRelease, given as pairs, and removes those with an empty value.
func (w *world) annotate(hr *helmv2.HelmRelease, pairs ...string) {
	w.t.Helper()
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		if hr.Annotations == nil {
			hr.Annotations = map[string]string{}
		}
		for i := 0; i < len(pairs); i += 2 {
			if delete(hr.Annotations, pairs[i]); pairs[i+1] != "" {
				hr.Annotations[pairs[i]] = pairs[i+1]
			}
		}
	})
}

// says sets the message in the values of a HelmRelease.
func (w *world) says(hr *helmv2.HelmRelease, message string) {
	w.t.Helper()
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(w.t, map[string]any{"message": message}) })
}

// revised creates a HelmRelease and upgrades it, so that revision n has the n-th message.
func (w *world) revised(messages []string, edit ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	w.t.Helper()
	hr := w.release("app", map[string]any{"message": messages[0]}, edit...)
	w.untilReady(hr)
	for i, message := range messages[1:] {
		w.says(hr, message)
		w.until(hr, "revision "+strconv.Itoa(i+2), func(hr *helmv2.HelmRelease) bool {
			return newest(hr) == i+2 && condition(hr, helmv2.ConditionReady).Status == metav1.ConditionTrue
		})
	}
	return hr
}

// untilHeld waits until the release is held, and the spec requests another state.
func (w *world) untilHeld(hr *helmv2.HelmRelease, message string) {
	w.t.Helper()
	w.untilSays(hr, helmv2.ConditionRolledBack, metav1.ConditionTrue, helmv2.ReasonRolledBack)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonRolledBack, "release config values changed")
	w.quiet(hr)
	if got := w.message("app"); got != message {
		w.t.Errorf("the message is %q, want %q", got, message)
	}
}

// expectRevisions checks the number of revisions that were made.
func (w *world) expectRevisions(hr *helmv2.HelmRelease, n int) {
	w.t.Helper()
	if got := newest(hr); got != n {
		w.t.Errorf("the newest revision is %d, want %d", got, n)
	}
}

// TestHold: a release is rolled back to a stored revision, and stays there although the spec changes
// and a request forces an upgrade. Without the annotation it follows the spec.
func TestHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.revised([]string{"one", "two", "three"}, func(hr *helmv2.HelmRelease) {
		two := 2
		hr.Spec.MaxHistory = &two
		hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled}
	})

	w.annotate(hr, helmv2.AnnotationRollbackTo, "2")
	w.untilHeld(hr, "two")
	w.expectRevisions(hr, 4)
	stored := w.stored("app")
	if label := stored[len(stored)-1].Labels[helmv2.LabelRolledBackTo]; label != "2" {
		t.Errorf("the record has the label %q", label)
	}
	if source := stored[len(stored)-1].Annotations[helmv2.AnnotationSourceRevision]; !strings.HasPrefix(source, "1.0.0@sha256:") {
		t.Errorf("the record has the source revision %q", source)
	}
	if _, found := w.recordOf("app", 2); !found {
		t.Error("the history limit has deleted the revision that is held")
	}
	w.untilEvent(hr, corev1.EventTypeNormal, helmv2.ReasonRolledBack, "Rolled back to revision 2 ", "and held", "1 object changed; source 1.0.0@sha256:")

	w.says(hr, "four")
	w.untilObserved(hr)
	w.ask(hr, "now", helmv2.AnnotationForceRequest)
	w.untilHeld(hr, "two")
	w.expectRevisions(hr, 4)

	changeAs(w, "editor", w.configMap("app"), func(cm *corev1.ConfigMap) { cm.Data["message"] = "edited" })
	w.untilMessage("app", "two")
	w.untilHeld(hr, "two")
	w.expectRevisions(hr, 4)

	w.says(hr, "two")
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionTrue, helmv2.ReasonRolledBack, "The spec wants this state.")
	w.says(hr, "four")
	w.untilHeld(hr, "two")

	w.annotate(hr, helmv2.AnnotationRollbackTo, "")
	w.until(hr, "the upgrade", func(hr *helmv2.HelmRelease) bool { return newest(hr) == 5 })
	w.untilReady(hr)
	if got := w.message("app"); got != "four" || condition(hr, helmv2.ConditionRolledBack).Type != "" {
		t.Errorf("the message is %q, RolledBack is %+v", got, condition(hr, helmv2.ConditionRolledBack))
	}
}

// recordOf returns the record of a revision.
func (w *world) recordOf(name string, version int) (*corev1.Secret, bool) {
	w.t.Helper()
	stored := w.stored(name)
	for i := range stored {
		if stored[i].Labels["version"] == strconv.Itoa(version) {
			return &stored[i], true
		}
	}
	return nil, false
}

// testedChart is configMapChart with a test that is a ConfigMap. With the message broken, the API server
// rejects the test.
func testedChart(t *testing.T) []byte {
	t.Helper()
	return pack(t, "note", "1.0.0", map[string]string{
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  message: {{ .Values.message | quote }}\n",
		"templates/test.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-test\n  annotations: {helm.sh/hook: test}\n" +
			"  {{ if eq .Values.message \"broken\" }}labels: {bad: \"/\"}{{ end }}\n",
	})
}

// TestTestsOnRequest: each token runs the tests of the present revision once, without another
// revision. They are not enabled in the spec.
func TestTestsOnRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", testedChart(t))
	hr := w.revised([]string{"one", "broken", "three"})
	var tested types.UID
	for i, token := range []string{"one", "2026-01-02T15:00:00+01:00"} {
		w.annotate(hr, helmv2.AnnotationTestAt, token)
		w.until(hr, "the tests", func(*helmv2.HelmRelease) bool {
			// The object of the last run is deleted first.
			now := w.uidOf("app-test")
			return now != "" && now != tested
		})
		tested = w.uidOf("app-test")
		w.untilSays(hr, helmv2.ConditionTestSuccess, metav1.ConditionTrue, helmv2.ReasonTestSucceeded, "1 test hook completed")
		w.quiet(hr)
		if handled := hr.Annotations[helmv2.AnnotationHandled]; handled != `{"pintle.dev/test-at":"`+token+`"}` {
			t.Errorf("handled is %s", handled)
		}
		w.expectEvents(hr, helmv2.ReasonTestSucceeded, i+1)
	}
	w.expectRevisions(hr, 3)
	w.ask(hr, "now")
	w.quiet(hr)
	if w.uidOf("app-test") != tested || condition(hr, helmv2.ConditionTestSuccess).Status != metav1.ConditionTrue {
		t.Errorf("a token has two runs, or its result is lost: %+v", condition(hr, helmv2.ConditionTestSuccess))
	}

	w.annotate(hr, helmv2.AnnotationRollbackTo, "2", helmv2.AnnotationTestAt, "held")
	w.untilSays(hr, helmv2.ConditionTestSuccess, metav1.ConditionFalse, helmv2.ReasonTestFailed, "v4")
	w.untilHeld(hr, "broken")
	w.expectRevisions(hr, 4)
	if hr.Status.Failures != 0 {
		t.Errorf("%d failures are counted", hr.Status.Failures)
	}
}

// uidOf returns the UID of a ConfigMap; empty if it does not exist.
func (w *world) uidOf(name string) types.UID {
	cm := &corev1.ConfigMap{}
	_ = suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, cm)
	return cm.UID
}
