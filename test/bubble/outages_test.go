// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"net/http"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// applies reports whether a request applies the ConfigMap of a release.
func applies(req *http.Request, name string) bool {
	return (req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/configmaps/"+name) || req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/configmaps")) &&
		req.URL.Query().Get("dryRun") == ""
}

// down makes the API server away: it ends all watches and answers nothing but 503. up ends that.
func (w *world) down() {
	w.answers(func(req *http.Request) *http.Response {
		if req.URL.Host == "artifacts" {
			return nil
		}
		return respond(req, http.StatusServiceUnavailable, "away at "+time.Now().String())
	})
	w.api.HangUp(false)
}

func (w *world) up() { w.answers(nil) }

// TestOutageAtRest: an outage of the API server changes no status. A change during the outage is
// noticed soon after its end.
func TestOutageAtRest(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilReady(hr)
		time.Sleep(time.Minute)
		before := hr.ResourceVersion
		w.down()
		time.Sleep(20 * time.Minute)
		w.up()
		time.Sleep(5 * time.Minute)
		if w.read(hr); hr.ResourceVersion != before {
			t.Errorf("the outage has changed the status: %+v", hr.Status.Conditions)
		}
		w.down()
		w.says(hr, "two")
		time.Sleep(20 * time.Minute)
		w.up()
		if took := w.untilMessage("app", "two"); took > 2*time.Minute {
			t.Errorf("a change in the outage is noticed after %s", took)
		}
		if w.untilReady(hr); hr.Status.Failures != 0 || hr.Status.UpgradeFailures != 0 || newest(hr) != 2 {
			t.Errorf("after the outage: %+v", hr.Status)
		}
	})
}

// TestInterrupted: an upgrade is interrupted, not failed, if the API server does not answer within the
// retry budget. The message of Ready has the start of the outage and stays equal.
func TestInterrupted(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilReady(hr)
		began := time.Now()
		w.answers(func(req *http.Request) *http.Response {
			helms := strings.Contains(req.URL.Path, "/apps/configmaps") || strings.Contains(req.URL.Path, "/apps/secrets") || req.URL.Path == "/readyz"
			if !helms || req.URL.Query().Get("watch") != "" {
				return nil
			}
			return respond(req, http.StatusServiceUnavailable, "try again at "+time.Now().String())
		})
		w.says(hr, "two")
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInterrupted, "has been unavailable since ", "The 'upgrade' action will be resumed")
		first := condition(hr, helmv2.ConditionReady)
		if lasted := time.Since(began); lasted < 30*time.Second || lasted > 3*time.Minute || !strings.Contains(first.Message, first.LastTransitionTime.UTC().Format(time.RFC3339)) {
			t.Errorf("reported after %s: %+v", lasted, first)
		}
		for range 20 {
			time.Sleep(time.Minute)
			w.read(hr)
			if again := condition(hr, helmv2.ConditionReady); again.Message != first.Message || !again.LastTransitionTime.Equal(&first.LastTransitionTime) {
				t.Fatalf("in the outage, Ready becomes %+v, before %+v", again, first)
			}
		}
		w.up()
		if took := w.untilMessage("app", "two"); took > time.Minute {
			t.Errorf("the upgrade follows %s after the outage", took)
		}
		w.untilReady(hr)
		if s := hr.Status; s.Failures != 0 || s.UpgradeFailures != 0 || newest(hr) != 2 {
			t.Errorf("newest revision %d, %d and %d failures", newest(hr), s.Failures, s.UpgradeFailures)
		}
		time.Sleep(time.Minute)
		for reason, want := range map[string]int{helmv2.ReasonInterrupted: 1, helmv2.ReasonUpgradeSucceeded: 1, helmv2.ReasonUpgradeFailed: 0, helmv2.ReasonStateError: 0} {
			if got := w.events(reason); len(got) != want {
				t.Errorf("events %s: %q", reason, got)
			}
		}
	})
}

// TestLastingErrorFails: an upgrade fails, and is counted, if the API server answers one of its
// requests with the same error for as long as the budget lasts, and all others well.
func TestLastingErrorFails(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilReady(hr)
		w.answers(func(req *http.Request) *http.Response {
			if applies(req, "app") {
				return respond(req, http.StatusInternalServerError, "injected")
			}
			return nil
		})
		w.says(hr, "two")
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonUpgradeFailed)
		w.untilCondition(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded)
		time.Sleep(time.Minute)
		if w.read(hr); hr.Status.UpgradeFailures != 1 || len(w.events(helmv2.ReasonInterrupted)) != 0 {
			t.Errorf("%d failures are counted, interruptions: %q", hr.Status.UpgradeFailures, w.events(helmv2.ReasonInterrupted))
		}
	})
}

