// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	w.settle(hr)
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
	w.untilEvent(hr, corev1.EventTypeNormal, helmv2.ReasonRolledBack, "is held at revision 2", "1 object changed; source 1.0.0@sha256:")

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
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionTrue, helmv2.ReasonRolledBack, "as the spec requests")
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

// TestHoldEnds: a hold ends at its time. A time that is over is reported, and so is one that cannot
// be parsed.
func TestHoldEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.revised([]string{"one", "two"})
	until := time.Now().Add(time.Hour)
	w.annotate(hr, helmv2.AnnotationRollbackTo, "1", helmv2.AnnotationRollbackUntil, until.Format(time.RFC3339))
	w.untilSays(hr, helmv2.ConditionRolledBack, metav1.ConditionTrue, helmv2.ReasonRolledBack, "until "+until.UTC().Format(time.RFC3339))
	until = time.Now().Add(5 * time.Second).Truncate(time.Second)
	w.annotate(hr, helmv2.AnnotationRollbackUntil, until.Format(time.RFC3339))
	w.untilSays(hr, helmv2.ConditionRolledBack, metav1.ConditionFalse, helmv2.ReasonRollbackExpired, helmv2.AnnotationRollbackUntil, "is over")
	if time.Now().Before(until) {
		t.Error("the hold has ended too early")
	}
	w.untilMessage("app", "two")
	w.untilReady(hr)
	w.expectRevisions(hr, 4)

	w.annotate(hr, helmv2.AnnotationRollbackUntil, "tomorrow")
	w.untilSays(hr, helmv2.ConditionRolledBack, metav1.ConditionTrue, helmv2.ReasonRolledBack, helmv2.AnnotationRollbackUntil, `"tomorrow", which is no RFC 3339 time`)
}

// TestHoldRefused: a release is not rolled back to a revision that is missing, has failed or was
// changed, and is not changed otherwise either.
func TestHoldRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", interruptibleChart(t))
	yes := true
	hr := w.revised([]string{"one", "two"}, func(hr *helmv2.HelmRelease) {
		hr.Spec.Upgrade = &helmv2.Upgrade{Timeout: &metav1.Duration{Duration: time.Second}, Remediation: &helmv2.UpgradeRemediation{RemediateLastFailure: &yes}}
	})
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = rawValues(t, map[string]any{"message": "three", "broken": true})
	})
	w.until(hr, "the remediation", func(hr *helmv2.HelmRelease) bool {
		return newest(hr) == 4 && condition(hr, helmv2.ConditionStalled).Status == metav1.ConditionTrue
	})
	w.says(hr, "five")
	w.until(hr, "revision 5", func(hr *helmv2.HelmRelease) bool {
		return newest(hr) == 5 && condition(hr, helmv2.ConditionReady).Status == metav1.ConditionTrue
	})
	record, _ := w.recordOf("app", 4)
	other, _ := w.recordOf("app", 1)
	record.Data = other.Data
	w.must(suite.client.Update(t.Context(), record))
	for to, cause := range map[string]string{
		"9": "revision 9 is not stored", "3": "revision 3 was never deployed", "4": "the record of revision 4 is not as it was written", "five": "which is no number",
	} {
		w.annotate(hr, helmv2.AnnotationRollbackTo, to)
		w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRollbackRefused, cause)
		w.untilSays(hr, helmv2.ConditionRolledBack, metav1.ConditionFalse, helmv2.ReasonRollbackRefused, cause)
		w.says(hr, "not "+to)
		w.settle(hr)
		if got := w.message("app"); got != "five" {
			t.Errorf("rollback to %s: the message is %q", to, got)
		}
	}
	w.expectRevisions(hr, 5)
}

// TestHoldDespiteInputs: a release is rolled back and held, as it is named, although its source is
// broken and the spec requests another name.
func TestHoldDespiteInputs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.revised([]string{"one", "two"})
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.ReleaseName = "renamed"
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "ConfigMap", Name: "missing"}}
	})
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonValuesError)
	w.annotate(hr, helmv2.AnnotationRollbackTo, "1")
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonRolledBack, "missing")
	w.untilMessage("app", "one")
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.ValuesFrom = nil })
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonRolledBack, "release target changed")
	w.annotate(hr, helmv2.AnnotationRollbackTo, "")
	untilTrue(w, "the release to be moved", func() bool { return w.message("renamed") == "two" })
}

// TestHoldSurvivesProcess: the process ends during the rollback, and while the release is held. The
// spec has changed meanwhile. There is one revision, and the next process requests no other one.
func TestHoldSurvivesProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", interruptibleChart(t))
	var armed atomic.Bool
	died := w.applyAndDieIf("one", armed.Load)
	hr := w.revised([]string{"one", "two"}, func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{labelController: w.namespace} })
	armed.Store(true)
	w.annotate(hr, helmv2.AnnotationRollbackTo, "1")
	died(hr)
	if stored := w.stored("app"); stored[len(stored)-1].Labels["status"] != "pending-rollback" {
		t.Fatalf("after the death, %s", stored[len(stored)-1].Labels["status"])
	}
	w.says(hr, "three")
	stop, err := startController(config{name: w.namespace})
	w.must(err)
	w.untilHeld(hr, "one")
	w.expectRevisions(hr, 3)
	w.must(stop())

	w.says(hr, "four")
	w.ownController(config{})
	w.untilObserved(hr)
	w.untilHeld(hr, "one")
	w.expectRevisions(hr, 3)
	w.expectEvents(hr, helmv2.ReasonRolledBack, 1)
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
		w.settle(hr)
		if handled := hr.Annotations[helmv2.AnnotationHandled]; handled != `{"pintle.dev/test-at":"`+token+`"}` {
			t.Errorf("handled is %s", handled)
		}
		w.expectEvents(hr, helmv2.ReasonTestSucceeded, i+1)
	}
	w.expectRevisions(hr, 3)
	w.ask(hr, "now")
	w.settle(hr)
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

// TestTokenAfterDeath: a process that dies right after it has accepted a request does not carry it out,
// and neither does the next one.
func TestTokenAfterDeath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", testedChart(t))
	var dead atomic.Bool
	stop, err := startController(config{name: w.namespace, wrap: func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			if dead.Load() {
				return nil, errors.New("the process is dead")
			}
			resp, err := next.RoundTrip(req)
			if err == nil && req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/helmreleases/app") && w.handled("app") != "" {
				dead.Store(true)
			}
			return resp, err
		})
	}})
	w.must(err)
	hr := w.revised([]string{"one"}, func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{labelController: w.namespace} })
	w.annotate(hr, helmv2.AnnotationTestAt, "one")
	untilTrue(w, "the process to die", dead.Load)
	_ = stop()
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(hr), hr))
	w.ownController(config{})
	w.ask(hr, "now")
	w.settle(hr)
	if w.uidOf("app-test") != "" || w.events(hr, helmv2.ReasonTestSucceeded) > 0 {
		t.Error("the request is carried out again")
	}
	w.annotate(hr, helmv2.AnnotationTestAt, "two")
	w.untilSays(hr, helmv2.ConditionTestSuccess, metav1.ConditionTrue, helmv2.ReasonTestSucceeded)
}

// uidOf returns the UID of a ConfigMap; empty if it does not exist.
func (w *world) uidOf(name string) types.UID {
	cm := &corev1.ConfigMap{}
	_ = suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, cm)
	return cm.UID
}

// handled returns the annotation with the requests that were accepted.
func (w *world) handled(name string) string {
	hr := &helmv2.HelmRelease{}
	_ = suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, hr)
	return hr.Annotations[helmv2.AnnotationHandled]
}
