// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestUsersComeBeforeTheStart: a new release is reconciled before the existing ones that a starting
// controller has enqueued.
func TestUsersComeBeforeTheStart(t *testing.T) {
	inBubble(t, func(w *world) {
		const releases = 30
		for i := range releases {
			w.release("old-"+strings.Repeat("x", i+1), "one")
		}
		// Each first reconciliation waits for the write of the finalizer.
		var order []string
		held := make(chan struct{})
		w.answers(func(req *http.Request) *http.Response {
			_, name, found := strings.Cut(req.URL.Path, "/apps/helmreleases/")
			if found && req.Method == http.MethodPatch && !strings.Contains(name, "/") {
				w.mu.Lock()
				order = append(order, name)
				w.mu.Unlock()
				<-held
			}
			return nil
		})
		w.start(func(s *settings) { s.concurrent = 1 })
		time.Sleep(5 * time.Second)
		w.release("new", "one")
		time.Sleep(5 * time.Second)
		close(held)
		time.Sleep(time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		if at := slices.Index(order, "new"); at < 0 || at > releases/2 || len(order) != releases+1 {
			t.Errorf("the order is %q", order)
		}
	})
}

// dies makes the process of the controller die after an answer for which dead returns true: no later
// request is answered.
func (w *world) dies(dead func(req *http.Request) bool) (isDead func() bool) {
	ended := make(chan struct{})
	isDead = func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
	w.answers(func(req *http.Request) *http.Response {
		if isDead() {
			return respond(req, http.StatusTeapot, "the process is dead")
		}
		if req.URL.Host == "artifacts" || req.Method == http.MethodGet {
			return nil
		}
		resp, err := w.api.RoundTrip(req)
		if err != nil {
			w.Error(err)
		}
		if !isDead() && dead(req) {
			close(ended)
		}
		return resp
	})
	return isDead
}

// TestNextProcess: a process dies in an upgrade. The next one resumes it under the same number.
func TestNextProcess(t *testing.T) {
	inBubble(t, func(w *world) {
		stop := w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilReady(hr)
		isDead := w.dies(func(req *http.Request) bool { return applies(req, "app") })
		w.says(hr, "two")
		w.until("the death", isDead)
		stop()
		w.up()
		w.start()
		w.untilReady(hr)
		if w.message("app") != "two" || newest(hr) != 2 || hr.Status.Failures != 0 || hr.Status.UpgradeFailures != 0 {
			t.Errorf("it says %q: %+v", w.message("app"), hr.Status)
		}
	})
}

// TestTokenAfterDeath: a process that dies right after it has accepted a request does not carry it
// out, and neither does the next one.
func TestTokenAfterDeath(t *testing.T) {
	inBubble(t, func(w *world) {
		stop := w.start()
		w.publish("app", "1.0.0", w.chart("1.0.0", map[string]string{
			"templates/cm.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {message: one}\n",
			"templates/test.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app-test\n  annotations: {helm.sh/hook: test}\ndata: {message: tested}\n",
		}))
		hr := w.release("app", "one")
		w.untilReady(hr)
		time.Sleep(time.Minute)
		isDead := w.dies(func(req *http.Request) bool {
			// The requests of the controller are concurrent with the test, which uses hr.
			now := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}
			w.read(now)
			return now.Annotations[helmv2.AnnotationHandled] != ""
		})
		w.annotate(hr, helmv2.AnnotationTestAt, "one")
		w.until("the death", isDead)
		stop()
		w.up()
		w.start()
		w.ask(hr, "now")
		time.Sleep(5 * time.Hour)
		if w.message("app-test") != "" || len(w.events(helmv2.ReasonTestSucceeded)) > 0 {
			t.Error("the request is carried out again")
		}
		w.annotate(hr, helmv2.AnnotationTestAt, "two")
		w.untilCondition(hr, helmv2.ConditionTestSuccess, metav1.ConditionTrue, helmv2.ReasonTestSucceeded)
	})
}
