// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	planning "github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

const (
	// maxMessage is the API server's limit for messages.
	maxMessage = 32768
)

// check returns an error if the status violates an invariant.
func (w *World) check() error {
	s := &w.hr.Status
	is := func(kind string) bool { return apimeta.IsStatusConditionTrue(s.Conditions, kind) }
	if is(helmv2.ConditionReconciling) && is(helmv2.ConditionStalled) {
		return fmt.Errorf("both Reconciling and Stalled: %+v", s.Conditions)
	}
	if is(helmv2.ConditionReady) && is(helmv2.ConditionStalled) {
		return fmt.Errorf("ready although stalled: %+v", s.Conditions)
	}
	if len(s.Conditions) > 0 && apimeta.FindStatusCondition(s.Conditions, helmv2.ConditionReady) == nil {
		return fmt.Errorf("conditions without Ready: %+v", s.Conditions)
	}
	stalled := apimeta.FindStatusCondition(s.Conditions, helmv2.ConditionStalled)
	if stalled != nil && stalled.Reason == helmv2.ReasonRetriesExceeded && stalled.ObservedGeneration == w.hr.Generation &&
		w.want.Policy.Upgrade.Retry && w.want.Policy.Install.Retry {
		return fmt.Errorf("stalled with RetryOnFailure: %+v", stalled)
	}
	for i := range s.Conditions {
		if err := checkCondition(&s.Conditions[i], w.hr.Generation); err != nil {
			return err
		}
	}
	if err := checkStored(w.stores, w.usedCLI, w.attacked); err != nil {
		return err
	}
	if len(s.History) > release.HistoryLimit {
		return fmt.Errorf("%d snapshots in the history", len(s.History))
	}
	for i := 1; i < len(s.History); i++ {
		if s.History[i-1].Version <= s.History[i].Version {
			return fmt.Errorf("history is not newest first: %d before %d", s.History[i-1].Version, s.History[i].Version)
		}
	}
	return nil
}

// checkStored returns an error if a finished hook has run again, or an interrupted or outdated
// revision is a rollback target of Helm.
func checkStored(stores map[string]*storage, usedCLI, attacked bool) error {
	if attacked {
		// Labels and the progress of hooks may be those of an older record.
		return nil
	}
	for _, store := range stores {
		for hook, times := range store.ran.finished {
			if times > 1 {
				return fmt.Errorf("hook %s has succeeded %d times", hook, times)
			}
		}
		for _, r := range store.revisions {
			if r.EndedEarly() && (r.Status == helmv2.StatusDeployed || r.Status == helmv2.StatusSuperseded) && r.Deleted.IsZero() && !usedCLI {
				return fmt.Errorf("revision %d ended early and is %s", r.Version, r.Status)
			}
		}
	}
	return nil
}

// checkResumed returns an error if a decision closes a revision whose action could be resumed: a
// further revision for the same inputs would follow.
func checkResumed(in release.Input, d release.Decision) error {
	newest := in.Observed.Newest()
	if _, unlocks := d.Action.(release.Unlock); !unlocks || newest.Owner != uid || newest.Attempt == nil {
		return nil
	}
	if last := release.Latest(in.Recorded.History); last != nil &&
		(last.Version >= newest.Version || !last.FirstDeployed.Time.Equal(newest.FirstDeployed.Truncate(time.Second))) {
		// The action has ended, or is of another life of the release: its record may have been stored
		// again.
		return nil
	}
	a := newest.Attempt
	helm := a.Action == helmv2.ActionInstall || len(in.Observed.Revisions) > 1
	target := a.RollbackTo == 0 || slices.ContainsFunc(in.Observed.Revisions, func(r release.Revision) bool { return r.Version == a.RollbackTo })
	if fits := string(newest.Status) == "pending-"+string(a.Action); fits && helm && target && requested(in.Desired, a) {
		return fmt.Errorf("revision %d is closed, although its inputs are requested: %+v", newest.Version, d)
	}
	return nil
}

