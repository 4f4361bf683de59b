// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
)

// TestRead: what is known of the values of a release, after reconciliations.
func TestRead(t *testing.T) {
	t.Parallel()
	content := func(digest string) []Input { return []Input{{Object: shared, Digest: digest}} }
	withWorked := func(config string) *helmv2.HelmRelease {
		return of(func(s *helmv2.HelmReleaseStatus) { s.History[0].ConfigDigest = config })
	}
	type read struct {
		content, config, stored, worked string
		synced                          bool
	}
	for name, tc := range map[string]struct {
		reads []read
		fresh bool
	}{
		"Nothing":          {nil, true},
		"NotMade":          {[]read{{"1", "c1", "c1", "c0", false}}, true},
		"Made":             {[]read{{"1", "c1", "c1", "c1", false}}, false},
		"MadeBefore":       {[]read{{"1", "c1", "c1", "c1", false}, {"2", "c2", "c2", "c1", false}, {"1", "c1", "c1", "c1", false}}, false},
		"MadeSince":        {[]read{{"1", "c1", "c1", "c0", false}, {"1", "own", "own", "c1", false}}, false},
		"FailedSince":      {[]read{{"1", "c1", "c1", "c0", false}, {"1", "own", "own", "c0", false}}, true},
		"Next":             {[]read{{"2", "c2", "c2", "c2", false}, {"1", "c1", "c1", "c2", false}}, true},
		"Without effect":   {[]read{{"2", "c2", "c2", "c2", false}, {"1", "c2", "c2", "c2", false}}, false},
		"Preserved":        {[]read{{"1", "c1", "merged", "merged", false}}, false},
		"PreservedSynced":  {[]read{{"1", "c1", "c1", "merged", true}}, false},
		"PreservedChanges": {[]read{{"1", "c1", "merged", "c1", false}}, true},
	} {
		var q Queue
		for _, r := range tc.reads {
			q.Read(withWorked(r.worked), content(r.content), r.config, r.stored, r.synced)
		}
		if fresh := len(q.Fresh("apps/web", content("1"))) > 0; fresh != tc.fresh {
			t.Errorf("%s: fresh: %t", name, fresh)
		}
	}
	var q Queue
	if !q.Read(withWorked("c1"), content("1"), "c1", "c1", false) || q.Read(withWorked("c1"), content("1"), "c1", "c1", false) {
		t.Error("only the first read tells something new")
	}
	q.Forget("apps/web")
	if len(q.Fresh("apps/web", content("1"))) != 1 {
		t.Error("a deleted release is forgotten")
	}
}

// TestAssumeValues: the state of releases in a wave of values, as status alone shows it.
func TestAssumeValues(t *testing.T) {
	t.Parallel()
	const yes, no, maybe = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for name, tc := range map[string]struct {
		hr   *helmv2.HelmRelease
		want State
	}{
		"Ready":  {of(nil, is(helmv2.ConditionReady, yes, "")), Done},
		"Waits":  {of(nil, is(helmv2.ConditionReady, maybe, helmv2.ReasonAwaitingRollout)), Waits},
		"Bakes":  {of(nil, is(helmv2.ConditionBaking, yes, ""), is(helmv2.ConditionReady, maybe, helmv2.ReasonBaking)), Bakes},
		"Runs":   {of(func(s *helmv2.HelmReleaseStatus) { s.LastAttemptedReleaseActionDuration = nil }, is(helmv2.ConditionReconciling, yes, helmv2.ReasonProgressing)), Runs},
		"Failed": {of(func(s *helmv2.HelmReleaseStatus) { s.UpgradeFailures = 1 }, is(helmv2.ConditionReleased, no, helmv2.ReasonUpgradeFailed), is(helmv2.ConditionReady, no, helmv2.ReasonUpgradeFailed)), Failed},
	} {
		tc.hr.Status.LastAttemptedConfigDigest = "sha256:2"
		members := []Member{MemberOf(tc.hr, Input{}, at), MemberOf(of(nil), Input{}, at)}
		for i := range members {
			members[i].AssumeValues([]string{shared})
		}
		inputs := Inputs(members, time.Time{})
		if len(inputs) != 1 || inputs[0].String() != "values of "+shared {
			t.Fatalf("%s: %+v", name, inputs)
		}
		w := WaveOf(policy.Rollout{Policy: "p"}, inputs[0], StagesOf(nil, members), members)
		if got := w.Places[0].State; got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
		if alone := Inputs(members[:1], time.Time{}); len(alone) != 0 {
			t.Errorf("%s: one release shares no values: %+v", name, alone)
		}
	}
}
