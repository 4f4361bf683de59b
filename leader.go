// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/transport"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/leader"
	"github.com/pintle-dev/pintle/internal/options"
)

// election is how replicas take turns; nil if there is but one.
type election struct {
	fence *leader.Fence
	voice *voice
}

// newElection returns what leaders are elected with, over config, which must not be
// guarded itself: the lease is what opens the fence.
func newElection(config *rest.Config, o *options.Options) (*election, error) {
	if !o.LeaderElect {
		return nil, nil
	}
	v := &voice{}
	lock, err := leaderelection.NewResourceLock(config, v, leaderelection.Options{
		LeaderElection:          true,
		LeaderElectionID:        leaseName(o),
		LeaderElectionNamespace: o.RuntimeNamespace,
		RenewDeadline:           o.LeaseRenewDeadline,
	})
	if err != nil {
		return nil, err
	}
	return &election{voice: v, fence: leader.New(lock, o.LeaseRenewDeadline, time.Now, func() {
		// Not in order: nothing may be written any more that would tidy up.
		ctrl.Log.Error(errors.New("somebody else holds it"), "the lease is lost, this process ends at once", "lease", lock.Describe())
		os.Exit(1)
	})}, nil
}

func leaseName(o *options.Options) string {
	return o.LeaseName(helmv2.ControllerName + "-leader-election")
}

// guard returns what has writes be sent by the leader only; nil if there is no
// election.
func (e *election) guard() transport.WrapperFunc {
	if e == nil {
		return nil
	}
	return e.fence.Guard
}

// guarded returns a copy of config with which only the leader writes.
func (e *election) guarded(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(e.guard())
	return config
}

// options adds the lock to those of a manager.
func (e *election) options(opts ctrl.Options) ctrl.Options {
	if e != nil {
		opts.LeaderElectionResourceLockInterface = e.fence
	}
	return opts
}

// speak lets the election tell of itself in events, which takes a manager.
func (e *election) speak(mgr ctrl.Manager) {
	if e != nil {
		e.voice.EventRecorder = mgr.GetEventRecorderFor(e.voice.name) //nolint:staticcheck // the lock knows the old API only
	}
}

// voice is an event recorder for a lock that is made before what records events. It
// must not be used before EventRecorder is set.
type voice struct {
	record.EventRecorder

	name string
}

// GetEventRecorderFor implements recorder.Provider.
func (v *voice) GetEventRecorderFor(name string) record.EventRecorder {
	v.name = name
	return v
}

// GetEventRecorder implements recorder.Provider. Nobody asks for it.
func (v *voice) GetEventRecorder(string) recorder.EventRecorder { return nil }
