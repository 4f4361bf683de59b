// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestKeepClaims: a failed release that holds claims is never uninstalled. An upgrade is rolled back once,
// and an install stays.
func TestKeepClaims(t *testing.T) {
	const action = 6 * time.Minute
	rollback, kept := Rollback{Timeout: 8 * time.Minute, Version: 1}, Stall{Reason: helmv2.ReasonClaimsKept}
	uninstall := Uninstall{Timeout: 7 * time.Minute, Target: Target{Name: "web", Namespace: "apps", StorageNamespace: "store"}, Remediation: true}
	newest := func(in *Input) { in.Observed.Revisions[0].HoldsClaims = true }
	older := func(in *Input) { in.Observed.Revisions[1].HoldsClaims = true }
	free := func(in *Input) { in.Desired.Policy.KeepClaims = false }
	installed := func(in *Input) {
		in.Recorded.LastAttemptedReleaseAction, in.Recorded.History[0].Action = helmv2.ActionInstall, helmv2.ActionInstall
		in.Recorded.UpgradeFailures, in.Recorded.InstallFailures = 0, 1
		in.Observed.Revisions, in.Recorded.History = in.Observed.Revisions[:1], in.Recorded.History[:1]
	}
	// The status of an older revision at a failure is deployed, unless another one was deployed since.
	superseded := func(in *Input) {
		third := in.Observed.Revisions[1]
		third.Version, third.Status, third.HoldsClaims = 0, helmv2.StatusSuperseded, true
		in.Observed.Revisions[1].Status = helmv2.StatusDeployed
		in.Observed.Revisions = append(in.Observed.Revisions, third)
	}
	rolledBack := func(in *Input) {
		newestIs(in, helmv2.StatusDeployed)
		in.Observed.Revisions[0].Rollback = true
		in.Desired.ConfigDigest, in.Recorded.LastAttemptedConfigDigest = "sha256:new", "sha256:new"
	}
	for name, tc := range map[string]struct {
		reason string
		change []func(*Input)
		want   Action
	}{
		"NoClaims":      {"Without claims, the release is uninstalled at once.", nil, uninstall},
		"Claims":        {"With claims, the upgrade is rolled back.", []func(*Input){newest}, rollback},
		"Deployed":      {"So it is if only the deployed revision has claims.", []func(*Input){older}, rollback},
		"Superseded":    {"Helm has deleted the claims of older revisions.", []func(*Input){superseded}, uninstall},
		"NotRequested":  {"Without the annotation, claims do not count.", []func(*Input){newest, free}, uninstall},
		"Install":       {"A failed install without claims is uninstalled.", []func(*Input){installed}, uninstall},
		"InstallClaims": {"A failed install with claims stays.", []func(*Input){installed, newest}, kept},
		"InstallFree":   {"It does not without the annotation.", []func(*Input){installed, newest, free}, uninstall},
		"RolledBack":    {"The upgrade is not repeated.", []func(*Input){rolledBack, newest}, kept},
		"RolledBackNew": {"It is not even if only the failed revision had claims.", []func(*Input){rolledBack}, kept},
		"Held": {"A rollback on request shows nothing about claims.", []func(*Input){rolledBack, func(in *Input) {
			in.Observed.Revisions[0].RolledBackTo = 1
		}}, Upgrade{Timeout: action, Insist: true}},
		"NoTarget": {"Without a revision to roll back to, the failed one stays.", []func(*Input){newest, func(in *Input) {
			in.Recorded.History = in.Recorded.History[:1]
		}}, kept},
		"Changed": {"A change leads to another attempt.", []func(*Input){newest, func(in *Input) { in.Desired.Generation = 4 }}, Upgrade{Timeout: action}},
		"InstallChanged": {"So it does after an install.", []func(*Input){installed, newest, func(in *Input) {
			in.Desired.Generation = 4
		}}, Upgrade{Timeout: action}},
		"Regularly": {"With RetryOnFailure, nothing is uninstalled in any case.", []func(*Input){newest, func(in *Input) {
			in.Desired.Policy.Upgrade.Retry = true
		}}, Upgrade{Timeout: action, Insist: true}},
		"ByRollback": {"A rollback that the spec requests keeps its retries.", []func(*Input){newest, func(in *Input) {
			in.Desired.Policy.Upgrade.Uninstall, in.Desired.Policy.Upgrade.RemediateLast = false, false
			in.Recorded.UpgradeFailures = 4
		}}, Stall{Reason: helmv2.ReasonRetriesExceeded}},
	} {
		t.Run(name, func(t *testing.T) {
			in := failedInput()
			in.Desired.Policy.KeepClaims = true
			for _, p := range []*ActionPolicy{&in.Desired.Policy.Install, &in.Desired.Policy.Upgrade} {
				p.Uninstall, p.Retries = true, 3
			}
			for _, change := range tc.change {
				change(&in)
			}
			in.Desired.Policy = in.Desired.Policy.KeepingClaims(in.Observed.Revisions)
			if diff := cmp.Diff(tc.want, Decide(in).Action); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestClaimsOfRevisions: the policy follows from the stored revisions, as they are read.
func TestClaimsOfRevisions(t *testing.T) {
	in := failedInput()
	in.Desired.Policy.KeepClaims, in.Desired.Policy.Upgrade.Uninstall = true, true
	in.Observed.Revisions[0].HoldsClaims = true
	if in = in.WithRevisions(in.Observed.Revisions, nil); !in.Desired.Policy.Upgrade.ClaimsKept {
		t.Errorf("the policy is %+v", in.Desired.Policy.Upgrade)
	}
}
