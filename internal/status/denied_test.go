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

// TestDenied: an action that dry runs deny is no failure. Status states that until an action of other
// inputs begins, or one of the same inputs ends. Each denial has one event.
func TestDenied(t *testing.T) {
	t.Parallel()
	hr, want := testObject(), testDesired()
	hr.Generation, want.Generation = 2, 2
	begin := func(a release.HelmAction) {
		hr.Status = Started(hr, release.Decision{Action: a}, want, testNow).Status
	}
	deny := func() Report {
		begin(release.Upgrade{})
		r := Finished(hr, release.Outcome{
			Action: release.Upgrade{}, Desired: want, Err: errors.New("the API server would refuse: [a, b]"), Denied: true, Started: testNow, Ended: testNow,
		}, testNow)
		hr.Status = r.Status
		return r
	}
	r := deny()
	c := conditions{list: r.Status.Conditions}
	const message = "Upgrade to web 1.1.0 did not start: the API server would refuse: [a, b]. Nothing was changed. " +
		"Fix the chart or the values. The next attempt, in 15s, has no dry run.\n" +
		"Helm upgrade of release apps/web with chart web@1.1.0 did not begin: the API server would refuse: [a, b]"
	if ready := c.get(helmv2.ConditionReady); ready.Status != metav1.ConditionFalse || ready.Reason != helmv2.ReasonDryRunDenied || ready.Message != message {
		t.Errorf("Ready is %+v", ready)
	}
	if c.get(helmv2.ConditionReconciling).Status != metav1.ConditionTrue || c.get(helmv2.ConditionStalled).Type != "" {
		t.Errorf("conditions are %+v", c.list)
	}
	if s := r.Status; s.Failures+s.InstallFailures+s.UpgradeFailures != 0 || r.Retry != release.After(15*time.Second) || !Denied(s) {
		t.Errorf("failures %d, %d, %d; retry %s; denied %t", s.Failures, s.InstallFailures, s.UpgradeFailures, r.Retry, Denied(s))
	}
	if len(r.Events) != 1 || r.Events[0].Type != "Warning" || r.Events[0].Reason != helmv2.ReasonDryRunDenied || r.Events[0].Message != message {
		t.Errorf("events %+v", r.Events)
	}

	before := c.get(helmv2.ConditionReady)
	begin(release.Upgrade{Insist: true})
	if c = (conditions{list: hr.Status.Conditions}); !Denied(hr.Status) || c.get(helmv2.ConditionReady) != before {
		t.Errorf("while the action insists, conditions are %+v", c.list)
	}
	begin(release.Upgrade{})
	if c = (conditions{list: hr.Status.Conditions}); Denied(hr.Status) || c.get(helmv2.ConditionReady).Status != metav1.ConditionUnknown {
		t.Errorf("while another action runs, conditions are %+v", c.list)
	}

	deny()
	begin(release.Upgrade{Insist: true})
	r = Finished(hr, release.Outcome{
		Action: release.Upgrade{Insist: true}, Desired: want, Err: errors.New("cannot apply a"),
		Revisions: []release.Revision{testRevision(2, helmv2.StatusFailed)}, Started: testNow, Ended: testNow,
	}, testNow)
	if Denied(r.Status) || r.Status.UpgradeFailures != 1 || len(r.Events) != 1 || r.Events[0].Reason != helmv2.ReasonUpgradeFailed {
		t.Errorf("after a failure: denied %t, %d failures, events %+v", Denied(r.Status), r.Status.UpgradeFailures, r.Events)
	}

	want.Policy.RefuseDenials, want.Generation, hr.Generation = true, 3, 3
	r = deny()
	if Denied(r.Status) || r.Status.UpgradeFailures != 1 || r.Events[0].Reason != helmv2.ReasonUpgradeFailed {
		t.Errorf("where denials are refused: denied %t, %d failures, events %+v", Denied(r.Status), r.Status.UpgradeFailures, r.Events)
	}
}
