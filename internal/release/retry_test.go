// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"testing"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// spread returns a retry as text, with " spread" if the caller adds jitter.
func spread(r Retry) string {
	if _, spread := r.Delay(); spread {
		return r.String() + " spread"
	}
	return r.String()
}

// TestDecisionRetry: the interval is 10 minutes.
func TestDecisionRetry(t *testing.T) {
	held := func(in *Input) { in.Desired.Hold = Hold{Active: true} }
	heldFor := func(left, interval time.Duration) func(*Input) {
		return func(in *Input) {
			in.Desired.Policy.Interval = interval
			in.Desired.Hold = Hold{Active: true, Until: in.Now.Add(left)}
		}
	}
	drift := func(d Drift) func(*Input) { return func(in *Input) { in.Observed.Drift = &d } }
	differs := []DriftedObject{{}}
	for name, c := range map[string]struct {
		d    Decision
		edit func(*Input)
		want string
	}{
		"settled":                 {Decision{Action: Settle{}}, nil, "10m0s spread"},
		"drift that pauses":       {Decision{Action: Settle{}}, drift(Drift{Objects: differs, Pause: time.Second}), "1s"},
		"rendering that pauses":   {Decision{Action: Settle{}}, drift(Drift{Rendering: "other", Pause: time.Second}), "1s"},
		"pause without drift":     {Decision{Action: Settle{}}, drift(Drift{Pause: time.Second}), "10m0s spread"},
		"drift without pause":     {Decision{Action: Settle{}}, drift(Drift{Objects: differs}), "10m0s spread"},
		"comparison not answered": {Decision{Action: Settle{}}, drift(Drift{Repeat: true}), "backoff<=30s"},
		"suspended":               {Decision{Action: Settle{}}, func(in *Input) { in.Desired.Suspension.Active = true }, "never"},
		"suspended for a time": {Decision{Action: Settle{}}, func(in *Input) {
			in.Desired.Suspension = Suspension{Active: true, Until: in.Now.Add(time.Hour)}
		}, "1h0m0s"},
		"held":                      {Decision{Action: Settle{}, Rule: RuleRolledBack}, held, "10m0s spread"},
		"held, comparison repeated": {Decision{Action: Settle{}, Rule: RuleRolledBack}, drift(Drift{Repeat: true}), "backoff<=30s"},
		"held for hours":            {Decision{Action: Settle{}, Rule: RuleRolledBack}, heldFor(time.Hour, 10*time.Minute), "10m0s spread"},
		"held for two intervals":    {Decision{Action: Settle{}, Rule: RuleRolledBack}, heldFor(20*time.Minute, 10*time.Minute), "10m0s"},
		"held for less":             {Decision{Action: Settle{}, Rule: RuleRolledBack}, heldFor(time.Minute, 10*time.Minute), "1m0s"},
		"held without interval":     {Decision{Action: Settle{}, Rule: RuleRolledBack}, heldFor(time.Hour, 0), "1h0m0s"},
		"hold has ended":            {Decision{Action: Settle{}, Rule: RuleRolledBack}, heldFor(-time.Minute, 10*time.Minute), "1ms"},

		"awaits an Operation":    {Decision{Action: Wait{After: time.Second, For: "Operation"}}, nil, "1s"},
		"awaits briefly":         {Decision{Action: Wait{After: time.Second, Brief: true}}, nil, "1s"},
		"policies unreadable":    {Decision{Action: Wait{After: time.Second, Gate: helmv2.ReasonPolicyUnavailable}}, nil, "1s"},
		"wait of a held release": {Decision{Action: Wait{After: time.Second}, Rule: RuleRolledBack}, held, "1s spread"},
		"gate":                   {Decision{Action: Wait{After: time.Second, Gate: "Frozen"}}, nil, "1s spread"},
		"gate of a rollback":     {Decision{Action: Wait{After: time.Second, Gate: "Frozen"}}, heldFor(time.Minute, 10*time.Minute), "1m0s"},
		"gate of an uninstall of a held release": {Decision{Action: Wait{After: time.Second, Gate: "Frozen"}}, func(in *Input) {
			held(in)
			in.Desired.Deleted = true
		}, "1s spread"},
		"obstacle":         {Decision{Action: Wait{After: time.Second, Obstacle: "NotReady"}}, nil, "backoff"},
		"awaits an event":  {Decision{Action: Wait{}}, nil, "never"},
		"awaits a retry":   {Decision{Action: Wait{After: time.Second, Retrying: true}}, nil, "1s spread"},
		"awaits something": {Decision{Action: Wait{After: time.Second}}, nil, "1s"},

		"stalled":          {Decision{Action: Stall{}}, nil, "10m0s spread"},
		"stalled and held": {Decision{Action: Stall{}, Rule: RuleRolledBack}, heldFor(time.Minute, 10*time.Minute), "1m0s"},
		"rollback refused": {
			Decision{Action: Stall{Reason: helmv2.ReasonRollbackRefused}, State: StateRolledBack, Rule: RuleRolledBack},
			drift(Drift{Repeat: true}), "backoff<=30s",
		},
		"rollback refused elsewhere": {
			Decision{Action: Stall{Reason: helmv2.ReasonRollbackRefused}, Rule: RuleRolledBack},
			drift(Drift{Repeat: true}), "10m0s spread",
		},

		"adopted":   {Decision{Action: Adopt{}}, nil, "now"},
		"forgotten": {Decision{Action: Forget{}}, nil, "now"},
		"action":    {Decision{Action: Upgrade{}}, nil, "never"},
	} {
		t.Run(name, func(t *testing.T) {
			in := inSyncInput()
			in.Desired.Policy.Interval = 10 * time.Minute
			if c.edit != nil {
				c.edit(&in)
			}
			if got := spread(c.d.Retry(in)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestRetryAfter: the outcome is a failed upgrade that stored no revision, and edits change that.
func TestRetryAfter(t *testing.T) {
	failed := errors.New("failed")
	stored := []Revision{{Version: 2}}
	oversized := &RecordSize{Bytes: 2, Limit: 1}
	for name, c := range map[string]struct {
		edit func(o *Outcome, r *Requests, s *helmv2.HelmReleaseStatus)
		want string
	}{
		"succeeded":         {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) { o.Err = nil }, "now"},
		"cancelled":         {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) { o.Cancelled = true }, "now"},
		"plan void":         {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) { o.PlanVoid = true }, "now"},
		"interrupted":       {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) { o.Interrupted = &Outage{} }, "backoff<=1m0s"},
		"resumed elsewhere": {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) { o.Err = ErrResumedElsewhere }, "backoff<=1m0s"},
		"interrupted, other spec": {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) {
			o.Interrupted, o.Desired.Generation = &Outage{}, 1
		}, "now"},
		"interrupted, force begun": {func(o *Outcome, r *Requests, s *helmv2.HelmReleaseStatus) {
			o.Interrupted, r.Reconcile, r.Force, s.LastHandledForceAt = &Outage{}, "a", "a", "a"
		}, "backoff<=1m0s"},
		"denied":             {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) { o.Denied = true }, "15s"},
		"denied, other spec": {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) { o.Denied, o.Desired.Generation = true, 1 }, "now"},
		"denied for good": {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) {
			o.Denied, o.Desired.Policy.RefuseDenials = true, true
		}, "backoff"},
		"failed":              {func(*Outcome, *Requests, *helmv2.HelmReleaseStatus) {}, "backoff"},
		"failed, other spec":  {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) { o.Desired.Generation = 1 }, "now"},
		"failed, forced anew": {func(_ *Outcome, r *Requests, _ *helmv2.HelmReleaseStatus) { r.Reconcile, r.Force = "a", "a" }, "now"},
		"failed after a resume, forced anew": {func(o *Outcome, r *Requests, _ *helmv2.HelmReleaseStatus) {
			o.Action, r.Reconcile, r.Force = Upgrade{Resume: 2}, "a", "a"
		}, "backoff"},
		"unlock failed, forced anew": {func(o *Outcome, r *Requests, _ *helmv2.HelmReleaseStatus) {
			o.Action, r.Reconcile, r.Force = Unlock{}, "a", "a"
		}, "backoff"},
		"upgrade retried": {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) {
			o.Desired.Policy.Upgrade = ActionPolicy{Retry: true, RetryInterval: time.Minute}
		}, "1m0s spread"},
		"install retried": {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) {
			o.Action, o.Desired.Policy.Install = Install{}, ActionPolicy{Retry: true, RetryInterval: time.Minute}
		}, "1m0s spread"},
		"record too large": {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) { o.Record = oversized }, "10m0s spread"},
		"stored":           {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) { o.Revisions = stored }, "now"},

		// Stored, and the next decision is the same.
		"uninstall": {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) {
			o.Action, o.Revisions = Uninstall{}, stored
		}, "backoff"},
		"remediation by uninstall": {func(o *Outcome, _ *Requests, s *helmv2.HelmReleaseStatus) {
			o.Action, o.Revisions, s.History = Uninstall{Remediation: true}, stored, helmv2.Snapshots{{}}
		}, "backoff"},
		"remediation by uninstall, all gone": {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) {
			o.Action, o.Revisions = Uninstall{Remediation: true}, stored
		}, "now"},
		"rollback": {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) { o.Action, o.Revisions = Rollback{}, stored }, "backoff"},
		"rollback on request": {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) {
			o.Action, o.Revisions = Rollback{Hold: true}, stored
		}, "backoff"},
		"correction": {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) {
			o.Action, o.Revisions = CorrectDrift{}, stored
		}, "backoff"},
		"correction of a part": {func(o *Outcome, _ *Requests, _ *helmv2.HelmReleaseStatus) {
			o.Action, o.Err, o.Failed = CorrectDrift{}, nil, []ObjectError{{}}
		}, "backoff"},
		"test": {func(o *Outcome, _ *Requests, s *helmv2.HelmReleaseStatus) {
			o.Action, o.Revisions, s.History = Test{}, stored, helmv2.Snapshots{{}}
		}, "backoff"},
		"test on request": {func(o *Outcome, _ *Requests, s *helmv2.HelmReleaseStatus) {
			o.Action, o.Revisions, s.History = Test{Request: "a"}, stored, helmv2.Snapshots{{}}
		}, "now"},
		"tests failed": {func(o *Outcome, _ *Requests, s *helmv2.HelmReleaseStatus) {
			tests := map[string]*helmv2.TestHookStatus{"a": {Phase: "Failed"}}
			o.Action, o.Revisions, s.History = Test{}, stored, helmv2.Snapshots{{TestHooks: &tests}}
		}, "now"},
	} {
		t.Run(name, func(t *testing.T) {
			o, requests, status := Outcome{Action: Upgrade{}, Err: failed}, Requests{}, helmv2.HelmReleaseStatus{}
			o.Desired.Policy.Interval = 10 * time.Minute
			c.edit(&o, &requests, &status)
			if got := spread(RetryAfter(&o, 0, requests, &status)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
