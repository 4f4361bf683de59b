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

// election holds the lock of leader election and its fence. Both fields are nil without leader
// election.
type election struct {
	fence    *leader.Fence
	recorder *lateRecorder
}

// newElection returns an election whose lease is requested with config. config must not be
// restricted to the leader, since the lease is acquired before.
func newElection(config *rest.Config, o *options.Options) (*election, error) {
	if !o.LeaderElection.Enable {
		return &election{}, nil
	}
	recorder := &lateRecorder{}
	lock, err := leaderelection.NewResourceLock(config, recorder, leaderelection.Options{
		LeaderElection:          true,
		LeaderElectionID:        leaseName(o),
		LeaderElectionNamespace: o.RuntimeNamespace,
		RenewDeadline:           o.LeaderElection.RenewDeadline,
	})
	if err != nil {
		return nil, err
	}
	fence := leader.New(lock, leader.Options{Limit: o.LeaderElection.RenewDeadline, Now: time.Now, Lost: func() {
		// A graceful shutdown would have to write, and another replica leads.
		ctrl.Log.Error(errors.New("another replica holds the lease"), "lost the lease, exiting", "lease", lock.Describe())
		os.Exit(1)
	}})
	return &election{recorder: recorder, fence: fence}, nil
}

func leaseName(o *options.Options) string {
	return o.LeaseName(helmv2.ControllerName + "-leader-election")
}

// leaderOnly returns a transport wrapper that rejects writes unless this replica holds the lease.
// It returns nil without leader election.
func (e *election) leaderOnly() transport.WrapperFunc {
	if e.fence == nil {
		return nil
	}
	return e.fence.Guard
}

// restrict returns a copy of config whose clients write only while this replica holds the lease.
func (e *election) restrict(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(e.leaderOnly())
	return config
}

// options adds the lock to the options of a manager.
func (e *election) options(opts ctrl.Options) ctrl.Options {
	if e.fence != nil {
		opts.LeaderElectionResourceLockInterface = e.fence
	}
	return opts
}

// recordEvents connects the lock's event recorder to the manager, which is created after the lock.
func (e *election) recordEvents(mgr ctrl.Manager) {
	if e.fence != nil {
		e.recorder.EventRecorder = mgr.GetEventRecorderFor(e.recorder.name) //nolint:staticcheck // the lock needs the deprecated API
	}
}

// lateRecorder is an event recorder for a lock that is created before the manager. It must not be
// used before EventRecorder is set.
type lateRecorder struct {
	record.EventRecorder

	name string
}

// GetEventRecorderFor implements recorder.Provider.
func (r *lateRecorder) GetEventRecorderFor(name string) record.EventRecorder {
	r.name = name
	return r
}

// GetEventRecorder implements recorder.Provider. The lock does not call it.
func (r *lateRecorder) GetEventRecorder(string) recorder.EventRecorder { return nil }
