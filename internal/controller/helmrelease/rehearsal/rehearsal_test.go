// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/controllertest"
)

// TestResults: each decision and obstacle has a result, an event if users should see it, and a
// text with what is next.
func TestResults(t *testing.T) {
	t.Parallel()
	decided := func(rule release.Rule, a release.Action) Finding {
		return DecisionFinding(release.Input{}, release.Decision{Rule: rule, Action: a, Why: "reason"})
	}
	for name, tc := range map[string]struct {
		finding Finding
		want    Result
		// event is the type of the event; empty without one.
		event string
		next  string
	}{
		"Install":     {decided(release.RuleAbsent, release.Install{}), WouldInstall, "Normal", "at once"},
		"Upgrade":     {decided(release.RuleOutOfSync, release.Upgrade{}), WouldUpgrade, "Normal", "at once"},
		"Test":        {decided(release.RuleUntested, release.Test{}), WouldTest, "Normal", "at once"},
		"Rollback":    {decided(release.RuleFailed, release.Rollback{}), WouldRollBack, "Normal", "at once"},
		"Uninstall":   {decided(release.RuleDelete, release.Uninstall{}), WouldUninstall, "Normal", "at once"},
		"Unlock":      {decided(release.RuleUnlock, release.Unlock{}), WouldUnlock, "Normal", "at once"},
		"Recheck":     {decided(release.RuleBecameReady, release.Recheck{}), WouldRecheck, "Normal", "at once"},
		"Drift":       {decided(release.RuleDrifted, release.CorrectDrift{}), WouldCorrectDrift, "Normal", "at once"},
		"Finalize":    {decided(release.RuleFinalize, release.Finalize{}), WouldFinalize, "Normal", "at once"},
		"Adopt":       {decided(release.RuleRecover, release.Adopt{}), WouldRecord, "Normal", "at once"},
		"Forget":      {decided(release.RuleOwnershipConflict, release.Forget{}), WouldRecord, "Normal", "at once"},
		"InSync":      {decided(release.RuleInSync, release.Settle{}), NothingToDo, "", ""},
		"Suspended":   {decided(release.RuleSuspended, release.Settle{}), Suspended, "", ""},
		"Brief":       {decided(release.RuleDebounce, release.Wait{Brief: true}), InProgress, "", ""},
		"Retry":       {decided(release.RuleAwaitRetry, release.Wait{Retrying: true}), WouldWait, "Normal", "while it waits"},
		"Frozen":      {decided(release.RuleFrozen, release.Wait{Gate: helmv2.ReasonFrozen}), WouldHold, "Normal", "until the policy"},
		"Approval":    {decided(release.RuleAwaitingApproval, release.ComputePlan{}), WouldHold, "Normal", "until the policy"},
		"Stall":       {decided(release.RuleRetriesExhausted, release.Stall{Reason: "RetriesExceeded"}), WouldStall, "Warning", "until its spec"},
		"Refused":     {decided(release.RulePolicyRefused, release.Stall{Reason: helmv2.ReasonPolicyRefused}), WouldRefuse, "Warning", "until its spec"},
		"Blocked":     {ObstacleFinding(&release.Blocked{Reason: "R", Message: "reason"}), WouldBlock, "Warning", "until the cause"},
		"Terminal":    {ObstacleFinding(&release.Blocked{Terminal: true, Message: "reason"}), WouldStall, "Warning", "until its spec"},
		"Quiet":       {ObstacleFinding(&release.Blocked{Quiet: true, Message: "reason"}), WouldWait, "Normal", "while it waits"},
		"Downloading": {ObstacleFinding(&release.Blocked{Progressing: true}), InProgress, "", ""},
		"Moment":      {ObstacleFinding(&release.Blocked{Brief: true}), InProgress, "", ""},
	} {
		f := tc.finding
		if f.Result != tc.want || f.isReported() != (tc.event != "") {
			t.Errorf("%s: %s, with an event: %t; want %s", name, f.Result, f.isReported(), tc.want)
		}
		if text := f.message(); tc.event != "" && (f.event().Type != tc.event || !strings.Contains(text, "only observes") || !strings.Contains(text, tc.next)) {
			t.Errorf("%s: a %s event %q", name, f.event().Type, text)
		}
	}
}

