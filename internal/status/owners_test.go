// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestAwaitsOwners: objects that other releases own are not a failure, and Released stays. A retry
// has no event, unless its generation or its message is another one.
func TestAwaitsOwners(t *testing.T) {
	hr := testObject()
	hr.Generation = 2
	hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReleased, Status: metav1.ConditionTrue, Reason: helmv2.ReasonInstallSucceeded, Message: "it is there"}}
	want := testDesired()
	want.Generation = 2
	attempt := func(message string) Report {
		t.Helper()
		started := Started(hr, release.Decision{Action: release.Upgrade{}}, want, testNow)
		hr.Status = started.Status
		r := Finished(hr, release.Outcome{
			Action: release.Upgrade{}, Desired: want, Err: errors.New(message), Owners: []release.Target{{Name: "shop", Namespace: "apps"}}, Started: testNow, Ended: testNow,
		}, testNow.Add(time.Minute))
		hr.Status = r.Status
		return r
	}
	reasons := func(r Report) (all []string) {
		for _, e := range r.Events {
			all = append(all, e.Type+" "+e.Reason)
		}
		return all
	}
	r := attempt("owned")
	c := conditions{list: r.Status.Conditions}
	const message = "Upgrade to web 1.1.0 waits: owned"
	if ready := c.get(helmv2.ConditionReady); ready.Status != metav1.ConditionFalse || ready.Reason != helmv2.ReasonObjectsOwned || firstPart(ready.Message) != message {
		t.Errorf("Ready is %+v", ready)
	}
	if c.get(helmv2.ConditionReleased).Message != "it is there" || c.get(helmv2.ConditionReconciling).Status != metav1.ConditionTrue || c.get(helmv2.ConditionStalled).Type != "" {
		t.Errorf("conditions are %+v", c.list)
	}
	if s := r.Status; s.Failures != 0 || s.UpgradeFailures != 0 || !r.Retry.IsBackoff() {
		t.Errorf("%d and %d failures, retry %s", s.Failures, s.UpgradeFailures, r.Retry)
	}
	if got := reasons(r); !slices.Equal(got, []string{"Warning ObjectsOwned"}) {
		t.Errorf("events %v", got)
	}
	if r = attempt("owned"); len(r.Events) != 0 {
		t.Errorf("events of a retry: %v", reasons(r))
	}
	if got := (&conditions{list: r.Status.Conditions}).get(helmv2.ConditionReady).LastTransitionTime; !got.Time.Equal(testNow.Add(time.Minute).Truncate(time.Second)) {
		t.Errorf("Ready changed at %s", got)
	}
	if r = attempt("other"); len(r.Events) != 1 {
		t.Error("no event for other owners")
	}
	hr.Generation, want.Generation = 3, 3
	started := Started(hr, release.Decision{Action: release.Upgrade{}}, want, testNow)
	if got := (&conditions{list: started.Status.Conditions}).get(helmv2.ConditionReady); got.Status != metav1.ConditionUnknown {
		t.Errorf("for another generation, Ready is %+v", got)
	}
	if r = Finished(hr, release.Outcome{
		Action: release.Upgrade{}, Desired: want, Revisions: []release.Revision{testRevision(2, helmv2.StatusDeployed)}, Adopted: []string{"one: it is alone", "two: so is it"}, Started: testNow, Ended: testNow,
	}, testNow); !slices.Contains(reasons(r), "Normal ObjectsAdopted") || r.Events[1].Message != "Helm upgrade adopted existing objects: one: it is alone, two: so is it" {
		t.Errorf("events %+v", r.Events)
	}
}
