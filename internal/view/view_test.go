// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

var now = time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)

func condition(kind, status, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))}
}

// TestRunbook: the section exists that views link to.
func TestRunbook(t *testing.T) {
	page, anchor, _ := strings.Cut(Runbook, "#")
	raw, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.ToLower(string(raw)), "\n## "+strings.ReplaceAll(anchor, "-", " ")+"\n") {
		t.Errorf("%s has no section %s", page, anchor)
	}
}

// TestExplainShowsConditions: what happens next is the message of the condition, since only the
// controller knows its feature gates and flags. Commands follow from the state and its reason.
func TestExplainShowsConditions(t *testing.T) {
	const web = "web -n apps"
	said := func(kind, status, reason, text string) metav1.Condition {
		c := condition(kind, status, reason)
		c.Message = text
		return c
	}
	failed := said(helmv2.ConditionReady, "False", helmv2.ReasonUpgradeFailed, "Helm upgrade failed. It is retried in 5m")
	for name, tc := range map[string]struct {
		edit     func(hr *helmv2.HelmRelease)
		message  string
		commands []string
	}{
		"retried by a feature gate": {func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions, hr.Status.UpgradeFailures = []metav1.Condition{failed}, 1
		}, failed.Message, nil},
		"stalled": {func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = []metav1.Condition{failed, said(helmv2.ConditionStalled, "True", helmv2.ReasonRetriesExceeded, "stalled")}
		}, failed.Message, []string{"kubectl pintle reconcile " + web + " --reset"}},
		"awaits approval": {func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = []metav1.Condition{said(helmv2.ConditionReady, "Unknown", helmv2.ReasonAwaitingApproval, "awaits approval")}
		}, "awaits approval", []string{"kubectl pintle plan " + web, "kubectl pintle approve " + web}},
		"awaits a window": {func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = []metav1.Condition{said(helmv2.ConditionReady, "Unknown", helmv2.ReasonAwaitingWindow, "closed")}
		}, "closed", []string{"kubectl pintle plan " + web, "kubectl pintle override " + web + " --reason '...'"}},
		"frozen": {func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = []metav1.Condition{said(helmv2.ConditionReady, "Unknown", helmv2.ReasonFrozen, "frozen")}
		}, "frozen", []string{"kubectl pintle plan " + web + " --request", "kubectl pintle override " + web + " --reason '...'"}},
		"suspended": {func(hr *helmv2.HelmRelease) {
			hr.Spec.Suspend = true
			hr.Status.Conditions = []metav1.Condition{failed, said(helmv2.ConditionSuspended, "True", "Suspended", "suspended by a user")}
		}, "suspended by a user", []string{"kubectl pintle resume " + web}},
		"suspended by an older version": {func(hr *helmv2.HelmRelease) {
			hr.Spec.Suspend, hr.Status.Conditions = true, []metav1.Condition{failed}
		}, failed.Message, []string{"kubectl pintle resume " + web}},
		"rejected": {func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = []metav1.Condition{
				said(helmv2.ConditionReady, "False", helmv2.ReasonRejected, "rejected by jane"), said(helmv2.ConditionStalled, "True", helmv2.ReasonRejected, "rejected by jane"),
			}
		}, "rejected by jane", []string{"kubectl pintle plan " + web}},
		"held": {func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = []metav1.Condition{
				said(helmv2.ConditionReady, "Unknown", helmv2.ReasonRolledBack, "held"), said(helmv2.ConditionRolledBack, "True", helmv2.ReasonRolledBack, "held"),
			}
		}, "held", []string{"kubectl pintle unhold " + web}},
		"new": {func(hr *helmv2.HelmRelease) { hr.Status.Conditions = nil }, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", Generation: 1}}
			hr.Status.ObservedGeneration = 1
			tc.edit(hr)
			got := Explain(Facts{Release: hr, Lookup: LookupIn(nil), Now: now})
			if got.Message != tc.message || !slices.Equal(got.Commands, tc.commands) {
				t.Errorf("%q, %q", got.Message, got.Commands)
			}
		})
	}
}

