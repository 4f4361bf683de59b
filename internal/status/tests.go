// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// setTested sets TestSuccess from the test hooks of the newest revision. Only the outcome of the
// tests has their error, so that the message of a failure stays.
func (c *conditions) setTested(s *helmv2.Snapshot, want release.Desired) {
	if !want.Policy.Tests || s == nil {
		c.remove(helmv2.ConditionTestSuccess)
		return
	}
	hooks, _ := s.GetTestHooks()
	for name, h := range hooks {
		if h == nil || h.Phase != helmv2.TestPhaseFailed {
			continue
		}
		if old := c.get(helmv2.ConditionTestSuccess); old.Status == metav1.ConditionFalse {
			c.set(old.Type, old.Status, old.Reason, old.Message)
			return
		}
		c.set(helmv2.ConditionTestSuccess, metav1.ConditionFalse, helmv2.ReasonTestFailed, testFailedMessage(s, name+" failed"))
		return
	}
	if release.Tested(s) {
		c.set(helmv2.ConditionTestSuccess, metav1.ConditionTrue, helmv2.ReasonTestSucceeded, testedMessage(s))
		return
	}
	c.set(helmv2.ConditionTestSuccess, metav1.ConditionUnknown, helmv2.ReasonAwaitingTests, awaitingTestsMessage(s))
}

// finishTest reports the end of a run of the tests. An interrupted run is not recorded, because
// its results in storage are incomplete.
func finishTest(r *Report, c *conditions, o release.Outcome) {
	status := &r.Status
	last := release.Latest(status.History)
	if last == nil {
		return
	}
	if o.EndedEarly() {
		finishInterrupted(r, c, o)
		return
	}
	if len(o.Revisions) > 0 && o.Revisions[0].Version == last.Version {
		status.History = update(status.History, o.Revisions)
		last = release.Latest(status.History)
		last.SetTestHooks(testHooks(o.Revisions[0].Tests, o.Desired.Policy.TestFilters))
	} else if o.Err == nil {
		// Without test hooks, Helm stores nothing.
		last.SetTestHooks(nil)
	}
	if o.Err == nil {
		c.setTested(last, o.Desired)
		done := c.get(helmv2.ConditionTestSuccess)
		c.summarize(status, o.Desired)
		c.remove(helmv2.ConditionReconciling)
		r.Events = append(r.Events, normal(helmv2.ReasonTestSucceeded, done.Message, withLogs(snapshotMetadata(last), containerLogs(o.HookLogs))))
		return
	}
	message := withSummary(o, testFailedMessage(last, o.Err.Error()))
	c.set(helmv2.ConditionTestSuccess, metav1.ConditionFalse, helmv2.ReasonTestFailed, message)
	c.summarize(status, o.Desired)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, message)
	if release.Tested(last) && !release.IgnoresTests(o.Desired, *status) {
		countFailure(status, status.LastAttemptedReleaseAction)
	} else {
		status.Failures++
	}
	if !release.Tested(last) {
		r.Retry = release.Backoff()
	}
	r.Events = append(r.Events, warning(helmv2.ReasonTestFailed, message, withDiagnosis(snapshotMetadata(last), o)))
}

// testHooks returns the test hooks for history, of the tests that the filters select.
func testHooks(runs map[string]release.TestRun, filters []release.TestFilter) map[string]*helmv2.TestHookStatus {
	hooks := map[string]*helmv2.TestHookStatus{}
	for name, run := range runs {
		if !selected(name, filters) {
			continue
		}
		hooks[name] = &helmv2.TestHookStatus{
			LastStarted: seconds(run.Started), LastCompleted: seconds(run.Completed), Phase: run.Phase,
		}
	}
	return hooks
}

// selected reports whether the filters select a test, as in Helm. Exclusion takes precedence. If
// some filter includes tests, only those are selected.
func selected(name string, filters []release.TestFilter) bool {
	named, some := false, false
	for _, f := range filters {
		switch {
		case f.Exclude && f.Name == name:
			return false
		case !f.Exclude:
			some = true
			named = named || f.Name == name
		}
	}
	return named || !some
}
