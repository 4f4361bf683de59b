// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// applyAndDie starts a controller that dies as soon as it has applied the ConfigMap of release app
// with a message. It returns a function that waits for that.
func (w *world) applyAndDie(message string) (died func(hr *helmv2.HelmRelease)) {
	w.t.Helper()
	return w.applyAndDieIf(message, func() bool { return true })
}

// applyAndDieIf is applyAndDie under a condition.
func (w *world) applyAndDieIf(message string, when func() bool) (died func(hr *helmv2.HelmRelease)) {
	w.t.Helper()
	var armed, dead atomic.Bool
	armed.Store(true)
	stop, err := startController(config{name: w.namespace, wrap: func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			if dead.Load() {
				return nil, errors.New("the process is dead")
			}
			applies := req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/configmaps/app") && req.URL.Query().Get("dryRun") == ""
			resp, err := next.RoundTrip(req)
			if applies && err == nil && when() && w.message("app") == message && armed.Swap(false) {
				dead.Store(true)
			}
			return resp, err
		})
	}})
	w.must(err)
	return func(hr *helmv2.HelmRelease) {
		w.t.Helper()
		untilTrue(w, "the process to die", dead.Load)
		_ = stop()
		w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(hr), hr))
	}
}

// message returns the message in the ConfigMap of a release; empty if there is none.
func (w *world) message(name string) string {
	var cm corev1.ConfigMap
	if err := suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &cm); err != nil {
		return ""
	}
	return cm.Data["message"]
}

// interruptibleChart is configMapChart with a hook before and after each install and upgrade. With value
// broken, it has another hook, which never ends.
func interruptibleChart(t *testing.T) []byte {
	t.Helper()
	const hook = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-WHEN\n  annotations: {helm.sh/hook: \"WHEN-install,WHEN-upgrade\"}\n"
	return pack(t, "note", "1.0.0", map[string]string{
		"templates/cm.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  message: {{ .Values.message | quote }}\n",
		"templates/pre.yaml":  strings.ReplaceAll(hook, "WHEN", "pre"),
		"templates/post.yaml": strings.ReplaceAll(hook, "WHEN", "post"),
		"templates/job.yaml": "{{ if .Values.broken }}\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{ .Release.Name }}\n  annotations: {helm.sh/hook: pre-upgrade}\n" +
			"spec:\n  template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}\n{{ end }}\n",
	})
}

// TestNextProcess: a process dies during an install or upgrade. The next one resumes it under the
// same number if the inputs are the same. Otherwise it closes the revision: an install whose hooks
// have not all run is installed anew, and an upgrade is followed by another one.
func TestNextProcess(t *testing.T) {
	t.Parallel()
	const anew = "was never deployed, and its install hooks have not all run: the release was uninstalled and is installed anew"
	for name, tc := range map[string]struct {
		upgrade, changed bool
		// records are the states of the records in the end.
		records     []string
		uninstalled int
	}{
		"Install":                {false, false, []string{"deployed"}, 0},
		"InstallWithOtherInputs": {false, true, []string{"deployed"}, 1},
		"Upgrade":                {true, false, []string{"superseded", "deployed"}, 0},
		"UpgradeWithOtherInputs": {true, true, []string{"superseded", "failed", "deployed"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.publish("app", "1.0.0", interruptibleChart(t))
			message := "one"
			if tc.upgrade {
				message = "two"
			}
			died := w.applyAndDie(message)
			hr := w.release("app", map[string]any{"message": "one"}, func(hr *helmv2.HelmRelease) {
				hr.Labels = map[string]string{labelController: w.namespace}
			})
			if tc.upgrade {
				w.untilReady(hr)
				w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "two"}) })
			}
			died(hr)
			if stored := w.stored("app"); !strings.HasPrefix(stored[len(stored)-1].Labels["status"], "pending-") {
				t.Fatalf("after the death, %s", stored[len(stored)-1].Labels["status"])
			}
			if tc.changed {
				message = "three"
				w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": message}) })
			}
			w.ownController(config{})
			w.untilReady(hr)
			var states []string
			for _, s := range w.stored("app") {
				states = append(states, s.Labels["status"])
			}
			if got, want := strings.Join(states, " "), strings.Join(tc.records, " "); got != want || newest(hr) != len(tc.records) {
				t.Errorf("the records are %s, want %s; the newest is %d", got, want, newest(hr))
			}
			if w.message("app") != message || w.configMap("app-post") == nil || hr.Status.Failures != 0 {
				t.Errorf("the message is %q, and %d failures are counted", w.message("app"), hr.Status.Failures)
			}
			if tc.uninstalled > 0 {
				w.untilEvent(hr, corev1.EventTypeNormal, helmv2.ReasonUninstallSucceeded, anew)
			}
			w.expectEvents(hr, helmv2.ReasonUninstallSucceeded, tc.uninstalled)
		})
	}
}

// TestClosedIsNoRollbackTarget: a revision that was interrupted and closed is not rolled back to.
func TestClosedIsNoRollbackTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", interruptibleChart(t))
	died := w.applyAndDie("two")
	yes := true
	hr := w.release("app", map[string]any{"message": "one"}, func(hr *helmv2.HelmRelease) {
		hr.Labels = map[string]string{labelController: w.namespace}
		hr.Spec.Upgrade = &helmv2.Upgrade{Timeout: &metav1.Duration{Duration: time.Second}, Remediation: &helmv2.UpgradeRemediation{RemediateLastFailure: &yes}}
	})
	w.untilReady(hr)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "two"}) })
	died(hr)
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = rawValues(t, map[string]any{"message": "three", "broken": true})
	})
	w.ownController(config{})
	w.untilSays(hr, helmv2.ConditionRemediated, metav1.ConditionTrue, helmv2.ReasonRollbackSucceeded, "app.v1 ")
	w.until(hr, "the rollback", func(*helmv2.HelmRelease) bool { return w.message("app") == "one" })
	for _, s := range w.stored("app") {
		if s.Labels["version"] == "2" && (s.Labels["status"] != "failed" || s.Labels[helmv2.LabelInterrupted] != "true") {
			t.Errorf("the interrupted revision has labels %v", s.Labels)
		}
	}
}
