// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/metrics"
)

// receive returns a sender of notifications, and the events at its receiver, which needs some time
// for each.
func (w *world) receive(takes time.Duration) (*events.Sender, chan eventv1.Event, string) {
	w.t.Helper()
	posted := make(chan eventv1.Event, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		var e eventv1.Event
		body, err := io.ReadAll(req.Body)
		suite.canaries.Read("notification", "to "+w.t.Name(), string(body))
		if err != nil || json.Unmarshal(body, &e) != nil {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		time.Sleep(takes)
		posted <- e
		rw.WriteHeader(http.StatusAccepted)
	}))
	w.t.Cleanup(receiver.Close)
	m, err := metrics.New(prometheus.NewRegistry())
	w.must(err)
	host, err := os.Hostname()
	w.must(err)
	sender := events.NewSender(w.t.Context(), events.Options{
		URL: receiver.URL, Controller: helmv2.ControllerName, Instance: host, Flush: 5 * time.Second, Observer: m, Log: logr.Discard(), Now: time.Now,
	})
	w.t.Cleanup(sender.Close)
	return sender, posted, host
}

// TestNotifications: events of a HelmRelease are posted to a slow receiver, with the annotations of
// the HelmRelease.
func TestNotifications(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sender, posted, host := w.receive(100 * time.Millisecond)
	ours := w.ownController(config{notifications: sender})
	hr := w.release("web", nil, ours, needs(helmv2.DependencyReference{Name: "missing"}), func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{"event.toolkit.fluxcd.io/team": "web"}
	})
	w.untilEvent(hr, corev1.EventTypeNormal, helmv2.ReasonDependencyNotReady, "missing")
	e := <-posted
	if e.Reason != helmv2.ReasonDependencyNotReady || e.Severity != eventv1.EventSeverityInfo || e.InvolvedObject.UID != hr.UID ||
		e.InvolvedObject.Kind != helmv2.HelmReleaseKind || e.InvolvedObject.APIVersion != helmv2.GroupVersion.String() ||
		e.Metadata["event.toolkit.fluxcd.io/team"] != "web" || e.ReportingController != "helm-controller" || e.ReportingInstance != host ||
		e.Action != helmv2.EventActionCheckDependencies {
		t.Errorf("posted is %+v", e)
	}
	if e := w.event(hr, corev1.EventTypeNormal, helmv2.ReasonDependencyNotReady); e.Action != helmv2.EventActionCheckDependencies || len(e.Annotations) != 1 {
		t.Errorf("the Event has action %s and annotations %v", e.Action, e.Annotations)
	}
}

// crash simulates a kubelet. Every new Deployment app gets a Pod with another name and restart
// count, whose last log line begins with the time.
func (w *world) crash(ctx context.Context) error {
	var last types.UID
	for n := 1; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(20 * time.Millisecond):
		}
		var app appsv1.Deployment
		err := suite.client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "app"}, &app)
		if err != nil || app.UID == last {
			continue
		}
		last = app.UID
		if err := suite.client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(w.namespace)); err != nil {
			return unlessDone(ctx, err)
		}
		yes, name := true, fmt.Sprintf("app-1-x%d", n)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: w.namespace, Name: name, Labels: map[string]string{"a": "b"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "app-1", UID: "some", Controller: &yes}},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "none"}}},
		}
		if err := suite.client.Create(ctx, pod); err != nil {
			return unlessDone(ctx, err)
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "a", Image: "none", RestartCount: int32(n),
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 1, Reason: "Error", Message: time.Now().Format(time.RFC3339Nano) + " no license for " + name,
			}},
		}}
		if err := suite.client.Status().Update(ctx, pod); err != nil {
			return unlessDone(ctx, err)
		}
		n++
	}
}

// unlessDone returns the error of a request, nil if its context has ended.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the test has ended the request
	}
	return err
}

