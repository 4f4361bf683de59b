// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// outageOf returns the outcome of an upgrade that the outage of a server has interrupted. The
// outage begins the given minutes after testNow.
func outageOf(server string, minutes int, cause string) release.Outcome {
	at := testNow.Add(time.Duration(minutes) * time.Minute)
	return release.Outcome{
		Action: release.Upgrade{}, Desired: testDesired(), Err: errors.New("no answer"), Started: at, Ended: at.Add(2 * time.Minute),
		Interrupted: &release.Outage{Server: server, Since: at.Add(300 * time.Millisecond), Cause: cause, Webhook: strings.HasPrefix(server, "webhook ")},
	}
}

// TestInterrupted: only the first of several interruptions has an event. The message keeps the
// beginning of the outage as long as the server is the same. The cause tells webhooks from others.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	hr := testObject()
	hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReleased, Status: metav1.ConditionTrue, Reason: helmv2.ReasonInstallSucceeded, Message: "it is there"}}
	before := hr.Status.DeepCopy()
	at := func(minutes int) string {
		return testNow.Add(time.Duration(minutes) * time.Minute).UTC().Format(time.RFC3339)
	}
	for i, tc := range []struct {
		reason  string
		o       release.Outcome
		message string
		event   bool
	}{
		{"first interruption", outageOf("the API server", 0, "refused"), "The API server has been unavailable since " + at(0) + ": refused", true},
		{"same outage", outageOf("the API server", 5, "refused"), "The API server has been unavailable since " + at(0) + ": refused", false},
		{"same server, another cause", outageOf("the API server", 6, "503"), "The API server has been unavailable since " + at(0) + ": 503", false},
		{"another server", outageOf("webhook a.b of the API server", 7, ""), "Webhook a.b of the API server has been unavailable since " + at(7), false},
		{"another server, same outage", outageOf("webhook a.b of the API server", 9, ""), "Webhook a.b of the API server has been unavailable since " + at(7), false},
		{"a server whose name is a prefix", outageOf("webhook a.b", 10, ""), "Webhook a.b has been unavailable since " + at(10), false},
	} {
		// Each attempt is for another generation.
		hr.Generation++
		tc.o.Desired.Generation = hr.Generation
		started := Started(hr, release.Decision{Action: release.Upgrade{}}, tc.o.Desired, tc.o.Started)
		kept := conditions{list: started.Status.Conditions}
		if ready := kept.get(helmv2.ConditionReady); i > 0 && (!kept.interrupted() || ready.ObservedGeneration != hr.Generation) || len(started.Events) != 0 {
			t.Errorf("%s: after the start, Ready is %+v, events %v", tc.reason, ready, started.Events)
		}
		hr.Status = started.Status
		r := Finished(hr, tc.o, tc.o.Ended)
		hr.Status = r.Status
		c := conditions{list: r.Status.Conditions}
		ready, reconciling := c.get(helmv2.ConditionReady), c.get(helmv2.ConditionReconciling)
		if ready.Status != metav1.ConditionFalse || ready.Reason != helmv2.ReasonInterrupted || firstPart(ready.Message) != tc.message {
			t.Errorf("%s: Ready is %+v", tc.reason, ready)
		}
		if reconciling.Status != metav1.ConditionTrue || reconciling.Reason != helmv2.ReasonProgressingWithRetry || c.get(helmv2.ConditionStalled).Type != "" {
			t.Errorf("%s: conditions %+v", tc.reason, c.list)
		}
		code := helmv2.ReasonInterrupted
		if tc.o.Interrupted.Webhook {
			code = helmv2.FailureWebhookUnavailable
		}
		if got := c.get(helmv2.ConditionFailing).Reason; got != code {
			t.Errorf("%s: the cause is %s, want %s", tc.reason, got, code)
		}
		if c.get(helmv2.ConditionReleased).Message != "it is there" {
			t.Errorf("%s: Released changed: %+v", tc.reason, c.list)
		}
		if s := r.Status; s.Failures != before.Failures || s.UpgradeFailures != before.UpgradeFailures || s.LastAttemptedReleaseActionDuration != nil {
			t.Errorf("%s: counted as a failure: %+v", tc.reason, s)
		}
		if !r.Retry.IsBackoff() || r.Retry.Limit() != release.MaxInterruptedDelay {
			t.Errorf("%s: retry %s", tc.reason, r.Retry)
		}
		if events := slices.Collect(eventReasons(r)); tc.event != slices.Equal(events, []string{"Warning/Interrupted"}) || !tc.event && len(events) != 0 {
			t.Errorf("%s: events %v", tc.reason, events)
		}
	}
}

