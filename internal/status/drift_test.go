// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

func driftedImage() release.DriftedField {
	return release.DriftedField{
		Path: `.spec.template.spec.containers[name="app"].image`, Pointer: "/spec/template/spec/containers/0/image", Kind: release.DriftChanged,
		Want: `"web:1"`, Have: `"web:2"`, Manager: "kubectl-set", Operation: "Update", Time: testNow,
	}
}

func driftedObjects() []release.DriftedObject {
	web := release.Object{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "apps", Name: "web"}
	role := release.Object{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Name: "web"}
	return []release.DriftedObject{
		{Object: release.Object{Version: "v1", Kind: "Service", Namespace: "apps", Name: "web"}, Removed: true},
		{Object: web, Fields: []release.DriftedField{driftedImage(), {
			Path: ".spec.replicas", Pointer: "/spec/replicas", Kind: release.DriftMissing, Want: "2",
		}}},
		{Object: role, Fields: []release.DriftedField{{
			Path: ".rules", Pointer: "/rules", Kind: release.DriftAdded, Have: "[]", Manager: "scaler", Operation: "Update", Subresource: "scale",
		}}},
	}
}

// TestDriftMessage: the message has helm-controller's line for each object, and below it the
// fields, their values and their managers. While corrections are paused it has no values.
func TestDriftMessage(t *testing.T) {
	found := release.Drift{
		Objects: driftedObjects(), Rendering: "the chart is rendered otherwise",
		Excluded: []release.Object{{Kind: "ConfigMap", Namespace: "apps", Name: "left"}},
		Errors:   []release.ObjectError{{Object: release.Object{Kind: "Secret", Namespace: "apps", Name: "denied"}, Err: "forbidden"}, {Err: "no such kind"}},
	}
	last := &helmv2.Snapshot{Namespace: "apps", Name: "web", Version: 3}
	want := `Cluster state of release apps/web.v3 has drifted from the desired state:
Service/apps/web removed
Deployment/apps/web changed (1 additions, 1 changes, 0 removals)
  .spec.template.spec.containers[name="app"].image: "web:2" instead of "web:1", by kubectl-set (Update) at 2026-01-01T12:00:00Z
  .spec.replicas: 2 is missing
ClusterRole/web changed (0 additions, 0 changes, 1 removals)
  .rules: [] was added, by scaler (Update of scale)
the chart is rendered otherwise
ConfigMap/apps/left excluded
cannot be compared: Secret/apps/denied: forbidden
cannot be compared: no such kind`
	if diff := cmp.Diff(want, driftMessage(last, found)); diff != "" {
		t.Errorf("drifted (-want +got):\n%s", diff)
	}
	want = `Cluster state of release apps/web.v3 drifts again after each correction, and is corrected less often:
Service/apps/web removed
Deployment/apps/web
  .spec.template.spec.containers[name="app"].image, by kubectl-set (Update)
  .spec.replicas
ClusterRole/web
  .rules, by scaler (Update of scale)
To ignore these fields:
driftDetection:
  ignore:
  - paths: ["/spec/template/spec/containers/0/image", "/spec/replicas"]
    target: {kind: Deployment, name: web}
  - paths: ["/rules"]
    target: {kind: ClusterRole, name: web}`
	if diff := cmp.Diff(want, pausedMessage(last, found)); diff != "" {
		t.Errorf("paused (-want +got):\n%s", diff)
	}
}

// TestDriftMessageIsBounded: the length of the messages does not grow with the number of objects.
func TestDriftMessageIsBounded(t *testing.T) {
	var found release.Drift
	for i := range 1000 {
		o := release.DriftedObject{Object: release.Object{Kind: "ConfigMap", Namespace: "apps", Name: fmt.Sprint("web", i)}}
		for range 100 {
			o.Fields = append(o.Fields, driftedImage())
		}
		found.Objects = append(found.Objects, o)
	}
	found.Ceded = found.Objects
	for name, message := range map[string]string{
		"drift": driftMessage(nil, found), "paused": pausedMessage(nil, found), "ceded": undriftedMessage(found), "corrected": correctedObjects(found.Objects),
	} {
		if len(message) >= maxMessage || !strings.Contains(message, "and 980 more") {
			t.Errorf("%s: %d bytes: %.200s", name, len(message), message)
		}
	}
}

func drifted(hr *helmv2.HelmRelease) metav1.Condition {
	if c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionDrifted); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// TestDriftedFollowsActions: an install whose objects the API server returned unchanged sets
