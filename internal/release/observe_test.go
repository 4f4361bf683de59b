// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
)

// TestObserve: only the facts that the decision depends on are read, in an order in which each is read
// after those that it depends on.
func TestObserve(t *testing.T) {
	for name, c := range map[string]struct {
		in   func() Input
		edit func(*Input)
		want string
	}{
		"in sync":            {inSyncInput, func(*Input) {}, "connection revisions debounce"},
		"action runs":        {inSyncInput, func(in *Input) { in.Observed.Running = &Running{} }, "debounce"},
		"suspended":          {inSyncInput, func(in *Input) { in.Desired.Suspension.Active = true }, "debounce"},
		"drift":              {inSyncInput, func(in *Input) { in.Desired.Policy.Drift = helmv2.DriftDetectionWarn }, "connection revisions drift debounce"},
		"drift, out of sync": {inSyncInput, func(in *Input) { in.Desired.Policy.Drift, in.Desired.ConfigDigest = helmv2.DriftDetectionWarn, "other" }, "connection revisions debounce"},
		"preserved values":   {inSyncInput, func(in *Input) { in.Desired.Policy.PreserveValues = true }, "connection revisions preserved debounce"},
		"preserved values of an install": {inSyncInput, func(in *Input) {
			in.Desired.Policy.PreserveValues, in.Observed.Revisions = true, nil
		}, "connection revisions debounce"},
		"may have become ready": {inSyncInput, func(in *Input) {
			newestIs(in, helmv2.StatusFailed)
			in.Observed.Revisions[0].Applied = true
			in.Recorded.Failures = 1
		}, "connection revisions health debounce"},
		"moves": {inSyncInput, func(in *Input) { in.Desired.Target.Name = "site" }, "connection revisions target debounce"},
		"moves, with drift detection": {inSyncInput, func(in *Input) {
			in.Desired.Target.Name, in.Desired.Policy.Drift, in.Desired.Policy.PreserveValues = "site", helmv2.DriftDetectionWarn, true
		}, "connection revisions target debounce"},
		"rollback to an unread revision": {inSyncInput, func(in *Input) {
			in.Desired.Hold = Hold{Active: true, To: 1}
			in.Observed.Revisions[1] = Revision{Unread: true, Name: "web", Version: 1, Status: helmv2.StatusSuperseded}
		}, "connection revisions revision debounce"},
		"deleted":                  {inSyncInput, func(in *Input) { in.Desired.Deleted = true }, "dependents connection revisions debounce"},
		"deleted, nothing stored":  {inSyncInput, func(in *Input) { in.Desired.Deleted, in.Observed.Revisions = true, nil }, "dependents connection revisions confirmation debounce"},
		"deleted, never attempted": {inSyncInput, func(in *Input) { in.Desired.Deleted, in.Recorded = true, helmv2.HelmReleaseStatus{} }, "dependents debounce"},
		"deleted, unreachable": {inSyncInput, func(in *Input) {
			in.Desired.Deleted, in.Observed.Unreachable = true, "the kubeconfig is gone"
		}, "dependents connection debounce"},
		"deleted, frozen": {inSyncInput, func(in *Input) {
			in.Desired.Deleted, in.Desired.Demands.Freezes = true, []policy.Freeze{{Policy: "ReleasePolicy/a"}}
		}, "dependents connection revisions debounce namespace"},
		"needs approval": {inSyncInput, func(in *Input) {
			in.Desired.ConfigDigest = "other"
			in.Desired.Demands.Approvals = []policy.Approval{{Policy: "ReleasePolicy/a", Of: "Always"}}
		}, "connection revisions debounce plan"},
		"plan requested": {inSyncInput, func(in *Input) { in.Desired.Requests.Plan = "a" }, "connection revisions debounce plan"},
	} {
		t.Run(name, func(t *testing.T) {
			in := c.in()
			c.edit(&in)
			have := in.Observed
			in.Observed = Observed{Running: have.Running}
			var read []string
			got, err := Observe(in, func(in Input, fact Fact) (Input, error) {
				read = append(read, string(fact))
				switch fact {
				case FactConnection:
					in.Observed.Unreachable = have.Unreachable
				case FactRevisions, FactConfirmation:
					in = in.WithRevisions(have.Revisions, nil)
				case FactDependents, FactRevision, FactTarget, FactPreserved, FactHealth, FactDrift, FactDebounce, FactNamespace, FactPlan:
				}
				return in, nil
			})
			if err != nil || strings.Join(read, " ") != c.want || len(got.Observed.Revisions) > len(have.Revisions) {
				t.Errorf("read %q, want %q; %v", strings.Join(read, " "), c.want, err)
			}
		})
	}
}

// TestObserveEnds: an error ends the observation, and comes with what was read before.
func TestObserveEnds(t *testing.T) {
	failed := errors.New("no answer")
	in, err := Observe(inSyncInput(), func(in Input, fact Fact) (Input, error) {
		if fact == FactDebounce {
			return in, fmt.Errorf("%s: %w", fact, failed)
		}
		in.Now = in.Now.Add(time.Second)
		return in, nil
	})
	if !errors.Is(err, failed) || !in.Now.Equal(testNow.Add(2*time.Second)) {
		t.Errorf("%v, %v", in.Now, err)
	}
}

// TestBelievedWhenRead: a record that nothing proves has no owner and no attempt once it is read, however
// it was read.
func TestBelievedWhenRead(t *testing.T) {
	forged := testRevision(3, helmv2.StatusDeployed)
	forged.Sealed = false
	in := inSyncInput()
	for name, got := range map[string]Input{
		"revisions": in.WithRevisions([]Revision{forged}, nil),
		"stray":     in.WithStray(&Target{Name: "web"}, []Revision{forged}),
		"revision":  in.WithRevision(3, &forged),
	} {
		if newest := got.Observed.Newest(); newest.Version != 3 || newest.Owner != "" {
			t.Errorf("%s: %+v", name, newest)
		}
	}
}
