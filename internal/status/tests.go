// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"slices"

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
		c.keepBaking()
		r.Events = append(r.Events, normal(helmv2.ReasonTestSucceeded, done.Message, withLogs(snapshotMetadata(last), o.HookLogs, nil)))
		return
	}
	c.set(helmv2.ConditionTestSuccess, metav1.ConditionFalse, helmv2.ReasonTestFailed, testFailedMessage(last, o.Err.Error()))
	if release.Tested(last) && !release.IgnoresTests(o.Desired, *status) {
		countFailure(status, status.LastAttemptedReleaseAction)
	} else {
		status.Failures++
	}
	c.summarize(status, o.Desired)
	text := explain(c, c.get(helmv2.ConditionTestSuccess), status, o.Desired)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, text)
	c.keepBaking()
	event := explainResult(c, c.get(helmv2.ConditionTestSuccess), status, o.Desired, true)
	r.Events = append(r.Events, warning(helmv2.ReasonTestFailed, event, withDiagnosis(snapshotMetadata(last), o)))
}

// setRequestedTests sets TestSuccess from the last run of the tests, if that answers a request. The
// record of the revision has its results. A run that was interrupted does not count.
func (c *conditions) setRequestedTests(last *helmv2.Snapshot, in release.Input) {
	newest, requests := in.Observed.Newest(), in.Desired.Requests
	if last == nil || newest == nil || newest.Version != last.Version {
		return
	}
	// Of a chart without tests, the record has no run.
	none := newest.Tests == nil && requests.Test != "" && requests.Test == requests.TestHandled
	if newest.TestRequest == "" && !none {
		return
	}
	ran := *last
	ran.SetTestHooks(testHooks(newest.Tests, in.Desired.Policy.TestFilters))
	failed := failedTest(&ran)
	if failed == "" && !release.Tested(&ran) {
		return
	}
	c.requested = true
	switch old := c.get(helmv2.ConditionTestSuccess); {
	case failed == "":
		c.set(helmv2.ConditionTestSuccess, metav1.ConditionTrue, helmv2.ReasonTestSucceeded, testedMessage(&ran))
	case old.Status == metav1.ConditionFalse:
		// The outcome of the tests has set it, with their error.
		c.set(old.Type, old.Status, old.Reason, old.Message)
	default:
		c.set(helmv2.ConditionTestSuccess, metav1.ConditionFalse, helmv2.ReasonTestFailed, testFailedMessage(&ran, failed+" failed"))
	}
}

// failedTest returns the name of the first test that failed; empty if none has.
func failedTest(s *helmv2.Snapshot) string {
	hooks, _ := s.GetTestHooks()
	for _, name := range slices.Sorted(maps.Keys(hooks)) {
		if h := hooks[name]; h != nil && h.Phase == helmv2.TestPhaseFailed {
			return name
		}
	}
	return ""
}

// finishRequestedTest reports the end of a requested run of the tests. A failure is no failure of the
// release: it is not recorded in history, counted or remediated. An interrupted run is not repeated.
func finishRequestedTest(r *Report, c *conditions, o release.Outcome) {
	status := &r.Status
	last := release.Latest(status.History)
	if last == nil {
		return
	}
	if o.EndedEarly() {
		message := testInterruptedMessage(last, o.Err)
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, message)
		r.Events = append(r.Events, warning(helmv2.EventReasonTestInterrupted, message, snapshotMetadata(last)))
		return
	}
	ran := len(o.Revisions) > 0 && o.Revisions[0].Version == last.Version
	if ran {
		status.History = update(status.History, o.Revisions)
		last = release.Latest(status.History)
	}
	c.requested = true
	c.remove(helmv2.ConditionReconciling)
	if o.Err != nil {
		message := testFailedMessage(last, o.Err.Error())
		c.set(helmv2.ConditionTestSuccess, metav1.ConditionFalse, helmv2.ReasonTestFailed, message)
		r.Events = append(r.Events, warning(helmv2.ReasonTestFailed, message, withDiagnosis(snapshotMetadata(last), o)))
		return
	}
	last.SetTestHooks(nil)
	if ran {
		last.SetTestHooks(testHooks(o.Revisions[0].Tests, o.Desired.Policy.TestFilters))
	}
	message := testedMessage(last)
	c.set(helmv2.ConditionTestSuccess, metav1.ConditionTrue, helmv2.ReasonTestSucceeded, message)
	r.Events = append(r.Events, normal(helmv2.ReasonTestSucceeded, message, withLogs(snapshotMetadata(last), o.HookLogs, nil)))
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