// checkApproved returns an error if an action begins whose plan needs an approval that it does not have.
func (s steps) checkApproved(in release.Input, d release.Decision) error {
	demands := in.Desired.Demands
	begun := release.Resumed(d.HelmAction()) > 0 || in.Observed.Terminating
	switch a := d.HelmAction().(type) {
	case nil:
		return nil
	case release.Install, release.Upgrade:
	case release.Uninstall:
		begun = begun || s.current().ran.uninstalling
	case release.Rollback:
		if !a.Hold {
			return nil
		}
		demands = demands.OnRollback()
	case release.Test, release.Unlock, release.Recheck, release.FailBake, release.CorrectDrift:
		return nil
	}
	p, ref := s.plan, release.PlanOf(d.HelmAction())
	if !begun && (len(demands.Freezes) > 0 || len(demands.Closures) > 0) {
		if p == nil || p.override == nil || p.override.Void != "" || p.overridden != p.digest || p.rejected == p.digest || ref.Digest != p.digest || ref.Overrode == "" {
			return fmt.Errorf("%s begins although the release is frozen, or its window is closed: %+v", release.Name(d.Action), d)
		}
	} else if ref.Overrode != "" {
		return fmt.Errorf("%s overrides without need: %+v", release.Name(d.Action), d)
	}
	if ref.Replace != "" && (p == nil || ref.Digest != p.digest || p.approved != p.digest || p.rejected == p.digest || p.replace == nil || p.replace.Digest != p.digest || p.voidReplace != "") {
		return fmt.Errorf("%s replaces %s without an approval: %+v", release.Name(d.Action), ref.Replace, d)
	}
	if begun || !demands.NeedPlan() {
		return nil
	}
	if p == nil || release.PlanOf(d.HelmAction()).Digest != p.digest {
		return fmt.Errorf("%s begins without the plan %+v: %+v", release.Name(d.Action), p, d)
	}
	if needs := demands.Assess(p.action, planning.Removals(p.changes, nil), p.dangers).Needs; needs != "" && (p.approved != p.digest || p.rejected == p.digest) {
		return fmt.Errorf("%s begins without approval: %s", release.Name(d.Action), needs)
	}
	return nil
}

// requested reports whether the result of an attempt is requested: the rollback of a hold, or an action
// with the desired inputs.
func requested(want release.Desired, a *release.Attempt) bool {
	if want.Hold.Active || a.Hold {
		return a.Hold && want.Hold.To == a.RollbackTo
	}
	return a.Inputs == release.InputsOf(want)
}

func checkCondition(c *metav1.Condition, generation int64) error {
	switch {
	case c.Reason == "":
		return fmt.Errorf("condition %s has no reason", c.Type)
	case len(c.Message) > maxMessage:
		return fmt.Errorf("condition %s has a message of %d bytes", c.Type, len(c.Message))
	case c.Message == "":
		return fmt.Errorf("condition %s has no message", c.Type)
	case c.LastTransitionTime.IsZero():
		return fmt.Errorf("condition %s has no transition time", c.Type)
	case c.ObservedGeneration > generation:
		return fmt.Errorf("condition %s is of generation %d, which does not exist yet", c.Type, c.ObservedGeneration)
	}
	return nil
}

// checkDecision returns an error if conditions or a JSON round trip influence a decision.
func checkDecision(in release.Input, d release.Decision) error {
	blind := in
	blind.Recorded.Conditions = nil
	if got := release.Decide(blind); !reflect.DeepEqual(got, d) {
		return fmt.Errorf("conditions changed the decision: %+v, without them %+v", d, got)
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	var replayed release.Input
	if err := json.Unmarshal(raw, &replayed); err != nil {
		return err
	}
	if got := release.Decide(replayed); !reflect.DeepEqual(got, d) {
		return fmt.Errorf("replayed from JSON the decision is %+v, not %+v: %s", got, d, raw)
	}
	return nil
}

// checkForce returns an error if a force is handled twice, except after an announced action whose
// end was not recorded.
func (w *World) checkForce(d release.Decision, want release.Desired) error {
	token := want.Requests.Force
	if d.Rule == release.RuleForced && token == w.forced && !w.unrecorded && token == w.hr.Status.LastHandledForceAt {
		return fmt.Errorf("request %q is handled again: %+v", token, d)
	}
	return nil
}

// releaseEnded notes that the end of an install or upgrade was recorded, and with it the end of a
// force.
func (w *World) releaseEnded() {
	w.unrecorded = false
	if w.forcing != "" {
		w.forced, w.forcing = w.forcing, ""
	}
}

// isRelease reports whether an action is an install or upgrade.
func isRelease(a release.HelmAction) bool {
	name := helmv2.ReleaseAction(release.Name(a))
	return name == helmv2.ActionInstall || name == helmv2.ActionUpgrade
}

// checkStable returns an error if a repeated reconciliation writes status or emits events.
func checkStable(hr *helmv2.HelmRelease, end func(*helmv2.HelmRelease) status.Report) error {
	again := end(hr)
	if !equality.Semantic.DeepEqual(again.Status, hr.Status) {
		return fmt.Errorf("a repeated reconciliation writes status: %+v\nafter %+v", again.Status, hr.Status)
	}
	if len(again.Events) > 0 {
		return fmt.Errorf("a repeated reconciliation emits events: %+v", again.Events)
	}
	return nil
}

// checkEvents returns an error if an event has no action.
func checkEvents(all []status.Event) error {
	for _, e := range all {
		if e.Action == "" {
			return fmt.Errorf("event %s has no action", e.Reason)
		}
	}
	return nil
}
