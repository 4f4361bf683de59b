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

// TestRequestsOf: the three request annotations are read.
func TestRequestsOf(t *testing.T) {
	got := RequestsOf(map[string]string{
		"reconcile.fluxcd.io/requestedAt": "a", "reconcile.fluxcd.io/forceAt": "b", "reconcile.fluxcd.io/resetAt": "c",
	})
	if want := (Requests{Reconcile: "a", Force: "b", Reset: "c"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := RequestsOf(nil); got != (Requests{}) {
		t.Errorf("without annotations the requests are %+v", got)
	}
}

// TestTokens: force and reset follow the same rule for every combination of requested and handled
// tokens, except that a force may be in progress.
func TestTokens(t *testing.T) {
	all := []string{"", "a", "b"}
	for _, reconcile := range all {
		for _, token := range all {
			for _, handledAt := range all {
				for _, handled := range all {
					for _, ended := range []bool{false, true} {
						r := Requests{Reconcile: reconcile, Force: token, Reset: token}
						s := &helmv2.HelmReleaseStatus{LastHandledReconcileAt: handledAt, LastHandledForceAt: handled, LastHandledResetAt: handled}
						if ended {
							s.LastAttemptedReleaseActionDuration = &metav1.Duration{}
						}
						valid := token != "" && token == reconcile && reconcile != handledAt
						requested, begun := valid && token != handled, valid && token == handled && !ended
						if r.ForceRequested(s) != requested || r.ResetRequested(s) != requested || r.ForceStarted(s) != begun || r.Open(s) != (requested || begun) {
							t.Errorf("%+v of %q, %q, ended %t: force %t, reset %t, begun %t, open %t", r, handledAt, handled, ended,
								r.ForceRequested(s), r.ResetRequested(s), r.ForceStarted(s), r.Open(s))
						}
					}
				}
			}
		}
	}
}

// forcible lists the states in which a force can be requested, each with its decision and the rule
// that applies without a request.
func forcible() map[string]struct {
	reason   string
	change   func(*Input)
	want     Decision
	unforced Rule
} {
	upgrade, install := Upgrade{Timeout: 6 * time.Minute}, Install{Timeout: 5 * time.Minute}
	takeOver := Upgrade{Timeout: 6 * time.Minute, TakeOver: true}
	return map[string]struct {
		reason   string
		change   func(*Input)
		want     Decision
		unforced Rule
	}{
		"Absent": {
			"Without a stored release it is an install.",
			func(in *Input) { in.Observed.Revisions = nil },
			Decision{State: StateAbsent, Action: install, Why: "forced by request: no release in storage for object"},
			"Absent",
		},
		"Uninstalled": {
			"An uninstalled release is installed.",
			func(in *Input) { newestIs(in, helmv2.StatusUninstalled) },
			Decision{State: StateAbsent, Action: install, Why: "forced by request: found uninstalled release in storage"},
			"Absent",
		},
		"Unmanaged": {
			"It is the same take-over.",
			func(in *Input) { in.Observed.Revisions[0].Digest = "sha256:other" },
			Decision{State: StateUnmanaged, Action: takeOver, Why: "forced by request: release digest verification error"},
			"Unmanaged",
		},
		"Failed": {
			"It would be upgraded anyway.",
			func(in *Input) { newestIs(in, helmv2.StatusFailed) },
			Decision{State: StateFailed, Action: upgrade, Why: "forced by request: revision 2 failed"},
			"Failed",
		},
		"Exhausted": {
			"Exhausted retries do not prevent a forced upgrade.",
			func(in *Input) { newestIs(in, helmv2.StatusFailed); in.Recorded.UpgradeFailures = 1 },
			Decision{State: StateFailed, Action: upgrade, Why: "forced by request: revision 2 failed"},
			"RetriesExhausted",
		},
		"OddStatus": {
			"Helm may reject the upgrade; its error is reported.",
			func(in *Input) { newestIs(in, helmv2.StatusSuperseded) },
			Decision{
				State: StateUnmanaged, Action: Upgrade{Timeout: 6 * time.Minute, TakeOver: true},
				Why: "forced by request: the newest release in storage is superseded",
			},
			"Unmanaged",
		},
		"OutOfSync": {
			"One upgrade handles both.",
			func(in *Input) { in.Desired.ConfigDigest = "sha256:new" },
			Decision{State: StateOutOfSync, Action: upgrade, Why: "forced by request: release config values changed"},
			"OutOfSync",
		},
		"InSync": {
			"A forced upgrade needs no difference.",
			func(*Input) {},
			Decision{State: StateInSync, Action: upgrade, Why: "forced by request: release is in sync"},
			"InSync",
		},
	}
}

// TestForced: a force leads to an install or upgrade in every state, once.
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
			if diff := cmp.Diff(tc.want, Decide(in), ignoringInsistence()); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			in.Recorded.LastHandledForceAt = "now"
			if diff := cmp.Diff(tc.want, Decide(in), ignoringInsistence()); diff != "" {
				t.Errorf("announced, and its end not recorded (-want +got):\n%s", diff)
			}
			in.Recorded.LastAttemptedReleaseActionDuration = &metav1.Duration{}
			for reason, change := range map[string]func(*Input){
				"its end is recorded":                func(*Input) {},
				"the request was handled":            func(in *Input) { in.Recorded.LastHandledReconcileAt, in.Recorded.LastHandledForceAt = "now", "before" },
				"only a reconciliation is requested": func(in *Input) { in.Desired.Requests.Force = "" },
				"the tokens differ":                  func(in *Input) { in.Desired.Requests.Force = "other" },
				"no reconciliation is requested":     func(in *Input) { in.Desired.Requests.Reconcile = "" },
				"an old token is set again":          func(in *Input) { in.Recorded.LastHandledReconcileAt = "later" },
				"only a reset was handled": func(in *Input) {
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

// TestNotForced: some rules apply before a force.
func TestNotForced(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*Input)
		rule   Rule
	}{
		"Finalize":  {"The HelmRelease is deleted.", func(in *Input) { in.Desired.Deleted, in.Observed.Revisions = true, nil }, "Finalize"},
		"Busy":      {"An attempt is running.", func(in *Input) { in.Observed.Running = &Running{Action: helmv2.ActionUpgrade} }, "Busy"},
		"Recover":   {"A finished revision must be recorded first.", func(in *Input) { in.Recorded.History = in.Recorded.History[1:] }, "Recover"},
		"Delete":    {"The HelmRelease is deleted.", func(in *Input) { in.Desired.Deleted = true }, "Delete"},
		"Suspended": {"The HelmRelease is suspended.", func(in *Input) { in.Desired.Suspension.Active = true }, "Suspended"},
		"Locked":    {"A pending revision must be unlocked first.", func(in *Input) { newestIs(in, helmv2.StatusPendingUpgrade) }, "Unlock"},
		"Foreign": {"Another client may be working.", func(in *Input) {
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

// TestReset: a reset request with matching tokens resets the failure counters once.
func TestReset(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		request Requests
		handled string
		action  Action
	}{
		"Requested": {"The counters are reset.", Requests{Reconcile: "now", Reset: "now"}, "", Upgrade{Timeout: 6 * time.Minute}},
		"Handled":   {"A handled token does not reset again.", Requests{Reconcile: "now", Reset: "now"}, "now", Stall{Reason: helmv2.ReasonRetriesExceeded}},
		"Alone":     {"Both tokens are needed.", Requests{Reset: "now"}, "", Stall{Reason: helmv2.ReasonRetriesExceeded}},
		"Other":     {"The tokens must be equal.", Requests{Reconcile: "now", Reset: "other"}, "", Stall{Reason: helmv2.ReasonRetriesExceeded}},
		"Reconcile": {"A reconciliation alone resets nothing.", Requests{Reconcile: "now"}, "", Stall{Reason: helmv2.ReasonRetriesExceeded}},
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