func TestStateOf(t *testing.T) {
	ready := condition(helmv2.ConditionReady, "True", helmv2.ReasonUpgradeSucceeded)
	failed := condition(helmv2.ConditionReady, "False", helmv2.ReasonUpgradeFailed)
	deleted := metav1.NewTime(now)
	for _, tc := range []struct {
		name string
		edit func(hr *helmv2.HelmRelease)
		want State
	}{
		{"new", func(hr *helmv2.HelmRelease) { hr.Status = helmv2.HelmReleaseStatus{ObservedGeneration: -1} }, Progressing},
		{"ready", func(*helmv2.HelmRelease) {}, Ready},
		{"ready for an earlier spec", func(hr *helmv2.HelmRelease) { hr.Generation = 2 }, Progressing},
		{"ready, and an action runs", func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = append(hr.Status.Conditions, condition(helmv2.ConditionReconciling, "True", helmv2.ReasonProgressing))
		}, Progressing},
		{"failed", func(hr *helmv2.HelmRelease) { hr.Status.Conditions = []metav1.Condition{failed} }, Failing},
		{"failed, stalled", func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = []metav1.Condition{failed, condition(helmv2.ConditionStalled, "True", helmv2.ReasonRetriesExceeded)}
		}, Stalled},
		{"waits", func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = []metav1.Condition{condition(helmv2.ConditionReady, "False", helmv2.ReasonAwaitingApproval)}
		}, Waiting},
		{"the source waits", func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = []metav1.Condition{condition(helmv2.ConditionReady, "False", helmv2.ReasonSourceNotReady)}
		}, Waiting},
		{"the source has failed", func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = []metav1.Condition{
				condition(helmv2.ConditionReady, "False", helmv2.ReasonSourceNotReady), condition(helmv2.ConditionFailing, "True", helmv2.FailureSource),
			}
		}, Failing},
		{"an Operation has the lock", func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = append(hr.Status.Conditions, condition(helmv2.ConditionLocked, "True", helmv2.ReasonOperationRunning))
		}, Waiting},
		{"held, and the spec requests another state", func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = []metav1.Condition{condition(helmv2.ConditionReady, "Unknown", helmv2.ReasonRolledBack), condition(helmv2.ConditionRolledBack, "True", helmv2.ReasonRolledBack)}
		}, Held},
		{"rejected", func(hr *helmv2.HelmRelease) {
			hr.Status.Conditions = []metav1.Condition{condition(helmv2.ConditionReady, "False", helmv2.ReasonRejected), condition(helmv2.ConditionStalled, "True", helmv2.ReasonRejected)}
		}, Rejected},
		{"suspended by spec", func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true }, Suspended},
		{"suspended by annotation", func(hr *helmv2.HelmRelease) { hr.Annotations = map[string]string{helmv2.AnnotationSuspend: "why"} }, Suspended},
		{"suspension is over", func(hr *helmv2.HelmRelease) {
			hr.Annotations = map[string]string{helmv2.AnnotationSuspend: "why", helmv2.AnnotationSuspendUntil: "2026-01-02T14:00:00Z"}
			// helm-controller leaves the condition.
			hr.Status.Conditions = append(hr.Status.Conditions, condition(helmv2.ConditionSuspended, "True", helmv2.ReasonSuspended))
		}, Ready},
		{"deleted", func(hr *helmv2.HelmRelease) { hr.DeletionTimestamp = &deleted }, Deleting},
	} {
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Status: helmv2.HelmReleaseStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{ready}}}
		tc.edit(hr)
		if got := StateOf(hr, now); got != tc.want {
			t.Errorf("%s: the state is %s, not %s", tc.name, got, tc.want)
		}
	}
}

func TestInventory(t *testing.T) {
	status := &helmv2.HelmReleaseStatus{Inventory: &helmv2.ResourceInventory{Entries: []helmv2.ResourceRef{
		{ID: "apps_web_apps_Deployment", Version: "v1"},
		{ID: "apps_web__Service", Version: "v1"},
		{ID: "_system__web_rbac.authorization.k8s.io_ClusterRole", Version: "v1"},
		{ID: "broken", Version: "v1"},
	}}}
	var got []string
	for _, o := range Inventory(status) {
		got = append(got, o.Group+" "+o.String())
	}
	want := "apps Deployment apps/web| Service apps/web|rbac.authorization.k8s.io ClusterRole system:web"
	if text := strings.Join(got, "|"); text != want {
		t.Errorf("the objects are %s", text)
	}
}

// TestNextOfDrift: the sentence follows the mode of the detection of drift.
func TestNextOfDrift(t *testing.T) {
	for mode, want := range map[helmv2.DriftDetectionMode]string{"": "is disabled.", helmv2.DriftDetectionWarn: "is warn.", helmv2.DriftDetectionEnabled: "sets these fields"} {
		hr := &helmv2.HelmRelease{Spec: helmv2.HelmReleaseSpec{DriftDetection: &helmv2.DriftDetection{Mode: mode}}}
		if got := NextOfDrift(hr); !strings.Contains(got, want) {
			t.Errorf("%q: %s", mode, got)
		}
		hr.Spec.Suspend = true
		if got := NextOfDrift(hr); !strings.Contains(got, "suspended") {
			t.Errorf("%q, suspended: %s", mode, got)
		}
	}
}

