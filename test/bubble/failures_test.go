// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/metrics"
)

// refuses makes the API server reject applies of the ConfigMap of a release.
func (w *world) refuses(name string) {
	w.answers(func(req *http.Request) *http.Response {
		if applies(req, name) {
			return respond(req, http.StatusUnprocessableEntity, "data: not like this")
		}
		return nil
	})
}

// denies makes a webhook deny applies of the ConfigMap of a release: only their dry runs, or all.
func (w *world) denies(name string, all bool) {
	w.answers(func(req *http.Request) *http.Response {
		dryRun := req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/configmaps/"+name) && req.URL.Query().Has("dryRun")
		if dryRun || all && applies(req, name) {
			return respond(req, http.StatusForbidden, `admission webhook "a.example.com" denied the request: not like this`)
		}
		return nil
	})
}

// TestDeniedDryRuns: an action without retries that dry runs deny is tried all the same after 15 s, also
// by another process. There is one event for the denial, and one for a failure after it.
func TestDeniedDryRuns(t *testing.T) {
	inBubble(t, func(w *world) {
		stop := w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		w.denies("app", false)
		hr := w.release("app", "one")
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonDryRunDenied, "not like this", "Nothing was changed")
		if took := w.untilMessage("app", "one"); took < 15*time.Second || took > 16*time.Second {
			t.Errorf("it is tried after %s", took)
		}
		w.untilReady(hr)

		w.says(hr, "two")
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonDryRunDenied)
		stop()
		w.start()
		w.untilMessage("app", "two")
		w.untilReady(hr)
		if s := hr.Status; s.Failures+s.InstallFailures+s.UpgradeFailures > 0 || newest(hr) != 2 || len(w.events(helmv2.ReasonDryRunDenied)) != 2 {
			t.Errorf("revision %d, status %+v, events %q", newest(hr), s, w.events(helmv2.ReasonDryRunDenied))
		}

		w.denies("app", true)
		w.says(hr, "three")
		w.untilCondition(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded, "Failed to upgrade after 1 attempt(s)", "not like this")
		time.Sleep(time.Minute)
		w.quiet(time.Hour)
		if denied, failed := w.events(helmv2.ReasonDryRunDenied), w.events(helmv2.ReasonUpgradeFailed); len(denied) != 3 || len(failed) != 1 {
			t.Errorf("events %q and %q", denied, failed)
		}
	})
}

// TestRetryOnFailure: an upgrade that fails is tried again at its retry interval, without a limit.
func TestRetryOnFailure(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one", func(hr *helmv2.HelmRelease) {
			hr.Spec.Upgrade = &helmv2.Upgrade{Strategy: &helmv2.UpgradeStrategy{Name: "RetryOnFailure", RetryInterval: &metav1.Duration{Duration: 10 * time.Minute}}}
		})
		w.untilReady(hr)
		w.refuses("app")
		w.says(hr, "two")
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonUpgradeFailed, "not like this")
		began := hr.Status.UpgradeFailures
		time.Sleep(65 * time.Minute)
		if w.read(hr); hr.Status.UpgradeFailures-began != 6 {
			t.Errorf("%d upgrades in 65 minutes", hr.Status.UpgradeFailures-began)
		}
		w.up()
		if took := w.untilMessage("app", "two"); took > 10*time.Minute {
			t.Errorf("it is upgraded after %s", took)
		}
		w.untilReady(hr)
		w.quiet(3 * time.Hour)
	})
}

// TestRemediation: an upgrade that fails is rolled back and retried, and then stalls until its spec
// changes or its counters are reset. While it is stalled, nothing is written.
func TestRemediation(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one", func(hr *helmv2.HelmRelease) {
			hr.Spec.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{Retries: 2, RemediateLastFailure: new(true)}}
		})
		w.untilReady(hr)
		w.answers(func(req *http.Request) *http.Response {
			if !applies(req, "app") {
				return nil
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				t.Error(err)
			}
			if req.Body = io.NopCloser(strings.NewReader(string(body))); !strings.Contains(string(body), "two") {
				return nil
			}
			return respond(req, http.StatusUnprocessableEntity, "data: not like this")
		})
		w.says(hr, "two")
		w.untilCondition(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded, "Failed to upgrade after 3 attempt(s)")
		w.untilCondition(hr, helmv2.ConditionRemediated, metav1.ConditionTrue, helmv2.ReasonRollbackSucceeded)
		if got := w.message("app"); got != "one" || hr.Status.UpgradeFailures != 3 {
			t.Errorf("it says %q after %d failures", got, hr.Status.UpgradeFailures)
		}
		time.Sleep(time.Minute)
		w.quiet(5 * time.Hour)
		w.ask(hr, "plain")
		w.quiet(5 * time.Hour)
		w.ask(hr, "reset", helmv2.AnnotationResetRequest)
		w.untilCondition(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded, "Failed to upgrade after 3 attempt(s)")
		time.Sleep(time.Minute)
		if n := len(w.events(helmv2.ReasonUpgradeFailed)); n != 6 {
			t.Errorf("%d failed upgrades after a reset", n)
		}
		w.says(hr, "three")
		if took := w.untilMessage("app", "three"); took > 10*time.Second {
			t.Errorf("the new spec is tried after %s", took)
		}
		w.untilReady(hr)
	})
}

