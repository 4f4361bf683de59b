// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestEventActions: each reason of the API has an action of the API, except those of helm-controller only.
func TestEventActions(t *testing.T) {
	t.Parallel()
	actions := declared(t, "EventAction", "../../api/v2/action_types.go")
	reasons := append(declared(t, "Reason", "../../api/v2/condition_types.go", "../../api/v2/own_types.go"),
		declared(t, "EventReason", "../../api/v2/condition_types.go", "../../api/v2/own_types.go")...)
	if len(actions) != 12 || len(reasons) < 60 {
		t.Fatalf("found %d actions and %d reasons", len(actions), len(reasons))
	}
	theirs := []string{helmv2.EventReasonNamespaceCheckSkipped, helmv2.ReasonResourceManagerError, helmv2.ReasonFactoryError, helmv2.ReasonConfigFactoryError}
	for _, reason := range reasons {
		if action := eventAction(reason); !slices.Contains(theirs, reason) && !slices.Contains(actions, action) {
			t.Errorf("the action of %s is %q", reason, action)
		}
	}
}

// declared returns the values of the constants in files whose names begin with prefix.
func declared(t *testing.T, prefix string, files ...string) []string {
	t.Helper()
	var all []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) == 0 {
				return true
			}
			if text, ok := spec.Values[0].(*ast.BasicLit); ok {
				value, err := strconv.Unquote(text.Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, value)
			}
			return true
		})
	}
	return all
}

// TestActionsOfEnds: events of an action that has ended are about that action, unless their reason has
// another stage.
func TestActionsOfEnds(t *testing.T) {
	t.Parallel()
	deployed := []release.Revision{testRevision(2, helmv2.StatusDeployed)}
	stopped := &release.Outage{Server: "the API server"}
	for name, tc := range map[string]struct {
		o    release.Outcome
		want []string
	}{
		"install":   {release.Outcome{Action: release.Install{}, Revisions: deployed, Adopted: []string{"x"}}, []string{"UpgradeSucceeded HelmUpgrade", "ObjectsAdopted HelmInstall"}},
		"upgrade":   {release.Outcome{Action: release.Upgrade{}, Revisions: deployed, Kept: []string{"x"}}, []string{"UpgradeSucceeded HelmUpgrade", "ObjectsKept HelmUpgrade"}},
		"outdated":  {release.Outcome{Action: release.Upgrade{}, Revisions: deployed, Outdated: true}, []string{"UpgradeSucceeded HelmUpgrade", "HealthCheckCanceled HealthCheck"}},
		"recheck":   {release.Outcome{Action: release.Recheck{}, Revisions: deployed}, []string{"UpgradeSucceeded HealthCheck"}},
		"uninstall": {release.Outcome{Action: release.Uninstall{}, Kept: []string{"x"}}, []string{"UninstallSucceeded HelmUninstall", "ObjectsKept HelmUninstall"}},
		"rollback":  {release.Outcome{Action: release.Rollback{}, Err: errors.New("no answer"), Interrupted: stopped}, []string{"Interrupted HelmRollback"}},
		"tests":     {release.Outcome{Action: release.Test{}, Err: errors.New("no answer"), Interrupted: stopped}, []string{"Interrupted HelmTest"}},
		"unlock":    {release.Outcome{Action: release.Unlock{}, Err: errors.New("no answer"), Interrupted: stopped}, []string{"Interrupted Unlock"}},
		"drift":     {release.Outcome{Action: release.CorrectDrift{}, Err: errors.New("no answer"), Interrupted: stopped}, []string{"Interrupted DriftDetection"}},
	} {
		tc.o.Desired, tc.o.Started, tc.o.Ended = testDesired(), testNow, testNow
		hr := testObject()
		hr.Status.History = helmv2.Snapshots{{Version: 2, Name: "web", Namespace: "apps", Status: helmv2.StatusFailed, Action: helmv2.ActionUpgrade}}
		if diff := cmp.Diff(tc.want, actionsOf(Finished(hr, tc.o, testNow).Events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestActionsOfOthers: a reason that has several stages is about the present one. Of Operations and of a
// process that only observes, no stage has run.
func TestActionsOfOthers(t *testing.T) {
	t.Parallel()
	hr := testObject()
	var r Report
	c := conditionsOf(hr, &hr.Status, hr.Generation, testNow)
	reportDrift(&r, &c, nil, release.Input{Observed: release.Observed{Drift: &release.Drift{Errors: []release.ObjectError{{Err: "forbidden"}}}}})
	for reason, events := range map[string][]Event{
		"StateError DriftDetection": r.Events,
		"StateError Reconcile":      Blocked(hr, &release.Blocked{Reason: helmv2.ReasonStateError}, testNow).Events,
		"AccessDenied Reconcile": Operation(operation.Decision{Phase: opsv1alpha1.PhaseFailed, Reason: opsv1alpha1.ReasonAccessDenied, Action: operation.Finish{}},
			operation.Input{}).Events,
		"WouldUpgrade Reconcile": {Observed("WouldUpgrade", "", false)},
	} {
		if diff := cmp.Diff([]string{reason}, actionsOf(events)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func actionsOf(events []Event) []string {
	var all []string
	for _, e := range events {
		all = append(all, e.Reason+" "+e.Action)
	}
	return all
}