// TestEqualFailuresAreOneAlert: equal failures are events with equal messages, by which
// notification-controller recognizes repetitions. Their annotations have the differences.
func TestEqualFailuresAreOneAlert(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	sender, posted, _ := w.receive(0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.crash(ctx) }()
	w.publish("app", "1.0.0", pack(t, "note", "1.0.0", map[string]string{"templates/all.yaml": stageDeploy}))
	hr := w.release("app", nil, w.ownController(config{notifications: sender}), func(hr *helmv2.HelmRelease) {
		hr.Spec.Timeout = &metav1.Duration{Duration: 15 * time.Second}
		hr.Spec.Install = &helmv2.Install{Remediation: &helmv2.InstallRemediation{Retries: 2}}
	})
	w.untilSays(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded)
	cancel()
	w.must(<-done)
	var failures []eventv1.Event
	for len(failures) < 3 {
		if e := <-posted; e.Reason == helmv2.ReasonInstallFailed {
			failures = append(failures, e)
		}
	}
	for i, e := range failures {
		if e.Message != failures[0].Message || !strings.Contains(e.Message, "no license for app") {
			t.Errorf("the message of failure %d is\n%s\nand the first is\n%s", i, e.Message, failures[0].Message)
		}
		if said := fmt.Sprintf("no license for app-1-x%d", i+1); !strings.Contains(e.Metadata[helmv2.EventMetadataDetails], said) {
			t.Errorf("the details of failure %d lack %q: %s", i, said, e.Metadata[helmv2.EventMetadataDetails])
		}
		if !strings.Contains(e.Metadata[helmv2.EventMetadataLogs], "Last Helm logs:") {
			t.Errorf("the logs of failure %d are %q", i, e.Metadata[helmv2.EventMetadataLogs])
		}
	}
	w.until(hr, "three equal failures are one Event", func(hr *helmv2.HelmRelease) bool {
		var events corev1.EventList
		w.must(suite.client.List(t.Context(), &events, client.InNamespace(hr.Namespace)))
		events.Items = slices.DeleteFunc(events.Items, func(e corev1.Event) bool { return e.Reason != helmv2.ReasonInstallFailed })
		return len(events.Items) == 1 && events.Items[0].Count == 3
	})
}

// TestRejectedActionsAreOneAlert: an action that is rejected again and again is one Event, whose
// count rises, and one notification.
func TestRejectedActionsAreOneAlert(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	sender, posted, _ := w.receive(0)
	own := w.ownController(config{notifications: sender})
	w.publish("schema", "1.0.0", configMapChart(t, "1.0.0"))
	w.publish("template", "1.0.0", pack(t, "note", "1.0.0", map[string]string{
		"templates/all.yaml": `{{ fail "no license" }}`,
	}))
	w.publish("field", "1.0.0", pack(t, "note", "1.0.0", map[string]string{
		"templates/all.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  replicsa: 2\n" +
			"  selector: {matchLabels: {app: x}}\n  template:\n    metadata: {labels: {app: x}}\n    spec: {containers: [{name: main, image: x}]}\n",
	}))
	causes := map[string]string{"schema": "/message: got number, want string", "template": "no license", "field": "replicsa"}
	all := map[string]*helmv2.HelmRelease{}
	for name := range causes {
		var values map[string]any
		if name == "schema" {
			values = map[string]any{"message": 7}
		}
		all[name] = w.release(name, values, own, func(hr *helmv2.HelmRelease) {
			// The first attempts are counted, and those after the retries are not.
			hr.Spec.Install = &helmv2.Install{Remediation: &helmv2.InstallRemediation{Retries: 1}}
		})
	}
	for name, cause := range causes {
		w.untilSays(all[name], helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded, cause)
	}
	for name, cause := range causes {
		w.until(all[name], "one Event with a count", func(hr *helmv2.HelmRelease) bool {
			found := failureEvents(w, name)
			if len(found) != 1 {
				t.Errorf("%s: %d Events", name, len(found))
			}
			return len(found) == 1 && found[0].Count >= 3 && strings.Contains(found[0].Message, cause) && found[0].Action == helmv2.EventActionHelmInstall
		})
		t.Logf("%s: %d times: %s", name, failureEvents(w, name)[0].Count, failureEvents(w, name)[0].Message)
	}
	sender.Close()
	close(posted)
	notified := map[string]int{}
	for e := range posted {
		// A HelmRelease that is read before its source reports that as well.
		if e.Reason == helmv2.ReasonInstallFailed {
			notified[e.InvolvedObject.Name]++
		}
	}
	for name := range causes {
		if notified[name] != 1 {
			t.Errorf("%s: %d notifications", name, notified[name])
		}
	}
}

// failureEvents returns the Events about the failed install of a HelmRelease.
func failureEvents(w *world, name string) []corev1.Event {
	w.t.Helper()
	var all corev1.EventList
	w.must(suite.client.List(w.t.Context(), &all, client.InNamespace(w.namespace)))
	return slices.DeleteFunc(all.Items, func(e corev1.Event) bool {
		return e.Reason != helmv2.ReasonInstallFailed || e.InvolvedObject.Name != name
	})
}