// TestCauseWithoutRecord: earlier versions and helm-controller record no cause. Then it is what fails in the
// cluster now, unless the release waits.
func TestCauseWithoutRecord(t *testing.T) {
	d := &release.Diagnosis{Code: helmv2.FailureCrashLoop, Summary: "it crashes"}
	for reason, want := range map[string]bool{helmv2.ReasonUpgradeFailed: true, helmv2.ReasonAwaitingApproval: false} {
		hr := &helmv2.HelmRelease{Status: helmv2.HelmReleaseStatus{Conditions: []metav1.Condition{condition(helmv2.ConditionReady, "False", reason)}}}
		if w := Explain(Facts{Release: hr, Diagnosis: d, Now: now}); (w.Cause != nil) != want {
			t.Errorf("%s: the cause is %+v", reason, w.Cause)
		}
	}
}

// TestSourceOfATemplate: the source of an OCIRepository of its own is this OCIRepository, also for waits.
func TestSourceOfATemplate(t *testing.T) {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	hr.Spec.Chart = &helmv2.HelmChartTemplate{Kind: helmv2.KindOCIRepository, Spec: helmv2.HelmChartTemplateSpec{URL: "oci://registry/web"}}
	want := Object{Kind: "OCIRepository", Namespace: "apps", Name: "apps-web"}
	if got := Source(hr); got != want || artifactSource(hr) != want {
		t.Errorf("source %v, artifact of %v", got, artifactSource(hr))
	}
}

// TestSourceFailed: a chart that cannot be fetched is a failure of the HelmChart, and no wait for its
// repository. A chart that was not fetched yet is awaited.
func TestSourceFailed(t *testing.T) {
	const text = "HelmChart 'apps/apps-web' is not ready: no 'web' chart with version matching '9.9.9' found"
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", Generation: 1}}
	hr.Spec.Chart = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{Chart: "web", SourceRef: helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "charts"}}}
	ready := condition(helmv2.ConditionReady, "False", helmv2.ReasonSourceNotReady)
	ready.Message = text
	hr.Status.Conditions = []metav1.Condition{ready}
	if r := ReleaseOf(hr, LookupIn(nil), now); r.State != Waiting || r.WaitingFor != "HelmChart apps/apps-web" {
		t.Errorf("before the first fetch: %s, waiting for %q", r.State, r.WaitingFor)
	}
	failing := condition(helmv2.ConditionFailing, "True", helmv2.FailureSource)
	failing.Message = text
	hr.Status.Conditions = append(hr.Status.Conditions, failing)
	why := Explain(Facts{Release: hr, Lookup: LookupIn(nil), Now: now})
	if r := why.Release; r.State != Failing || r.WaitingFor != "" || r.Cause != helmv2.FailureSource || why.Cause == nil || why.Cause.Summary != text || why.Message != text {
		t.Errorf("after a fetch that failed: %+v, cause %+v", why, why.Cause)
	}
}

// TestUntold: of a text, the sentences are returned that the cause, the message and the running action
// do not have.
func TestUntold(t *testing.T) {
	w := &Why{
		Cause:   &Cause{Summary: "Deployment web: out of memory"},
		Message: "Upgrade to web 2 failed. Fix the chart. No retries are left.\nHelm upgrade failed: timed out",
		Running: &Running{Action: "Running 'upgrade' action"},
	}
	for text, want := range map[string]string{
		"":                                     "",
		w.Message:                              "",
		w.Cause.Summary:                        "",
		w.Running.Action + ".":                 "",
		w.Message + "\nFailed after 1 attempt": "Failed after 1 attempt",
		"Fix the chart. Ask the owner. No retries are left.": "Ask the owner",
		"One. Two.\nThree": "One. Two.\nThree",
	} {
		if got := w.Untold(text); got != want {
			t.Errorf("of %q it is %q, not %q", text, got, want)
		}
	}
}

// TestLogsOf: the logs of containers and of Helm are told apart. Text without headings stays one log.
func TestLogsOf(t *testing.T) {
	for text, want := range map[string][]Log{
		"": nil,
		"Last log lines of container main of Pod web-1:\n\none\n\nLast Helm logs:\n\ntwo\nthree": {
			{Pod: "web-1", Container: "main", Lines: []string{"one"}}, {Helm: true, Lines: []string{"two", "three"}},
		},
		"one\ntwo": {{Lines: []string{"one", "two"}}},
	} {
		if diff := cmp.Diff(want, logsOf(text)); diff != "" {
			t.Errorf("of %q (-want +got):\n%s", text, diff)
		}
	}
}