// TestRetryAfter: a request with status 429 is repeated after the time in Retry-After.
func TestRetryAfter(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		var tries []time.Time
		w.answers(func(req *http.Request) *http.Response {
			if !applies(req, "app") {
				return nil
			}
			if tries = append(tries, time.Now()); len(tries) > 1 {
				return nil
			}
			resp := respond(req, http.StatusTooManyRequests, "later")
			resp.Header.Set("Retry-After", "7")
			return resp
		})
		hr := w.release("app", "one")
		w.untilReady(hr)
		if len(tries) != 2 || tries[1].Sub(tries[0]) < 7*time.Second || tries[1].Sub(tries[0]) > 10*time.Second {
			t.Errorf("tries at %v", tries)
		}
	})
}

// TestWaitingGivesWay: a controller that runs one action at a time runs the next one while the first
// waits to repeat a request.
func TestWaitingGivesWay(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start(func(s *settings) { s.concurrent = 1 })
		w.publish("first", "1.0.0", w.note("1.0.0"))
		w.publish("second", "1.0.0", w.note("1.0.0"))
		away := make(chan struct{})
		w.answers(func(req *http.Request) *http.Response {
			if applies(req, "first") && req.Method == http.MethodPatch {
				select {
				case <-away:
				default:
					return respond(req, http.StatusServiceUnavailable, "away")
				}
			}
			return nil
		})
		first := w.release("first", "one")
		time.Sleep(5 * time.Second)
		second := w.release("second", "one")
		if w.untilReady(second); time.Since(second.CreationTimestamp.Time) > 15*time.Second {
			t.Errorf("the second is installed after %s", time.Since(second.CreationTimestamp.Time))
		}
		if w.read(first); condition(first, helmv2.ConditionReady).Status != metav1.ConditionUnknown {
			t.Errorf("meanwhile the first is %+v", condition(first, helmv2.ConditionReady))
		}
		close(away)
		if w.untilReady(first); first.Status.Failures != 0 || newest(first) != 1 {
			t.Errorf("%+v", first.Status)
		}
	})
}

// TestUnrecordedInstall: an install whose last record update is rejected is reported as failed. It is
// resumed, and succeeds under the same revision number once the update is accepted.
func TestUnrecordedInstall(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		refused := false
		w.answers(func(req *http.Request) *http.Response {
			if req.Method == http.MethodPut && strings.Contains(req.URL.Path, "/secrets/sh.helm") && !refused {
				refused = true
				return respond(req, http.StatusForbidden, "refused")
			}
			return nil
		})
		hr := w.release("app", "one")
		w.until("a failure", func() bool { return len(w.events(helmv2.ReasonInstallFailed)) == 1 })
		if said := w.events(helmv2.ReasonInstallFailed)[0]; !strings.Contains(said, "the result could not be recorded: revision 1") {
			t.Errorf("the event is %q", said)
		}
		w.untilReady(hr)
		w.quiet(time.Hour)
		if hr.Status.InstallFailures != 1 || newest(hr) != 1 || len(w.events(helmv2.ReasonInstallSucceeded)) != 1 {
			t.Errorf("%+v", hr.Status)
		}
	})
}

// TestHookTimeoutInOutage: the timeout of a hook goes on while the API server does not answer. A hook
// that ends during the outage has ended in time if the read after the outage shows that.
func TestHookTimeoutInOutage(t *testing.T) {
	// An outage of 30 s interrupts the action.
	const timeout = 18 * time.Second
	for name, completes := range map[string]bool{"Running": false, "Completed": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.start()
				w.publish("app", "1.0.0", w.chart("1.0.0", map[string]string{"templates/hook.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: app, annotations: {helm.sh/hook: pre-install}}\n" +
					"spec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: a, image: none}]\n"}))
				hr := w.release("app", "", func(hr *helmv2.HelmRelease) {
					hr.Spec.Timeout = &metav1.Duration{Duration: timeout}
					hr.Spec.Install = &helmv2.Install{DisableOpenAPIValidation: true}
				})
				job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}
				w.until("the hook", func() bool { return w.client.Get(t.Context(), client.ObjectKeyFromObject(job), job) == nil })
				time.Sleep(time.Second)
				w.down()
				if completes {
					w.api.Change("/apis/batch/v1/namespaces/apps/jobs/app", func(u *unstructured.Unstructured) {
						u.Object["status"] = map[string]any{"succeeded": int64(1), "conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
					})
				}
				time.Sleep(timeout)
				w.up()
				if completes {
					w.untilReady(hr)
					return
				}
				ended := time.Now()
				w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInstallFailed, "failed pre-install", "timeout waiting for", "Job/apps/app")
				// The hook is not granted the time of the outage in addition.
				if after := time.Since(ended); after > timeout*2/3 {
					t.Errorf("the install ends %s after the outage", after)
				}
			})
		})
	}
}
