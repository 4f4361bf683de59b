// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
)

// bakingFor returns an input in sync whose newest revision was made a time ago, and is watched for ten
// minutes.
func bakingFor(age time.Duration, edit func(in *Input)) Input {
	in := inSyncInput()
	in.Observed.Baking = true
	in.Observed.Revisions[0].Ended = in.Now.Add(-age)
	in.Desired.Demands.Rollouts = []policy.Rollout{{Policy: "ReleasePolicy/fleet", Rollout: v1alpha1.Rollout{BakeTime: metav1.Duration{Duration: 10 * time.Minute}}}}
	if edit != nil {
		edit(&in)
	}
	return in
}

// TestBaking: a revision is watched until its time is over. Trouble ends that.
func TestBaking(t *testing.T) {
	t.Parallel()
	trouble := &Diagnosis{Code: helmv2.FailureCrashLoop, Summary: "crashes"}
	unready := func(since time.Duration) func(*Input) {
		return func(in *Input) {
			in.Observed.Bake = &Bake{Waiting: []string{"Deployment web"}, UnreadySince: in.Now.Add(-since)}
		}
	}
	sound := func(in *Input) { in.Observed.Bake = &Bake{} }
	for name, tc := range map[string]struct {
		age  time.Duration
		edit func(*Input)
		rule Rule
		want Action
	}{
		"Unseen":       {time.Minute, nil, RuleBaking, Wait{After: bakePoll}},
		"Sound":        {time.Minute, sound, RuleBaking, Wait{After: bakePoll}},
		"AtItsEnd":     {10*time.Minute - 3*time.Second, sound, RuleBaking, Wait{After: 3 * time.Second}},
		"OverUnseen":   {time.Hour, nil, RuleBaking, Wait{After: time.Second}},
		"Over":         {10 * time.Minute, sound, RuleInSync, Settle{}},
		"Trouble":      {time.Minute, func(in *Input) { in.Observed.Bake = &Bake{Trouble: trouble} }, RuleBaking, FailBake{Version: 2, Trouble: trouble}},
		"Failed":       {time.Minute, func(in *Input) { in.Observed.Bake = &Bake{Failed: true} }, RuleBaking, FailBake{Version: 2, Timeout: bakeConfirm}},
		"UnreadyBrief": {2 * time.Minute, unready(59 * time.Second), RuleBaking, Wait{After: bakePoll}},
		"UnreadyLong":  {2 * time.Minute, unready(time.Minute), RuleBaking, FailBake{Version: 2, Timeout: bakeConfirm}},
		"UnreadyAtEnd": {10 * time.Minute, unready(0), RuleBaking, FailBake{Version: 2, Timeout: bakeConfirm}},
		"NotRecorded":  {time.Minute, func(in *Input) { in.Observed.Baking = false }, RuleInSync, Settle{}},
		"NoDemand":     {time.Minute, func(in *Input) { in.Desired.Demands.Rollouts[0].BakeTime = metav1.Duration{} }, RuleInSync, Settle{}},
		"RolledBack":   {time.Minute, func(in *Input) { in.Observed.Revisions[0].Rollback = true }, RuleInSync, Settle{}},
		"NewInputs":    {time.Minute, func(in *Input) { in.Desired.ConfigDigest = "sha256:other" }, RuleOutOfSync, Upgrade{Timeout: inSyncInput().Desired.Policy.Upgrade.Timeout}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := bakingFor(tc.age, tc.edit)
			if w, is := tc.want.(Wait); is {
				w.Bakes = in.Observed.Revisions[0].Ended.Add(10 * time.Minute)
				tc.want = w
			}
			if d := Decide(in); d.Rule != tc.rule || !reflect.DeepEqual(d.Action, tc.want) {
				t.Errorf("%s: %+v", d.Rule, d.Action)
			}
			if looks := MustLookAtBake(in); looks != (tc.rule == RuleBaking && in.Observed.Bake == nil) {
				t.Errorf("it looks: %t", looks)
			}
		})
	}
}

// TestFailedBakeIsRecorded: a revision whose failure status does not have is adopted, and not upgraded as
// one of another client.
func TestFailedBakeIsRecorded(t *testing.T) {
	t.Parallel()
	in := bakingFor(time.Minute, func(in *Input) {
		in.Observed.Revisions[0].Status, in.Observed.Revisions[0].Sealed = helmv2.StatusFailed, true
	})
	if d := Decide(in); d.Rule != RuleRecover || d.Action != (Adopt{}) {
		t.Errorf("%s: %+v", d.Rule, d.Action)
	}
	in.Observed.Baking = false
	if d := Decide(in); d.Rule == RuleRecover {
		t.Errorf("%s: %+v", d.Rule, d.Action)
	}
}
