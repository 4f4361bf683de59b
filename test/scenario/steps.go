// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"fmt"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// steps are the steps of one reconciliation. helm is the result of an action, and die the step
// after which the process dies.
type steps struct {
	observation
	helm helmResult
	die  string
}

// reconcileOnce plays the steps in the order of the controller.
func (w *World) reconcileOnce(helm helmResult, die string) error {
	s := steps{observation{w, w.desired()}, helm, die}
	if s.ended != nil {
		return s.record(die)
	}
	in, err := s.inputs()
	if err == nil {
		in, err = release.Observe(in, s.read)
	}
	if err != nil {
		return s.block(err)
	}
	d := release.Decide(in)
	if compute, is := d.Action.(release.ComputePlan); is {
		in = s.computePlan(in, compute)
		d = release.Decide(in)
	}
	s.useOverride(in)
	if err := s.decided(in, d); err != nil {
		return err
	}
	if d.Acts() {
		return s.begin(in, d)
	}
	return s.end(in, d)
}

func (s steps) inputs() (release.Input, error) {
	if refusal := s.want.Demands.Refusal; refusal != nil && !refusal.ChangesOnly {
		in := s.input(s.want)
		in.Observed.Unresolved = refusal.Policy + " refuses " + refusal.Field
		return in, nil
	}
	if s.blocked == nil || s.want.Deleted || s.want.Suspension.Active || s.running != nil {
		return s.input(s.want), nil
	}
	if !s.want.Hold.Active {
		return release.Input{}, s.blocked
	}
	in := s.input(s.want)
	in.Observed.Unresolved = s.blocked.Message
	return in, nil
}

// block publishes an obstacle.
func (s steps) block(err error) error {
	var blocked *release.Blocked
	if !errors.As(err, &blocked) {
		return err
	}
	return s.settle(func(hr *helmv2.HelmRelease) status.Report { return status.Blocked(hr, blocked, s.now) }, s.die)
}

// begin announces and plays an action.
func (s steps) begin(in release.Input, d release.Decision) error {
	if s.lockHolder != nil {
		return fmt.Errorf("%s although an Operation holds the lock", release.Name(d.Action))
	}
	return s.act(d, in, s.helm, s.die)
}

// end plays a decision that runs no action.
func (s steps) end(in release.Input, d release.Decision) error {
	if _, ok := d.Action.(release.Finalize); ok {
		s.gone, s.paused = true, true
		s.out.line("finalizer removed")
		s.out.events(status.Finalized(d, in))
		if d.State == release.StateAbsent {
			return s.leftBehind()
		}
		return nil
	}
	if wait, ok := d.Action.(release.Wait); ok && wait.Cancel {
		s.cancelFor(wait)
	}
	if _, ok := d.Action.(release.Adopt); ok && s.die != "announce" && !in.Observed.Newest().EndedEarly() {
		s.releaseEnded()
	}
	return s.settle(func(hr *helmv2.HelmRelease) status.Report { return status.Settled(hr, d, in) }, s.die)
}

// cancelFor cancels the running action. An install whose hooks have not all run waits on if only its
// inputs are outdated.
func (s steps) cancelFor(wait release.Wait) {
	if wait.Outdated && s.running.waitsOn() {
		s.running.told = true
		return
	}
	s.cancel(wait.Outdated)
}

// decided prints a decision and checks it.
func (s steps) decided(in release.Input, d release.Decision) error {
	if err := errors.Join(checkDecision(in, d), checkResumed(in, d), s.checkApproved(in, d), s.checkProven(in, d)); err != nil {
		return err
	}
	s.out.decision(d)
	if in.Observed.Denied && insists(d.HelmAction()) {
		s.out.line("insists")
	}
	return s.checkForce(d, s.want)
}

// input returns the parts of the input that are known without reading the release.
func (w *World) input(want release.Desired) release.Input {
	in := release.Input{Desired: want, Recorded: w.hr.Status, Now: w.now}
	in.Observed.Running = w.running.observed()
	in.Observed.Oversized, in.Observed.Accepted, in.Observed.Denied = w.oversized, w.accepted, status.Denied(w.hr.Status)
	in.Observed.Overridden = w.plan != nil && w.plan.override != nil
	in.Observed.Replaces = w.plan != nil && release.Replaces(w.plan.object())
	in.Observed.LockHolder, in.Observed.WaitingOperation = w.lockHolder, w.waiting
	return in
}

// observation reads the facts of the world. want is the desired state.
type observation struct {
	*World
	want release.Desired
}

// read returns in with one fact.
func (o observation) read(in release.Input, fact release.Fact) (release.Input, error) {
	have := &in.Observed
	var err error
	switch fact {
	case release.FactDependents:
		have.Dependents = o.dependents
	case release.FactConnection:
		have.Unreachable, err = o.connect()
	case release.FactRevisions:
		return o.revisions(in, o.access.behind), nil
	case release.FactConfirmation:
		return o.revisions(in, false), nil
	case release.FactRevision:
		version := release.MustReadRevision(in)
		return in.WithRevision(version, o.storedRevision(in, version)), nil
	case release.FactTarget:
		have.Target = o.checkTarget(in)
	case release.FactPreserved:
	case release.FactHealth:
		have.Health = &release.Health{Ready: !o.notReady}
	case release.FactDrift:
		found := o.live
		have.Drift = &found
	case release.FactDebounce:
		if o.debounce != nil {
			recent := *o.debounce
			have.Debounce = &recent
		}
	case release.FactNamespace:
		have.Terminating = o.access.ending
	case release.FactPlan:
		have.Plan = o.findPlan(in)
	case release.FactBake, release.FactTurn:
		// Scenarios have no rollouts.
	}
	return in, err
}
