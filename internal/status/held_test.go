// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestAnnounced: only the message of an action that may be running is an announcement.
func TestAnnounced(t *testing.T) {
	for name, tc := range map[string]struct {
		condition metav1.Condition
		announced bool
	}{
		"ours":      {metav1.Condition{Status: metav1.ConditionTrue, Reason: helmv2.ReasonProgressing, Message: announcement(release.Upgrade{})}, true},
		"resumed":   {metav1.Condition{Status: metav1.ConditionTrue, Reason: helmv2.ReasonProgressing, Message: announcement(release.Rollback{Resume: 3})}, true},
		"unlocking": {metav1.Condition{Status: metav1.ConditionTrue, Reason: helmv2.ReasonProgressing, Message: announcement(release.Unlock{})}, true},
		"download":  {metav1.Condition{Status: metav1.ConditionTrue, Reason: helmv2.ReasonProgressing, Message: "not downloaded yet"}, false},
		"later":     {metav1.Condition{Status: metav1.ConditionTrue, Reason: helmv2.ReasonProgressingWithRetry, Message: announcement(release.Upgrade{})}, false},
		"over":      {metav1.Condition{Status: metav1.ConditionFalse, Reason: helmv2.ReasonProgressing, Message: announcement(release.Upgrade{})}, false},
	} {
		tc.condition.Type = helmv2.ConditionReconciling
		if got := Announced(helmv2.HelmReleaseStatus{Conditions: []metav1.Condition{tc.condition}}); (got != "") != tc.announced {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestAnnouncedAgain: another attempt is announced with its number and the last failure. The
// announced action is only the first part.
func TestAnnouncedAgain(t *testing.T) {
	want := testDesired()
	want.Policy.Upgrade.Retries = 2
	hr := testObject()
	failed := release.Outcome{Action: release.Upgrade{}, Desired: want, Err: errors.New("it broke"), Revisions: []release.Revision{testRevision(2, helmv2.StatusFailed)}}
	upgrade := release.Decision{Action: release.Upgrade{Timeout: time.Minute}}
	hr.Status = Started(hr, upgrade, want, testNow).Status
	hr.Status = Finished(hr, failed, testNow).Status
	got := Started(hr, upgrade, want, testNow).Status
	const first = "Running 'upgrade' action with timeout of 1m0s, attempt 2"
	const text = first + ". The last attempt failed: it broke. The result follows when the action has ended."
	c := conditions{list: got.Conditions}
	if message := c.get(helmv2.ConditionReconciling).Message; message != text {
		t.Errorf("the announcement is %q", message)
	}
	if action := Announced(got); action != first {
		t.Errorf("announced is %q", action)
	}
	want.ConfigDigest = "sha256:other"
	if action := Announced(Started(hr, upgrade, want, testNow).Status); action != "Running 'upgrade' action with timeout of 1m0s" {
		t.Errorf("with other values, announced is %q", action)
	}
}

// TestHeldTakesBack: an action that waits for an Operation is no longer announced, because the
// Operation waits for the end of the announcement.
func TestHeldTakesBack(t *testing.T) {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	hr.Status.ObservedGeneration = 1
	hr.Status.Conditions = []metav1.Condition{{
		Type: helmv2.ConditionReconciling, Status: metav1.ConditionTrue, Reason: helmv2.ReasonProgressing, Message: announcement(release.Test{}),
	}}
	d := release.Decision{Action: release.Wait{After: 1, For: helmv2.ReasonOperationWaiting}, Why: "an Operation waits"}
	if got := Settled(hr, d, release.Input{Now: testNow}).Status; Announced(got) != "" {
		t.Errorf("the action is still announced: %+v", got.Conditions)
	}
}