// TestNews: another text alone is no news.
func TestNews(t *testing.T) {
	t.Parallel()
	upgrade := func(version, why string) Finding {
		return DecisionFinding(release.Input{Desired: release.Desired{Chart: release.Chart{Name: "c", Version: version}}},
			release.Decision{Rule: release.RuleOutOfSync, Action: release.Upgrade{}, Why: why})
	}
	for name, tc := range map[string]struct {
		before, now Finding
		want        bool
	}{
		"First":   {Finding{}, upgrade("1", "a"), true},
		"Text":    {upgrade("1", "a"), upgrade("1", "b"), false},
		"Version": {upgrade("1", "a"), upgrade("2", "a"), true},
		"Over":    {upgrade("1", "a"), Finding{Result: NothingToDo}, false},
		"Reason":  {Finding{Result: WouldBlock, Reason: "a"}, Finding{Result: WouldBlock, Reason: "b"}, true},
	} {
		if got := tc.now.isNews(tc.before); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}

type results map[types.NamespacedName]string

func (v results) Observed(hr types.NamespacedName, result string) { v[hr] = result }

// TestReports: a finding is reported once, and not while the controller that leads works on the
// release, which has a limit.
func TestReports(t *testing.T) {
	t.Parallel()
	now := time.Now()
	events, metric := make(controllertest.Events, 10), results{}
	r := NewReporter(events, metric, func() time.Time { return now })
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", Generation: 2}}
	hr.Spec.Interval.Duration = time.Hour
	hr.Status.ObservedGeneration = 2
	upgrade := release.Decision{Rule: release.RuleOutOfSync, Action: release.Upgrade{}, Why: "reason"}
	observe := func(d release.Decision, want Result, pause time.Duration, sent int) {
		t.Helper()
		again := r.Decided(t.Context(), hr, release.Input{}, d)
		got := metric[types.NamespacedName{Namespace: "n", Name: "a"}]
		if got != string(want) || again != pause || len(events) != sent {
			t.Errorf("result %s, again after %s, %d events; want %s, %s, %d", got, again, len(events), want, pause, sent)
		}
		for len(events) > 0 {
			<-events
		}
	}
	progressing := func(reason string) {
		hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReconciling, Status: metav1.ConditionTrue, Reason: reason}}
	}
	observe(upgrade, WouldUpgrade, maxInterval, 1)
	observe(upgrade, WouldUpgrade, maxInterval, 0)
	progressing(helmv2.ReasonProgressing)
	observe(upgrade, InProgress, settle, 0)
	now = now.Add(helmv2.DefaultTimeout + patience)
	observe(upgrade, WouldUpgrade, maxInterval, 0)
	progressing(helmv2.ReasonProgressing + "WithRetry")
	observe(upgrade, WouldUpgrade, maxInterval, 0)
	observe(release.Decision{Rule: release.RuleInSync, Action: release.Settle{}}, NothingToDo, maxInterval, 0)
	observe(upgrade, WouldUpgrade, maxInterval, 1)
	// A new generation, which the controller that leads does not observe.
	hr.Generation = 3
	observe(upgrade, InProgress, settle, 0)
	now = now.Add(patience - 1)
	observe(upgrade, InProgress, settle, 0)
	now = now.Add(1)
	observe(upgrade, WouldUpgrade, maxInterval, 0)
	observe(release.Decision{Rule: release.RuleInSync, Action: release.Settle{}}, NothingToDo, maxInterval, 0)
	// The controller that leads does not observe a suspended HelmRelease.
	hr.Generation = 4
	observe(release.Decision{Rule: release.RuleSuspended, Action: release.Settle{}}, Suspended, maxInterval, 0)
	r.Forget(types.NamespacedName{Namespace: "n", Name: "a"})
	hr.Status.ObservedGeneration = 4
	observe(release.Decision{Rule: release.RuleFailed, Action: release.Wait{Obstacle: "x"}}, WouldWait, blockedInterval, 1)
}

// TestForget: a HelmRelease that is created again is reported again.
func TestForget(t *testing.T) {
	t.Parallel()
	events := make(controllertest.Events, 10)
	r := NewReporter(events, results{}, time.Now)
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
	stall := release.Decision{Rule: release.RuleRetriesExhausted, Action: release.Stall{Reason: "x"}}
	r.Decided(t.Context(), hr, release.Input{}, stall)
	r.Forget(types.NamespacedName{Namespace: "n", Name: "a"})
	r.Decided(t.Context(), hr, release.Input{}, stall)
	var all []string
	for len(events) > 0 {
		all = append(all, <-events)
	}
	if len(all) != 2 || slices.ContainsFunc(all, func(e string) bool { return !strings.HasPrefix(e, "Warning WouldStall ") }) {
		t.Errorf("events are %q", all)
	}
}
