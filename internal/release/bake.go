// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"strings"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// bakePoll is the pause between two looks at a release that bakes.
	bakePoll = 15 * time.Second
	// bakeUnready is how long objects of a release that bakes may be unready. Pods that are evicted or
	// scaled are ready again in this time.
	bakeUnready = time.Minute
	// bakeConfirm is how long objects that are not ready are waited for before the bake fails. The wait
	// finds the cause.
	bakeConfirm = 5 * time.Second
)

// Bake is the result of one look at the objects of a release that bakes.
type Bake struct {
	// Trouble is trouble that readiness does not show: a container that fails again and again, or what
	// an expression of a policy describes. It is nil if there is none.
	Trouble *Diagnosis
	// Failed is true if an object has failed, so that waiting does not help.
	Failed bool
	// Waiting lists the objects that are not ready, each with its reason. UnreadySince is the time of
	// the first look that found some; zero if all are ready. A new process begins anew.
	Waiting      []string
	UnreadySince time.Time
}

// FailBake marks the deployed revision as failed, because of trouble after it was made. It creates no
// revision and changes no objects. If nothing but readiness is the trouble, and all objects become ready
// within Timeout, storage does not change.
type FailBake struct {
	Timeout time.Duration
	Version int
	// Trouble is the trouble; nil if objects are not ready.
	Trouble *Diagnosis
}

// baking applies while a release is watched after an install or upgrade, as a policy demands. Status
// records that, so that a restart does not end it. Trouble is a failure of the install or upgrade.
func baking(in Input) *Decision {
	until, is := bakes(in)
	if !is {
		return nil
	}
	left := until.Sub(in.Now)
	found := in.Observed.Bake
	if found == nil {
		found = &Bake{}
	}
	newest := in.Observed.Newest()
	switch unready := !found.UnreadySince.IsZero(); {
	case found.Trouble != nil:
		return &Decision{
			State: StateBaking, Action: FailBake{Version: newest.Version, Trouble: found.Trouble},
			Why: fmt.Sprintf("revision %d is in trouble: %s", newest.Version, found.Trouble.Summary),
		}
	case found.Failed || unready && (left <= 0 || in.Now.Sub(found.UnreadySince) >= bakeUnready):
		return &Decision{
			State: StateBaking, Action: FailBake{Version: newest.Version, Timeout: bakeConfirm},
			Why: fmt.Sprintf("objects of revision %d are no longer ready: %s", newest.Version, strings.Join(found.Waiting, "; ")),
		}
	case left <= 0 && in.Observed.Bake != nil:
		return nil
	}
	return &Decision{
		State: StateBaking, Action: Wait{After: min(max(left, time.Second), bakePoll), Bakes: until},
		Why: fmt.Sprintf("the objects of revision %d are watched", newest.Version),
	}
}

// bakes reports whether the newest revision is watched, and until when.
func bakes(in Input) (until time.Time, is bool) {
	demand, newest := in.Desired.Demands.Bake(), in.Observed.Newest()
	if !in.Observed.Baking || demand.Time == 0 || newest == nil || newest.Status != helmv2.StatusDeployed || newest.Rollback || !proven(in, newest) {
		return time.Time{}, false
	}
	return BakesUntil(in.Desired, newest), true
}

// BakesUntil returns when the bake of a revision ends; zero if no policy demands one.
func BakesUntil(want Desired, made *Revision) time.Time {
	demand := want.Demands.Bake()
	if demand.Time == 0 {
		return time.Time{}
	}
	return BakeStart(made).Add(demand.Time)
}

// BakeStart returns the time from which a revision bakes: the end of the action that made it.
func BakeStart(made *Revision) time.Time {
	if made.Ended.IsZero() {
		return made.LastWritten()
	}
	return made.Ended
}

// MustLookAtBake reports whether the decision depends on the objects of a release that bakes.
func MustLookAtBake(in Input) bool {
	return in.Observed.Bake == nil && decideUngated(in).Rule == RuleBaking
}

// failedBake reports whether the newest revision has failed its bake, and status does not have that: the
// process died in between.
func failedBake(in Input, last *helmv2.Snapshot, newest *Revision) bool {
	return in.Observed.Baking && newest.Status == helmv2.StatusFailed && last.Status == helmv2.StatusDeployed &&
		last.Version == newest.Version && last.Name == newest.Name && last.Namespace == newest.Namespace
}