func eventReasons(r Report) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, e := range r.Events {
			if !yield(e.Type + "/" + e.Reason) {
				return
			}
		}
	}
}

// TestInterruptedRecords: a pending revision of an interrupted action is not recorded yet, and a
// failed one is. There are no events about the inventory and the size of the record.
func TestInterruptedRecords(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status helmv2.ReleaseStatus
		want   []int
	}{
		"Pending": {helmv2.StatusPendingUpgrade, []int{1}},
		"Failed":  {helmv2.StatusFailed, []int{2, 1}},
	} {
		o := outageOf("the API server", 0, "refused")
		o.Revisions = []release.Revision{testRevision(2, tc.status)}
		o.Unlisted = errors.New("no answer")
		o.Record = &release.RecordSize{Bytes: 99, Limit: 100}
		r := Finished(testObject(), o, o.Ended)
		var got []int
		for _, s := range r.Status.History {
			got = append(got, s.Version)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: history %v", name, got)
		}
		if events := slices.Collect(eventReasons(r)); !slices.Equal(events, []string{"Warning/Interrupted"}) {
			t.Errorf("%s: events %v", name, events)
		}
	}
}

// TestInterruptedRetry: a retry with other inputs has no delay. A repeated force has one.
func TestInterruptedRetry(t *testing.T) {
	t.Parallel()
	begun := requesting("new", "")
	begun.Status.LastHandledForceAt = "new"
	newer := testObject()
	newer.Generation++
	for name, tc := range map[string]struct {
		hr     *helmv2.HelmRelease
		action release.HelmAction
		now    bool
	}{
		"Same":             {testObject(), release.Upgrade{}, false},
		"OtherSpec":        {newer, release.Upgrade{}, true},
		"ForceAsked":       {requesting("new", ""), release.Upgrade{}, true},
		"ForceStarted":     {begun, release.Upgrade{}, false},
		"UnlockComesFirst": {requesting("new", ""), release.Unlock{}, false},
	} {
		o := outageOf("the API server", 0, "")
		o.Action, o.Desired.Requests = tc.action, release.RequestsOf(tc.hr.Annotations)
		if r := Finished(tc.hr, o, o.Ended); r.Retry.IsNow() != tc.now || r.Retry.IsBackoff() == tc.now {
			t.Errorf("%s: retry %s", name, r.Retry)
		}
	}
}

// TestTransientObstacle: a transient obstacle does not replace the message of an interruption.
// Other obstacles do.
func TestTransientObstacle(t *testing.T) {
	t.Parallel()
	hr := testObject()
	o := outageOf("the API server", 0, "refused")
	hr.Status = Finished(hr, o, o.Ended).Status
	blocked := &release.Blocked{Reason: helmv2.ReasonStateError, Message: "no answer", Retry: release.Backoff()}
	for _, transient := range []bool{true, false} {
		blocked.Transient = transient
		r := Blocked(hr, blocked, o.Ended)
		c := conditions{list: r.Status.Conditions}
		if c.interrupted() != transient || (len(r.Events) == 0) != transient || !r.Retry.IsBackoff() {
			t.Errorf("transient %t: %+v, events %v, %s", transient, c.list, r.Events, r.Retry)
		}
	}
}

