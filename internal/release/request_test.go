// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func TestRequestsOf(t *testing.T) {
	got := RequestsOf(map[string]string{
		"reconcile.fluxcd.io/requestedAt": "a", "reconcile.fluxcd.io/forceAt": "b", "reconcile.fluxcd.io/resetAt": "c",
	})
	if want := (Requests{Reconcile: "a", Force: "b", Reset: "c"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := RequestsOf(nil); got != (Requests{}) {
		t.Errorf("no annotations ask for %+v", got)
	}
}

// TestTokens goes through every combination of tokens with what was answered
// last. Force and reset obey the same rule, except that a force may be under way.
func TestTokens(t *testing.T) {
	all := []string{"", "a", "b"}
	for _, visit := range all {
		for _, token := range all {
			for _, visited := range all {
				for _, handled := range all {
					for _, ended := range []bool{false, true} {
						r := Requests{Reconcile: visit, Force: token, Reset: token}
						s := &helmv2.HelmReleaseStatus{LastHandledReconcileAt: visited, LastHandledForceAt: handled, LastHandledResetAt: handled}
						if ended {
							s.LastAttemptedReleaseActionDuration = &metav1.Duration{}
						}
						valid := token != "" && token == visit && visit != visited
						asked, begun := valid && token != handled, valid && token == handled && !ended
						if r.ForceRequested(s) != asked || r.ResetRequested(s) != asked || r.ForceBegun(s) != begun || r.Open(s) != (asked || begun) {
							t.Errorf("%+v of %q, %q, ended %t: force %t, reset %t, begun %t, open %t", r, visited, handled, ended,
								r.ForceRequested(s), r.ResetRequested(s), r.ForceBegun(s), r.Open(s))
						}
					}
				}
			}
		}
	}
}

// forcible are the states a force may meet, with the decision it leads to and
// the rule that applies without one.
func forcible() map[string]struct {
	reason   string
	change   func(*Input)
	want     Decision
	unforced string
} {
	upgrade, install := Upgrade{Timeout: 6 * time.Minute}, Install{Timeout: 5 * time.Minute}
	takeOver := Upgrade{Timeout: 6 * time.Minute, TakeOver: true}
	return map[string]struct {
		reason   string
		change   func(*Input)
		want     Decision
		unforced string
	}{
		"Absent": {
			"Nothing stored can only be installed.",
			func(in *Input) { in.Observed.Revisions = nil },
			Decision{State: StateAbsent, Action: install, Why: "forced by request: no release in storage for object"}, "Absent",
		},
		"Uninstalled": {
			"So can what was uninstalled.",
			func(in *Input) { newestIs(in, helmv2.StatusUninstalled) },
			Decision{State: StateAbsent, Action: install, Why: "forced by request: found uninstalled release in storage"}, "Absent",
		},
		"Unmanaged": {
			"It still is a take-over, and the only upgrade.",
			func(in *Input) { in.Observed.Revisions[0].Digest = "sha256:other" },
			Decision{State: StateUnmanaged, Action: takeOver, Why: "forced by request: release digest verification error"}, "Unmanaged",
		},
		"Failed": {
			"It would be upgraded anyway.",
			func(in *Input) { newestIs(in, helmv2.StatusFailed) },
			Decision{State: StateFailed, Action: upgrade, Why: "forced by request: revision 2 failed"}, "Failed",
		},
		"Exhausted": {
			"A budget that is spent stops no force.",
			func(in *Input) { newestIs(in, helmv2.StatusFailed); in.Recorded.UpgradeFailures = 1 },
			Decision{State: StateFailed, Action: upgrade, Why: "forced by request: revision 2 failed"}, "RetriesExhausted",
		},
		"OddStatus": {
			"Helm may refuse; then people read why in its own words.",
			func(in *Input) { newestIs(in, helmv2.StatusSuperseded) },
			Decision{
				State: StateUnmanaged, Action: Upgrade{Timeout: 6 * time.Minute, TakeOver: true},
				Why: "forced by request: the newest release in storage is superseded",
			}, "Unmanaged",
		},
		"OutOfSync": {
			"One upgrade answers both.",
			func(in *Input) { in.Desired.ConfigDigest = "sha256:new" },
			Decision{State: StateOutOfSync, Action: upgrade, Why: "forced by request: release config values changed"}, "OutOfSync",
		},
		"InSync": {
			"That is what people force for.",
			func(*Input) {},
			Decision{State: StateInSync, Action: upgrade, Why: "forced by request: release is in sync"}, "InSync",
		},
	}
}

func TestForced(t *testing.T) {
	for name, tc := range forcible() {
		t.Run(name, func(t *testing.T) {
			in := inSyncInput()
			tc.change(&in)
			if got := Decide(in).Rule; got != tc.unforced {
				t.Errorf("without a request %s applies, want %s", got, tc.unforced)
			}
			tc.want.Rule = "Forced"
			in.Desired.Requests = Requests{Reconcile: "now", Force: "now"}
			if diff := cmp.Diff(tc.want, Decide(in)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			in.Recorded.LastHandledForceAt = "now"
			if diff := cmp.Diff(tc.want, Decide(in)); diff != "" {
				t.Errorf("announced, and its end not recorded (-want +got):\n%s", diff)
			}
			in.Recorded.LastAttemptedReleaseActionDuration = &metav1.Duration{}
			for reason, change := range map[string]func(*Input){
				"its end is recorded":        func(*Input) {},
				"the visit was answered":     func(in *Input) { in.Recorded.LastHandledReconcileAt, in.Recorded.LastHandledForceAt = "now", "before" },
				"only a visit is asked for":  func(in *Input) { in.Desired.Requests.Force = "" },
				"the tokens differ":          func(in *Input) { in.Desired.Requests.Force = "other" },
				"no visit is asked for":      func(in *Input) { in.Desired.Requests.Reconcile = "" },
				"an old token has come back": func(in *Input) { in.Recorded.LastHandledReconcileAt = "later" },
				"only a reset was answered so": func(in *Input) {
					in.Desired.Requests = Requests{Reconcile: "now", Reset: "now"}
					in.Recorded.LastHandledResetAt = "now"
				},
			} {
				in := in
				change(&in)
				if got := Decide(in).Rule; got != tc.unforced {
					t.Errorf("%s: %s applies, want %s", reason, got, tc.unforced)
				}
			}
		})
	}
}

// TestNotForced: what a request does not override.
func TestNotForced(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*Input)
		rule   string
	}{
		"Finalize":  {"It is to go.", func(in *Input) { in.Desired.Deleted, in.Observed.Revisions = true, nil }, "Finalize"},
		"Busy":      {"One thing at a time.", func(in *Input) { in.Observed.Running = &Running{Action: helmv2.ActionUpgrade} }, "Busy"},
		"Recover":   {"What was made must be known first.", func(in *Input) { in.Recorded.History = in.Recorded.History[1:] }, "Recover"},
		"Delete":    {"It is to go.", func(in *Input) { in.Desired.Deleted = true }, "Delete"},
		"Suspended": {"It is to be left alone.", func(in *Input) { in.Desired.Suspended = true }, "Suspended"},
		"Locked":    {"Nothing starts from a pending revision.", func(in *Input) { newestIs(in, helmv2.StatusPendingUpgrade) }, "Unlock"},
		"Foreign": {"Somebody is at work.", func(in *Input) {
			newestIs(in, helmv2.StatusPendingUpgrade)
			in.Observed.Revisions[0].Owner, in.Observed.Revisions[0].Modified = "", testNow
		}, "Unlock"},
	} {
		t.Run(name, func(t *testing.T) {
			in := inSyncInput()
			tc.change(&in)
			want := Decide(in)
			in.Desired.Requests = Requests{Reconcile: "now", Force: "now", Reset: "now"}
			got := Decide(in)
			if got.Rule != tc.rule {
				t.Errorf("%s %s applies, want %s", tc.reason, got.Rule, tc.rule)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n(-without request +with):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReset(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		request Requests
		handled string
		action  Action
	}{
		"Asked":    {"The budget is whole again.", Requests{Reconcile: "now", Reset: "now"}, "", Upgrade{Timeout: 6 * time.Minute}},
		"Answered": {"Once.", Requests{Reconcile: "now", Reset: "now"}, "now", Stall{Reason: helmv2.ReasonRetriesExceeded}},
		"Alone":    {"Both tokens are needed.", Requests{Reset: "now"}, "", Stall{Reason: helmv2.ReasonRetriesExceeded}},
		"Other":    {"And must be the same.", Requests{Reconcile: "now", Reset: "other"}, "", Stall{Reason: helmv2.ReasonRetriesExceeded}},
		"Visit":    {"A visit changes nothing.", Requests{Reconcile: "now"}, "", Stall{Reason: helmv2.ReasonRetriesExceeded}},
	} {
		t.Run(name, func(t *testing.T) {
			in := inSyncInput()
			newestIs(&in, helmv2.StatusFailed)
			in.Recorded.Failures, in.Recorded.InstallFailures, in.Recorded.UpgradeFailures = 3, 1, 2
			in.Recorded.LastHandledResetAt, in.Desired.Requests = tc.handled, tc.request
			if got := Decide(in); got.Action != tc.action {
				t.Errorf("%s got %+v", tc.reason, got)
			}
			got, left := ResetCounters(in.Recorded, in.Desired), int64(1)
			if _, again := tc.action.(Upgrade); again {
				left = 0
			}
			if got.Failures != 3*left || got.InstallFailures != left || got.UpgradeFailures != 2*left {
				t.Errorf("%s counters are %d, %d and %d", tc.reason, got.Failures, got.InstallFailures, got.UpgradeFailures)
			}
		})
	}
}