// notifications returns a sender, and the events of a reason that its receiver has accepted. While
// away is true, the receiver does not accept any.
func (w *world) notifications(reason string) (sender *events.Sender, posted func() []eventv1.Event, away *atomic.Bool) {
	w.Helper()
	m, err := metrics.New(prometheus.NewRegistry())
	w.must(err)
	var all []eventv1.Event
	away = &atomic.Bool{}
	sender = events.NewSender(w.Context(), events.Options{
		URL: "http://notifications", Controller: helmv2.ControllerName, Instance: "bubble", Flush: 5 * time.Second, Observer: m, Log: logr.Discard(), Now: time.Now,
		Base: roundTripper(func(req *http.Request) (*http.Response, error) {
			if away.Load() {
				return respond(req, http.StatusServiceUnavailable, "away"), nil
			}
			var e eventv1.Event
			if err := json.NewDecoder(req.Body).Decode(&e); err != nil {
				return nil, err
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if e.Reason == reason {
				all = append(all, e)
			}
			return respond(req, http.StatusAccepted, ""), nil
		}),
	})
	w.Cleanup(sender.Close)
	posted = func() []eventv1.Event {
		w.mu.Lock()
		defer w.mu.Unlock()
		return all
	}
	return sender, posted, away
}

type roundTripper func(req *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// TestNotificationsAreRepeated: an event is posted again while the receiver does not accept it.
func TestNotificationsAreRepeated(t *testing.T) {
	inBubble(t, func(w *world) {
		sender, posted, away := w.notifications(helmv2.ReasonInstallSucceeded)
		w.start(func(s *settings) { s.notifications = sender })
		w.publish("app", "1.0.0", w.note("1.0.0"))
		away.Store(true)
		w.untilReady(w.release("app", "one"))
		time.Sleep(5 * time.Second)
		away.Store(false)
		time.Sleep(time.Minute)
		if len(posted()) != 1 || posted()[0].InvolvedObject.Name != "app" {
			t.Errorf("posted are %+v", posted())
		}
	})
}

// TestEqualFailuresAreOneAlert: equal failures are events with equal messages, by which
// notification-controller recognizes repetitions, and one Event with a count. The names of Pods and
// their logs, which differ, are in annotations.
func TestEqualFailuresAreOneAlert(t *testing.T) {
	inBubble(t, func(w *world) {
		sender, posted, _ := w.notifications(helmv2.ReasonInstallFailed)
		w.start(func(s *settings) { s.notifications = sender })
		w.publish("app", "1.0.0", w.chart("1.0.0", map[string]string{"templates/all.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\n" +
			"spec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: a, image: none}]}\n"}))
		hr := w.release("app", "", func(hr *helmv2.HelmRelease) {
			hr.Spec.Timeout = &metav1.Duration{Duration: 15 * time.Minute}
			hr.Spec.Install = &helmv2.Install{DisableOpenAPIValidation: true, Remediation: &helmv2.InstallRemediation{Retries: 2}}
		})
		w.untilCondition(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded)
		// Three attempts expire.
		if lasted := w.now(); lasted < 45*time.Minute || lasted > 50*time.Minute {
			t.Errorf("it is stalled after %s", lasted)
		}
		time.Sleep(time.Minute)
		if len(posted()) != 3 {
			t.Fatalf("posted are %+v", posted())
		}
		for _, e := range posted() {
			if e.Message != posted()[0].Message || !strings.Contains(e.Message, "Deployment/apps/app") {
				t.Errorf("the messages are\n%s\nand\n%s", e.Message, posted()[0].Message)
			}
		}
		w.expectOneEvent("app", helmv2.ReasonInstallFailed, 3)
	})
}

// expectOneEvent expects one Event of a reason with a minimum of its count.
func (w *world) expectOneEvent(name, reason string, least int32) {
	w.Helper()
	var all corev1.EventList
	w.must(w.client.List(w.Context(), &all, client.InNamespace(namespace)))
	var counts []int32
	for _, e := range all.Items {
		if e.InvolvedObject.Name == name && e.Reason == reason {
			counts = append(counts, max(e.Count, 1))
		}
	}
	if len(counts) != 1 || counts[0] < least {
		w.Errorf("Events %s of %s have the counts %v, want one of at least %d", reason, name, counts, least)
	}
}

// TestRejectedActionsAreOneAlert: an action that is rejected again and again is one Event, whose count
// rises, and one notification.
func TestRejectedActionsAreOneAlert(t *testing.T) {
	inBubble(t, func(w *world) {
		sender, posted, _ := w.notifications(helmv2.ReasonInstallFailed)
		w.start(func(s *settings) { s.notifications = sender })
		w.publish("app", "1.0.0", w.chart("1.0.0", map[string]string{"templates/all.yaml": `{{ fail "no license" }}`}))
		hr := w.release("app", "", func(hr *helmv2.HelmRelease) {
			hr.Spec.Install = &helmv2.Install{Remediation: &helmv2.InstallRemediation{Retries: 1}}
		})
		w.untilCondition(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded, "no license")
		time.Sleep(3 * time.Hour)
		w.expectOneEvent("app", helmv2.ReasonInstallFailed, 3)
		if len(posted()) != 1 {
			t.Errorf("%d notifications", len(posted()))
		}
	})
}