// TestInterruptedThenCancelled: an action that is cancelled during an outage is cancelled, and not
// interrupted.
func TestInterruptedThenCancelled(t *testing.T) {
	t.Parallel()
	o := outageOf("the API server", 0, "refused")
	o.Cancelled = true
	r := Finished(testObject(), o, o.Ended)
	c := conditions{list: r.Status.Conditions}
	if c.interrupted() || !r.Retry.IsNow() || len(r.Events) != 0 || strings.Contains(c.get(helmv2.ConditionReconciling).Message, "since") {
		t.Errorf("%+v, events %v, %s", c.list, r.Events, r.Retry)
	}
}

// TestResumed: the start of a resumed action names its revision, and does not handle a request to
// force. A new action does.
func TestResumed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		action  release.HelmAction
		message string
		forced  string
	}{
		"Install":       {release.Install{Timeout: time.Minute, Resume: 2}, "Resuming 'install' action of revision 2 with timeout of 1m0s", "old"},
		"Upgrade":       {release.Upgrade{Timeout: time.Minute, Resume: 2}, "Resuming 'upgrade' action of revision 2 with timeout of 1m0s", "old"},
		"Rollback":      {release.Rollback{Timeout: time.Minute, Version: 1, Resume: 2}, "Resuming 'rollback' action of revision 2 with timeout of 1m0s", "old"},
		"AnotherAction": {release.Upgrade{Timeout: time.Minute}, "Running 'upgrade' action with timeout of 1m0s", "new"},
	} {
		hr, want := requesting("new", ""), testDesired()
		want.Requests = release.RequestsOf(hr.Annotations)
		r := Started(hr, release.Decision{Action: tc.action}, want, testNow)
		c := conditions{list: r.Status.Conditions}
		if got := c.get(helmv2.ConditionReconciling); got.Message != tc.message || got.Reason != helmv2.ReasonProgressing {
			t.Errorf("%s: Reconciling is %+v", name, got)
		}
		if r.Status.LastHandledForceAt != tc.forced || len(r.Events) != 0 {
			t.Errorf("%s: force %q is handled, events %v", name, r.Status.LastHandledForceAt, r.Events)
		}
	}
}

// TestResumedInVain: a resumed action that was rejected is repeated with back-off, even if a request
// to force is open, which the next action does not handle.
func TestResumedInVain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		action release.HelmAction
		outage *release.Outage
		now    bool
	}{
		"Rejected":           {release.Upgrade{Resume: 2}, nil, false},
		"Interrupted":        {release.Upgrade{Resume: 2}, &release.Outage{}, false},
		"RejectedAnother":    {release.Upgrade{}, nil, true},
		"InterruptedAnother": {release.Upgrade{}, &release.Outage{}, true},
	} {
		o := release.Outcome{Action: tc.action, Desired: testDesired(), Err: errors.New("no"), Interrupted: tc.outage}
		if r := Finished(requesting("new", ""), o, testNow); r.Retry.IsNow() != tc.now || r.Retry.IsBackoff() == tc.now {
			t.Errorf("%s: retry %s", name, r.Retry)
		}
	}
}