// Drifted to False. It stays while the next action runs, and the failure of that removes it. If it
// is True, the start of the next action removes it.
func TestDriftedFollowsActions(t *testing.T) {
	install := func(exact bool) *helmv2.HelmRelease {
		hr := testObject()
		hr.Status = Finished(hr, release.Outcome{
			Action: release.Install{}, Desired: testDesired(), Revisions: []release.Revision{testRevision(1, helmv2.StatusDeployed)},
			Exact: exact, Started: testNow, Ended: testNow,
		}, testNow).Status
		return hr
	}
	if c := drifted(install(false)); c.Type != "" {
		t.Errorf("Drifted after an install with changed objects: %+v", c)
	}
	hr := install(true)
	if c := drifted(hr); c.Status != metav1.ConditionFalse || c.Reason != helmv2.ReasonNoDriftDetected {
		t.Errorf("Drifted after an install with unchanged objects: %+v", c)
	}
	upgrade := release.Decision{Action: release.Upgrade{}}
	hr.Status = Started(hr, upgrade, testDesired(), testNow).Status
	if c := drifted(hr); c.Status != metav1.ConditionFalse {
		t.Errorf("Drifted after the start of an upgrade: %+v", c)
	}
	failed := release.Outcome{
		Action: release.Upgrade{}, Desired: testDesired(), Revisions: []release.Revision{testRevision(2, helmv2.StatusFailed)},
		Err: errors.New("it broke"), Started: testNow, Ended: testNow,
	}
	if after := Finished(hr, failed, testNow); hasCondition(after.Status.Conditions, helmv2.ConditionDrifted) {
		t.Error("Drifted stays after a failed upgrade")
	}
	apimeta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{Type: helmv2.ConditionDrifted, Status: metav1.ConditionTrue, Reason: helmv2.ReasonDriftDetected, Message: "x"})
	if after := Started(hr, upgrade, testDesired(), testNow); hasCondition(after.Status.Conditions, helmv2.ConditionDrifted) {
		t.Error("Drifted stays True after the start of an upgrade")
	}
}

func hasCondition(all []metav1.Condition, kind string) bool {
	return apimeta.FindStatusCondition(all, kind) != nil
}

// TestCorrectionFailed: the event lists objects that could not be corrected and those that were. A
// repeated failure has no event, and Ready does not change.
func TestCorrectionFailed(t *testing.T) {
	objects := driftedObjects()
	hr := testObject()
	o := release.Outcome{
		Action: release.CorrectDrift{Drift: release.Drift{Objects: objects}}, Desired: testDesired(), Corrected: objects,
		Failed: []release.ObjectError{{Object: objects[1].Object, Err: "immutable"}}, Started: testNow, Ended: testNow,
	}
	r := Finished(hr, o, testNow)
	const want = `Failed to partially correct cluster state of release apps/web.v1: Deployment/apps/web: immutable
Corrected:
Service/apps/web created
ClusterRole/web patched`
	if len(r.Events) != 1 || r.Events[0].Reason != helmv2.ReasonDriftCorrectionFailed || r.Events[0].Message != want {
		t.Errorf("events: %+v", r.Events)
	}
	if ready := apimeta.FindStatusCondition(r.Status.Conditions, helmv2.ConditionReady); ready.Status != metav1.ConditionTrue {
		t.Errorf("Ready changed: %+v", ready)
	}
	if r.Retry != release.Backoff() {
		t.Errorf("retry %+v, want back-off", r.Retry)
	}
	hr.Status = r.Status
	if again := Finished(hr, o, testNow.Add(time.Minute)); len(again.Events) != 0 {
		t.Errorf("events of the same failure: %+v", again.Events)
	}
	o.Failed = append(o.Failed, release.ObjectError{Object: objects[0].Object, Err: "no"}, release.ObjectError{Object: objects[2].Object, Err: "no"})
	if r := Finished(hr, o, testNow); !strings.HasPrefix(r.Events[0].Message, "Failed to correct cluster state of release apps/web.v1: ") || strings.Contains(r.Events[0].Message, "Corrected") {
		t.Errorf("message without corrected objects: %q", r.Events[0].Message)
	}
}

// TestUnwatchedKinds: the message without drift names the kinds that must not be watched. It is stable,
// and stays while that is not known.
func TestUnwatchedKinds(t *testing.T) {
	hr := testObject()
	look := func(d release.Drift) string {
		in := release.Input{Desired: testDesired(), Now: testNow, Observed: release.Observed{Drift: &d}}
		c := conditionsOf(hr, &hr.Status, hr.Generation, testNow)
		reportDrift(&Report{}, &c, nil, in)
		hr.Status.Conditions = c.list
		return c.get(helmv2.ConditionDrifted).Message
	}
	const noted = noDrift + "\nNot watched, because the controller lacks the right: configmaps, deployments.apps. These objects are compared every 10m (spec.interval), and on request"
	for _, tc := range []struct {
		reason string
		found  release.Drift
		want   string
	}{
		{"the first comparison", release.Drift{WatchUnknown: true}, noDrift},
		{"kinds must not be watched", release.Drift{Unwatched: []string{"configmaps", "deployments.apps"}}, noted},
		{"after a restart", release.Drift{WatchUnknown: true}, noted},
		{"the right was granted", release.Drift{}, noDrift},
	} {
		if got := look(tc.found); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
		}
	}
}
