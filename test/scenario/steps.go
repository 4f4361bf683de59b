// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"fmt"
	"time"

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

var _ release.Reconciler[struct{}] = steps{}

// reconcileOnce plays the steps in the order of the controller.
func (w *World) reconcileOnce(helm helmResult, die string) error {
	_, err := release.Reconcile(steps{observation{w, w.desired()}, helm, die})
	return err
}

func (s steps) Record() (none struct{}, ended bool, err error) {
	if s.ended == nil {
		return none, false, nil
	}
	return none, true, s.record(s.die)
}

func (s steps) Inputs() (release.Input, error) {
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

// Cached is not played: the memory of a process does not have the last result.
func (s steps) Cached(release.Input, time.Duration) (none struct{}, err error) { return none, nil }

func (s steps) Blocked(err error) (none struct{}, end error) {
	var blocked *release.Blocked
	if !errors.As(err, &blocked) {
		return none, err
	}
	return none, s.settle(func(hr *helmv2.HelmRelease) status.Report { return status.Blocked(hr, blocked, s.now) }, s.die)
}

func (s steps) Act(in release.Input, d release.Decision) (none struct{}, err error) {
	if err := s.decided(in, d); err != nil {
		return none, err
	}
	if s.lockHolder != nil {
		return none, fmt.Errorf("%s although an Operation holds the lock", release.Name(d.Action))
	}
	return none, s.act(d, in, s.helm, s.die)
}

func (s steps) Settle(in release.Input, d release.Decision) (none struct{}, err error) {
	if err := s.decided(in, d); err != nil {
		return none, err
	}
	if _, ok := d.Action.(release.Finalize); ok {
		s.gone, s.paused = true, true
		s.out.line("finalizer removed")
		s.out.events(status.Finalized(d, in))
		if d.State == release.StateAbsent {
			return none, s.leftBehind()
		}
		return none, nil
	}
	if wait, ok := d.Action.(release.Wait); ok && wait.Cancel {
		s.cancelFor(wait)
	}
	if _, ok := d.Action.(release.Adopt); ok && s.die != "announce" && !in.Observed.Newest().EndedEarly() {
		s.releaseEnded()
	}
	return none, s.settle(func(hr *helmv2.HelmRelease) status.Report { return status.Settled(hr, d, in) }, s.die)
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
	in.Observed.LockHolder, in.Observed.WaitingOperation = w.lockHolder, w.waiting
	return in
}

// observation reads the world for release.Observe. want is the desired state.
type observation struct {
	*World
	want release.Desired
}

func (o observation) Dependents() []release.Dependent { return o.dependents }

func (o observation) Makers(in release.Input) ([]release.Conflict, error) {
	return in.Observed.Conflicts, nil
}

func (o observation) PreservedDigest(release.Input) (string, error) { return "", nil }

func (o observation) Renderings(release.Input) release.Renderings { return release.Renderings{} }

func (o observation) Drift(release.Input) (*release.Drift, error) {
	found := o.live
	return &found, nil
}

func (o observation) Health(release.Input) (*release.Health, error) {
	return &release.Health{Ready: !o.notReady}, nil
}

func (o observation) Debounce(release.Input) *release.Debounce {
	if o.debounce == nil {
		return nil
	}
	recent := *o.debounce
	return &recent
}