// TestResumedElsewhere: an action that another process has resumed is no failure. Ready stays, and
// the release is looked at again with back-off.
func TestResumedElsewhere(t *testing.T) {
	t.Parallel()
	for _, action := range []release.HelmAction{release.Install{}, release.Upgrade{Resume: 2}, release.Rollback{Version: 1}, release.Uninstall{Target: testDesired().Target}, release.Test{}} {
		hr := testObject()
		ready := conditions{list: hr.Status.Conditions}
		o := release.Outcome{
			Action: action, Desired: testDesired(), Err: fmt.Errorf("revision 2: %w", release.ErrResumedElsewhere),
			Revisions: []release.Revision{testRevision(2, helmv2.StatusPendingUpgrade)},
		}
		r := Finished(hr, o, testNow)
		c := conditions{list: r.Status.Conditions}
		if c.get(helmv2.ConditionReady) != ready.get(helmv2.ConditionReady) || len(r.Events) != 0 || len(r.Status.History) != 1 {
			t.Errorf("%T: Ready is %+v, events %v, %d snapshots", action, c.get(helmv2.ConditionReady), r.Events, len(r.Status.History))
		}
		if s := r.Status; s.Failures+s.InstallFailures+s.UpgradeFailures != 0 || !r.Retry.IsBackoff() || r.Retry.Limit() != release.MaxInterruptedDelay {
			t.Errorf("%T: counted as a failure, or not repeated: %s, %+v", action, r.Retry, s)
		}
		reconciling := c.get(helmv2.ConditionReconciling)
		if !strings.HasSuffix(reconciling.Message, " continues in another process") || !strings.HasPrefix(reconciling.Message, "The '"+release.Name(action)+"' action of release apps/web") {
			t.Errorf("%T: Reconciling is %+v", action, reconciling)
		}
	}
}

// TestShutdown: the pending revision of an action that a shutdown interrupted is not recorded.
func TestShutdown(t *testing.T) {
	t.Parallel()
	for status, want := range map[helmv2.ReleaseStatus]int{helmv2.StatusPendingUpgrade: 1, helmv2.StatusFailed: 2} {
		o := release.Outcome{
			Action: release.Upgrade{}, Desired: testDesired(), Err: release.ErrShutdown, Cancelled: true,
			Revisions: []release.Revision{testRevision(2, status)},
		}
		hr := testObject()
		hr.Status.LastAttemptedReleaseActionDuration = nil
		r := Finished(hr, o, testNow)
		if s := r.Status; len(s.History) != want || s.Failures != 0 || s.LastAttemptedReleaseActionDuration != nil || len(r.Events) != 0 || !r.Retry.IsNow() {
			t.Errorf("%s: %d snapshots, %d failures, events %v, retry %s", status, len(s.History), s.Failures, r.Events, r.Retry)
		}
	}
}

// TestReinstalling: Released states why a release that was never deployed is uninstalled, from the
// start of the uninstall to the end of the new install. Other uninstalls do not change it.
func TestReinstalling(t *testing.T) {
	t.Parallel()
	const why = "Helm release apps/web.v1 with chart web@1.1.0 was never deployed, and its install hooks have not all run: "
	hr, want := testObject(), testDesired()
	hr.Status.Conditions = nil
	released := func(r Report) metav1.Condition {
		c := conditions{list: r.Status.Conditions}
		return c.get(helmv2.ConditionReleased)
	}
	if got := released(Started(hr, release.Decision{Action: release.Uninstall{}}, want, testNow)); got.Type != "" {
		t.Errorf("another uninstall has begun, and Released is %+v", got)
	}
	action := release.Uninstall{Reinstall: true, Target: want.Target}
	r := Started(hr, release.Decision{Action: action}, want, testNow)
	if got := released(r); got.Status != metav1.ConditionFalse || got.Reason != helmv2.ReasonInstallFailed || got.Message != why+"the release is uninstalled and installed anew" {
		t.Errorf("at the start, Released is %+v", got)
	}
	hr.Status = r.Status
	r = Finished(hr, release.Outcome{Action: action, Desired: want}, testNow)
	got := released(r)
	if got.Status != metav1.ConditionFalse || got.Reason != helmv2.ReasonUninstallSucceeded || got.Message != why+"the release was uninstalled and is installed anew" {
		t.Errorf("at the end, Released is %+v", got)
	}
	if len(r.Events) != 1 || r.Events[0].Message != got.Message || len(r.Status.History) != 0 {
		t.Errorf("events %+v, history %+v", r.Events, r.Status.History)
	}
	hr.Status = r.Status
	if got := released(Started(hr, release.Decision{Action: release.Install{}}, want, testNow)); !strings.HasPrefix(got.Message, why) {
		t.Errorf("during the new install, Released is %+v", got)
	}
}
