// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// setBaking reports that a release is watched until a time; zero if it is not. Ready is Unknown where
// it would be True. Ready and Released must be set before.
func (c *conditions) setBaking(until time.Time, want release.Desired) {
	if until.IsZero() {
		c.remove(helmv2.ConditionBaking)
		return
	}
	text := message.Of(message.Baking, message.Facts{
		Cause: fmt.Sprintf("%s demands that the objects of the release are watched", want.Demands.Bake().Policy),
		Until: until.UTC().Format(time.RFC3339),
	}).String()
	c.set(helmv2.ConditionBaking, metav1.ConditionTrue, helmv2.ReasonBaking, text)
	if c.get(helmv2.ConditionReady).Status == metav1.ConditionTrue {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonBaking, text)
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonBaking, text)
	}
}

// startBaking begins the bake of the revision that an install, upgrade or recheck has deployed.
func (c *conditions) startBaking(o release.Outcome) {
	if len(o.Revisions) == 0 || o.Revisions[0].Rollback {
		c.setBaking(time.Time{}, o.Desired)
		return
	}
	made := o.Revisions[0]
	if made.Ended.IsZero() {
		made.Ended = o.Ended.Truncate(time.Second)
	}
	c.setBaking(release.BakesUntil(o.Desired, &made), o.Desired)
}

// keepBaking keeps Ready Unknown if the release is watched.
func (c *conditions) keepBaking() {
	baking := c.get(helmv2.ConditionBaking)
	if baking.Status == metav1.ConditionTrue && c.get(helmv2.ConditionReady).Status == metav1.ConditionTrue {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, baking.Reason, baking.Message)
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, baking.Reason, baking.Message)
	}
}

// bakeSucceeded returns the event at the end of a bake without trouble.
func bakeSucceeded(last *helmv2.Snapshot, want release.Desired) Event {
	text := fmt.Sprintf("The objects of release %s were watched for %s, without trouble", last.FullReleaseName(), message.Duration(want.Demands.Bake().Time))
	return normal(helmv2.EventReasonBakeSucceeded, text, snapshotMetadata(last))
}

// finishBake reports that a release was found in trouble while it was watched. That is a failure of the
// action that made the revision. Without a failure, its objects have become ready again.
func finishBake(r *Report, c *conditions, o release.Outcome) {
	status := &r.Status
	status.History = update(status.History, o.Revisions)
	last := release.Latest(status.History)
	switch {
	case o.EndedEarly():
		finishInterrupted(r, c, o)
	case last != nil && o.Err != nil && o.Stored():
		failRecorded(r, c, o, last)
		c.setBaking(time.Time{}, o.Desired)
	case o.Err != nil:
		// The record could not be written: the next look tries again.
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, o.Err.Error())
	}
}

// adoptedBake returns when the bake of a revision ends that is adopted; zero if it is not watched.
func adoptedBake(in release.Input) time.Time {
	newest := in.Observed.Newest()
	until := release.BakesUntil(in.Desired, newest)
	if newest.Status != helmv2.StatusDeployed || newest.Rollback || !until.After(in.Now) {
		return time.Time{}
	}
	return until
}
