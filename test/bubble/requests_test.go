// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// ask requests a reconciliation in one write, as flux reconcile does, and lets it be handled.
func (w *world) ask(hr *helmv2.HelmRelease, token string, annotations ...string) {
	w.Helper()
	edit(w, hr, func(hr *helmv2.HelmRelease) {
		for _, a := range append(annotations, helmv2.AnnotationReconcileRequest) {
			metav1.SetMetaDataAnnotation(&hr.ObjectMeta, a, token)
		}
	})
	w.untilRelease(hr, "reconciled for "+token, func(hr *helmv2.HelmRelease) bool { return hr.Status.LastHandledReconcileAt == token })
}

// TestRequests: a requested reconciliation of a release at rest is one write, and compares no object.
// A force is for once.
func TestRequests(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one", correctsDrift)
		w.untilReady(hr)
		w.ask(hr, "first")
		time.Sleep(time.Minute)
		sent := w.requests(func() { w.ask(hr, "second") }, isPlain)
		if len(sent) != 1 || !strings.HasPrefix(sent[0], "PATCH /apis/helm.toolkit.fluxcd.io/v2/namespaces/apps/helmreleases/app/status ") {
			t.Errorf("a reconciliation of a release at rest sends %q", sent)
		}
		w.ask(hr, "third", helmv2.AnnotationForceRequest)
		if w.untilReady(hr); newest(hr) != 2 || hr.Status.LastHandledForceAt != "third" || condition(hr, helmv2.ConditionReady).Status != metav1.ConditionTrue {
			t.Errorf("answered with %+v", hr.Status)
		}
		w.ask(hr, "fourth")
		if newest(hr) != 2 {
			t.Errorf("revision %d: the force is repeated", newest(hr))
		}
		w.quiet(3 * time.Hour)
	})
}

// TestSuspended: a suspended release is not written, whatever changes, and resumed at once.
func TestSuspended(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		cm := w.configMap("app-values", "one", watched())
		hr := w.release("app", "", valuesFrom(helmv2.KindConfigMap))
		w.untilReady(hr)
		edit(w, hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
		time.Sleep(time.Minute)
		edit(w, cm, func(cm *corev1.ConfigMap) { cm.Data["message"] = "two" })
		w.publish("app", "1.0.1", w.note("1.0.1"))
		w.quiet(7 * time.Hour)
		edit(w, hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
		if took := w.untilMessage("app", "two"); took > 10*time.Second {
			t.Errorf("it is upgraded after %s", took)
		}
		if w.untilReady(hr); newest(hr) != 2 || len(w.events(helmv2.ReasonSuspended)) != 1 || len(w.events(helmv2.EventReasonResumed)) != 1 {
			t.Errorf("revision %d, events %q, %q", newest(hr), w.events(helmv2.ReasonSuspended), w.events(helmv2.EventReasonResumed))
		}
	})
}

// TestSuspendedUntil: the annotation suspends at once, for hours without a write, and expires on time.
func TestSuspendedUntil(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilReady(hr)
		end := time.Now().Add(8 * time.Hour).Truncate(time.Second)
		edit(w, hr, func(hr *helmv2.HelmRelease) {
			hr.Annotations = map[string]string{helmv2.AnnotationSuspend: "incident 42", helmv2.AnnotationSuspendUntil: end.Format(time.RFC3339)}
		})
		w.untilCondition(hr, helmv2.ConditionSuspended, metav1.ConditionTrue, helmv2.ReasonSuspended, "incident 42", "until ")
		w.says(hr, "two")
		time.Sleep(time.Minute)
		w.quiet(7 * time.Hour)
		w.untilMessage("app", "two")
		if late := time.Since(end); late < 0 || late > time.Second {
			t.Errorf("it is upgraded %s after the end", late)
		}
		w.untilReady(hr)
		w.untilCondition(hr, helmv2.ConditionSuspended, metav1.ConditionFalse, helmv2.ReasonSuspensionExpired, "incident 42 has expired")
		if warned := w.events(helmv2.ReasonSuspensionExpired); len(warned) != 1 {
			t.Errorf("events %q", warned)
		}
	})
}

// TestHoldEnds: a release is held at the revision that it was rolled back to, for hours without a
// write, and is upgraded when the time of the hold is over.
func TestHoldEnds(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilReady(hr)
		w.says(hr, "two")
		w.untilMessage("app", "two")
		w.untilReady(hr)
		end := time.Now().Add(8 * time.Hour).Truncate(time.Second)
		edit(w, hr, func(hr *helmv2.HelmRelease) {
			hr.Annotations = map[string]string{helmv2.AnnotationRollbackTo: "1", helmv2.AnnotationRollbackUntil: end.Format(time.RFC3339)}
		})
		w.untilMessage("app", "one")
		w.untilCondition(hr, helmv2.ConditionRolledBack, metav1.ConditionTrue, helmv2.ReasonRolledBack, "until "+end.UTC().Format("2006-01-02 15:04 MST"))
		time.Sleep(time.Minute)
		w.quiet(7 * time.Hour)
		w.untilMessage("app", "two")
		if late := time.Since(end); late < 0 || late > time.Second {
			t.Errorf("it is upgraded %s after the end", late)
		}
		if w.untilReady(hr); newest(hr) != 4 {
			t.Errorf("revision %d", newest(hr))
		}
		w.untilCondition(hr, helmv2.ConditionRolledBack, metav1.ConditionFalse, helmv2.ReasonRollbackExpired, "is over")
	})
}

// TestObjectsOfOthers: a release whose object belongs to another one waits, with one event for all
// retries, and is installed soon after the other one is gone.
func TestObjectsOfOthers(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.chart("1.0.0", map[string]string{"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\ndata: {message: {{ .Release.Name }}}\n"}))
		of := func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "app" }
		owner := w.release("owner", "", of)
		w.untilReady(owner)
		late := w.release("late", "", of)
		w.untilCondition(late, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonObjectsOwned, "Nothing was changed")
		since := condition(late, helmv2.ConditionReady).LastTransitionTime
		w.ask(late, "now")
		time.Sleep(7 * time.Hour)
		w.untilCondition(late, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonObjectsOwned, "Nothing was changed")
		if got := condition(late, helmv2.ConditionReady).LastTransitionTime; !got.Equal(&since) {
			t.Errorf("Ready changed at %s, which it did at %s", got, since)
		}
		if all := w.events(helmv2.ReasonObjectsOwned); len(all) != 1 || late.Status.Failures+late.Status.InstallFailures != 0 {
			t.Errorf("events %q, status %+v", all, late.Status)
		}
		w.remove(owner)
		w.untilGone(owner)
		if took := w.untilMessage("shared", "late"); took > time.Minute {
			t.Errorf("it is installed after %s", took)
		}
		w.untilReady(late)
	})
}
