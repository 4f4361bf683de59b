// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helmchart"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestHelmChart: the conditions of a HelmChart mirror its HelmRelease, and differ by the policy for
// failures. An event follows once Failed is True for another reason.
func TestHelmChart(t *testing.T) {
	// conditions of a HelmRelease of generation 2, as type/status/reason with an optional generation.
	release := func(conditions ...string) *helmv2.HelmRelease {
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", Generation: 2}}
		for _, text := range conditions {
			parts := strings.Split(text, "/")
			c := metav1.Condition{Type: parts[0], Status: metav1.ConditionStatus(parts[1]), Reason: parts[2], Message: "it broke", ObservedGeneration: 2}
			if len(parts) > 3 {
				c.ObservedGeneration = 1
			}
			hr.Status.Conditions = append(hr.Status.Conditions, c)
		}
		return hr
	}
	suspended := func(hr *helmv2.HelmRelease) *helmv2.HelmRelease {
		hr.Spec.Suspend = true
		return hr
	}
	deleted := func(hr *helmv2.HelmRelease) *helmv2.HelmRelease {
		hr.DeletionTimestamp = &metav1.Time{Time: testNow}
		return hr
	}
	recorded := func(failed metav1.ConditionStatus, reason string) cattlev1.HelmChartStatus {
		return cattlev1.HelmChartStatus{Conditions: []cattlev1.HelmChartCondition{
			{Type: cattlev1.ConditionJobCreated, Status: metav1.ConditionTrue},
			{Type: cattlev1.ConditionFailed, Status: failed, Reason: reason, Message: "before"},
		}}
	}
	made := recorded(metav1.ConditionFalse, "")
	const (
		failing   = "Ready/False/UpgradeFailed"
		stalled   = "Stalled/True/RetriesExceeded"
		kept      = "Stalled/True/ClaimsKept"
		justMade  = "JobCreated=True/HelmReleaseCreated Failed=False/ Ready=Unknown/Progressing"
		isFailing = "JobCreated=True/HelmReleaseCreated Failed=True/UpgradeFailed Ready=False/UpgradeFailed"
		waits     = "JobCreated=True/HelmReleaseCreated Failed=False/WaitsForChange Ready=False/UpgradeFailed"
		isKept    = "JobCreated=True/HelmReleaseCreated Failed=True/ClaimsKept Ready=False/UpgradeFailed"
	)
	for name, tc := range map[string]struct {
		in           HelmChartInput
		want, events string
		message      string
	}{
		"None":          {HelmChartInput{}, "JobCreated=False/ Failed=False/ Ready=Unknown/Progressing", "", ""},
		"Created":       {HelmChartInput{Release: release()}, justMade, "Normal/HelmReleaseCreated", ""},
		"Reconciling":   {HelmChartInput{Recorded: made, Release: release("Ready/Unknown/Progressing")}, justMade, "", ""},
		"Again":         {HelmChartInput{Recorded: made, Release: release("Ready/Unknown/Progressing", "Failing/True/Failed")}, justMade, "", ""},
		"OlderSpec":     {HelmChartInput{Recorded: made, Release: release("Ready/True/UpgradeSucceeded/1")}, justMade, "", ""},
		"Ready":         {HelmChartInput{Recorded: made, Release: release("Ready/True/UpgradeSucceeded")}, "JobCreated=True/HelmReleaseCreated Failed=False/ Ready=True/UpgradeSucceeded", "", ""},
		"Waits":         {HelmChartInput{Recorded: made, Release: release("Ready/False/SourceNotReady")}, "JobCreated=True/HelmReleaseCreated Failed=False/ Ready=False/SourceNotReady", "", ""},
		"Reinstall":     {HelmChartInput{Recorded: made, Release: release(failing, "Failing/True/Failed"), Policy: cattlev1.FailurePolicyReinstall}, isFailing, "Warning/UpgradeFailed", "it broke"},
		"Exhausted":     {HelmChartInput{Recorded: made, Release: release(failing, stalled), Policy: cattlev1.FailurePolicyReinstall}, isFailing, "Warning/UpgradeFailed", ""},
		"ClaimsKept":    {HelmChartInput{Recorded: made, Release: release(failing, kept), Policy: cattlev1.FailurePolicyReinstall}, isKept, "Warning/ClaimsKept", "The release was not uninstalled, because it holds PersistentVolumeClaims (--helmchart-reinstall=protect). it broke"},
		"ClaimsAgain":   {HelmChartInput{Recorded: recorded(metav1.ConditionTrue, "ClaimsKept"), Release: release(failing, kept), Policy: cattlev1.FailurePolicyReinstall}, isKept, "", ""},
		"ClaimsAfter":   {HelmChartInput{Recorded: recorded(metav1.ConditionTrue, "UpgradeFailed"), Release: release(failing, kept), Policy: cattlev1.FailurePolicyReinstall}, isKept, "Warning/ClaimsKept", ""},
		"Abort":         {HelmChartInput{Recorded: made, Release: release(failing, stalled), Policy: cattlev1.FailurePolicyAbort}, isFailing, "Warning/UpgradeFailed", "it broke"},
		"Retry":         {HelmChartInput{Recorded: made, Release: release(failing, stalled), Policy: cattlev1.FailurePolicyRetry}, waits, "Warning/WaitsForChange", "spec.failurePolicy retry waits for a change. it broke"},
		"RetryAgain":    {HelmChartInput{Recorded: recorded(metav1.ConditionFalse, "WaitsForChange"), Release: release(failing, stalled), Policy: cattlev1.FailurePolicyRetry}, waits, "", ""},
		"RetryFailing":  {HelmChartInput{Recorded: made, Release: release(failing, "Failing/True/Failed"), Policy: cattlev1.FailurePolicyRetry}, waits, "Warning/WaitsForChange", ""},
		"AbortChanged":  {HelmChartInput{Recorded: recorded(metav1.ConditionTrue, "UpgradeFailed"), Release: release(failing+"/1", stalled+"/1"), Policy: cattlev1.FailurePolicyAbort}, justMade, "", ""},
		"RetryChanged":  {HelmChartInput{Recorded: recorded(metav1.ConditionFalse, "WaitsForChange"), Release: release(failing+"/1", stalled+"/1"), Policy: cattlev1.FailurePolicyRetry}, justMade, "", ""},
		"NotStalled":    {HelmChartInput{Recorded: made, Release: release(failing, "Failing/True/Failed", "Stalled/False/ClaimsKept"), Policy: cattlev1.FailurePolicyReinstall}, isFailing, "Warning/UpgradeFailed", "it broke"},
		"Suspended":     {HelmChartInput{Recorded: made, Release: suspended(release("Ready/True/UpgradeSucceeded/1"))}, "JobCreated=True/HelmReleaseCreated Failed=False/ Ready=Unknown/Suspended", "", "before"},
		"SuspendedNew":  {HelmChartInput{Release: suspended(release())}, "JobCreated=True/HelmReleaseCreated Failed=False/ Ready=Unknown/Suspended", "Normal/HelmReleaseCreated", ""},
		"SuspendedHere": {HelmChartInput{Recorded: made, Release: release("Suspended/True/Suspended", "Ready/True/UpgradeSucceeded/1")}, "JobCreated=True/HelmReleaseCreated Failed=False/ Ready=Unknown/Suspended", "", ""},
		"Deleted":       {HelmChartInput{Recorded: made, Release: deleted(release(failing, stalled))}, justMade, "", ""},
		"SuspendedFailed": {
			HelmChartInput{Recorded: recorded(metav1.ConditionTrue, "UpgradeFailed"), Release: suspended(release(failing+"/1", stalled+"/1")), Policy: cattlev1.FailurePolicyAbort},
			"JobCreated=True/HelmReleaseCreated Failed=True/UpgradeFailed Ready=Unknown/Suspended", "", "before",
		},
		"Refused": {
			HelmChartInput{Recorded: made, Release: release("Ready/True/UpgradeSucceeded"), Refusal: &helmchart.Refusal{Reason: cattlev1.ReasonNameTaken, Message: "taken"}},
			"JobCreated=True/HelmReleaseCreated Failed=True/NameTaken Ready=False/NameTaken", "Warning/NameTaken", "taken",
		},
		"Ignored": {HelmChartInput{Ignored: []string{"spec.bootstrap"}}, "JobCreated=False/ Failed=False/ Ready=Unknown/Progressing Ignored=True/NoEffect", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, all := HelmChart(tc.in)
			var conditions, events []string
			for _, c := range got.Conditions {
				conditions = append(conditions, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
			}
			for _, e := range all {
				events = append(events, e.Type+"/"+e.Reason)
			}
			if diff := cmp.Diff(tc.want+"\n"+tc.events, strings.Join(conditions, " ")+"\n"+strings.Join(events, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text := helmChartCondition(got, cattlev1.ConditionFailed).Message; tc.message != "" && text != tc.message {
				t.Errorf("Failed says %q", text)
			}
			if got.JobName != "" {
				t.Errorf("jobName is %q", got.JobName)
			}
		})
	}
}

// TestClaimsOfFirstRevision: the message about a failed install states what follows from the claims that
// this install has made.
func TestClaimsOfFirstRevision(t *testing.T) {
	for name, claims := range map[string]bool{"with claims": true, "without": false} {
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", UID: testUID, Generation: 3}}
		hr.Status.LastAttemptedReleaseAction = helmv2.ActionInstall
		want, failed := testDesired(), testRevision(1, helmv2.StatusFailed)
		want.Policy.KeepClaims, failed.HoldsClaims = true, claims
		want.Policy.Install = release.ActionPolicy{Uninstall: true, Retries: 3}
		r := Finished(hr, release.Outcome{Action: release.Install{}, Desired: want, Err: errors.New("it broke"), Revisions: []release.Revision{failed}}, testNow)
		const stays = "The failed revision stays, because it holds PersistentVolumeClaims. "
		ready := conditions{list: r.Status.Conditions}
		for _, text := range []string{ready.get(helmv2.ConditionReady).Message, r.Events[0].Message} {
			if strings.Contains(text, stays) != claims || strings.Contains(text, "uninstall") == claims && !strings.Contains(text, "remediation") {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
}
