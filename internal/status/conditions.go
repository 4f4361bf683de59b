// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// maxMessage is the longest condition message the API server takes.
const maxMessage = 32768

// conditions is the list being built for one status. It starts as a copy of the
// present list, of which a visit replaces what it has facts about.
type conditions struct {
	list       []metav1.Condition
	before     []metav1.Condition
	generation int64
	now        metav1.Time
}

func conditionsOf(hr *helmv2.HelmRelease, status *helmv2.HelmReleaseStatus, generation int64, now time.Time) conditions {
	return conditions{
		list:   slices.Clone(status.Conditions),
		before: hr.Status.Conditions,
		// The API server keeps whole seconds.
		now:        metav1.NewTime(now.Truncate(time.Second)),
		generation: generation,
	}
}

func (c *conditions) get(kind string) metav1.Condition {
	if i := c.index(kind); i >= 0 {
		return c.list[i]
	}
	return metav1.Condition{}
}

func (c *conditions) index(kind string) int {
	return slices.IndexFunc(c.list, func(x metav1.Condition) bool { return x.Type == kind })
}

// set replaces a condition. The transition time moves when status, reason or
// message do, as users of this API expect.
func (c *conditions) set(kind string, status metav1.ConditionStatus, reason, message string) {
	next := metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: storable(message),
		LastTransitionTime: c.now, ObservedGeneration: c.generation,
	}
	// What was written last is what people saw, however often it is set on the way.
	for _, old := range c.before {
		if old.Type == kind && same(old, next) {
			next.LastTransitionTime = old.LastTransitionTime
		}
	}
	if i := c.index(kind); i >= 0 {
		c.list[i] = next
		return
	}
	c.list = append(c.list, next)
}

// storable returns a message as the API server gives it back: what it would
// change on the way would look like news at every visit.
func storable(message string) string {
	return clipped(strings.ToValidUTF8(message, "\uFFFD"), maxMessage)
}

// clipped cuts the end off a text that has more bytes than limit.
func clipped(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const more = "..."
	// The cut may go through a character, of which nothing then stays.
	return strings.ToValidUTF8(text[:limit-len(more)], "") + more
}

// cancelled says that an action was ended on purpose: nobody's failure, and the
// next visit goes on from there.
func (c *conditions) cancelled(err error) {
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing, err.Error())
}

// progressing says what is being worked on. How the try before failed, if it did,
// is of more use, and to take it back at every try would be news each time.
func (c *conditions) progressing(blocked *release.Blocked) {
	old := c.get(helmv2.ConditionReady)
	if old.Status == metav1.ConditionFalse && old.Reason == blocked.Reason && old.ObservedGeneration == c.generation {
		return
	}
	c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, blocked.Message)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing, blocked.Message)
}

// touch moves the transition time of a condition forward even if nothing else
// in it changed.
func (c *conditions) touch(kind string) {
	i := c.index(kind)
	t := c.now
	for _, old := range c.before {
		if old.Type == kind && !t.After(old.LastTransitionTime.Time) {
			t = metav1.NewTime(old.LastTransitionTime.Add(time.Second))
		}
	}
	c.list[i].LastTransitionTime = t
}

// summarize makes Ready say what matters most: that something had to be
// remediated, how the tests went unless they do not count, or how the release
// ended.
func (c *conditions) summarize(status *helmv2.HelmReleaseStatus, want release.Desired) {
	if !want.Policy.Tests {
		c.remove(helmv2.ConditionTestSuccess)
	}
	if r := c.get(helmv2.ConditionRemediated); r.Type != "" {
		reason, message := remedied(r, c.failure(status, want))
		c.set(helmv2.ConditionReady, metav1.ConditionFalse, reason, message)
		return
	}
	if t := c.get(helmv2.ConditionTestSuccess); t.Type != "" && !release.IgnoresTests(want, *status) {
		c.set(helmv2.ConditionReady, t.Status, t.Reason, t.Message)
		return
	}
	if r := c.get(helmv2.ConditionReleased); r.Type != "" {
		c.set(helmv2.ConditionReady, r.Status, r.Reason, r.Message)
	}
}

// failure returns the condition of the failure that is remediated: Released, or TestSuccess if the
// tests count. Its type is empty if neither of them says that something failed, as after an unlock.
func (c *conditions) failure(status *helmv2.HelmReleaseStatus, want release.Desired) metav1.Condition {
	if r := c.get(helmv2.ConditionReleased); r.Reason == helmv2.ReasonInstallFailed || r.Reason == helmv2.ReasonUpgradeFailed {
		return r
	}
	if t := c.get(helmv2.ConditionTestSuccess); t.Status == metav1.ConditionFalse && !release.IgnoresTests(want, *status) {
		return t
	}
	return metav1.Condition{}
}

// asReleased makes Ready say what Released says, whatever came before it.
func (c *conditions) asReleased() {
	r := c.get(helmv2.ConditionReleased)
	c.set(helmv2.ConditionReady, r.Status, r.Reason, r.Message)
}

// suspension says that the release is left alone.
func (c *conditions) suspension(s release.Suspension) {
	c.set(helmv2.ConditionSuspended, metav1.ConditionTrue, helmv2.ReasonSuspended, s.Why)
}

func (c *conditions) remove(kinds ...string) {
	c.list = slices.DeleteFunc(c.list, func(x metav1.Condition) bool { return slices.Contains(kinds, x.Type) })
}

// news reports whether Ready says something it did not say before.
func (c *conditions) news() bool {
	i := slices.IndexFunc(c.before, func(x metav1.Condition) bool { return x.Type == helmv2.ConditionReady })
	return i < 0 || !same(c.before[i], c.get(helmv2.ConditionReady))
}

func same(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}

// released says that the snapshot's revision is deployed.
func released(c *conditions, s *helmv2.Snapshot) {
	if s == nil {
		return
	}
	reason, verb := helmv2.ReasonUpgradeSucceeded, helmv2.ActionUpgrade
	if s.Action == helmv2.ActionInstall || (s.Action == "" && s.Version == 1) {
		reason, verb = helmv2.ReasonInstallSucceeded, helmv2.ActionInstall
	}
	c.set(helmv2.ConditionReleased, metav1.ConditionTrue, reason, succeededMessage(verb, s))
}

// releaseFailed says that the newest revision failed, in the words Helm stored
// with it.
func releaseFailed(c *conditions, s *helmv2.Snapshot, newest *release.Revision) {
	action, reason := failedAction(s)
	c.set(helmv2.ConditionReleased, metav1.ConditionFalse, reason, storedFailureMessage(action, newest))
}

// stillFailed says the same of a failure that was recorded. The message it was
// recorded with is more exact and stays.
func stillFailed(c *conditions, s *helmv2.Snapshot, newest *release.Revision) {
	_, reason := failedAction(s)
	if old := c.get(helmv2.ConditionReleased); old.Status == metav1.ConditionFalse && old.Reason == reason {
		c.set(helmv2.ConditionReleased, old.Status, old.Reason, old.Message)
		return
	}
	releaseFailed(c, s, newest)
}

func failedAction(s *helmv2.Snapshot) (action helmv2.ReleaseAction, reason string) {
	if s != nil && (s.Action == helmv2.ActionInstall || (s.Action == "" && s.Version == 1)) {
		return helmv2.ActionInstall, helmv2.ReasonInstallFailed
	}
	return helmv2.ActionUpgrade, helmv2.ReasonUpgradeFailed
}
