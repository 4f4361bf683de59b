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
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/options"
)

// election holds the lock of leader election and its fence. Both fields are nil without leader
// election.
type election struct {
	fence    *leader.Fence
	recorder *lateRecorder
	// observes is true in a process that writes nothing but its report.
	observes bool
}

// elects reports whether a leader is elected. A process that only observes runs beside the leader.
func elects(o *options.Options) bool { return o.LeaderElection.Enable && !o.Observe }

// controllerName returns the name of the controller in events and requests.
func controllerName(o *options.Options) string {
	if o.Observe {
		return observerName
	}
	return helmv2.ControllerName
}

// observeAs returns the name under which the process only observes; empty if it acts.
func observeAs(o *options.Options) string {
	if !o.Observe {
		return ""
	}
	return observerName
}

// observerName distinguishes the requests and events of a process that only observes from the
// requests and events of the leading controller.
const observerName = "pintle-observe"

// newElection returns an election whose lease is requested with config. config must not be
// restricted to the leader, since the lease is acquired before.
func newElection(config *rest.Config, o *options.Options, m *metrics.Metrics) (*election, error) {
	if !elects(o) {
		if !o.Observe {
			ctrl.Log.Info("without --enable-leader-election, other controllers are not looked for")
		}
		return &election{observes: o.Observe}, nil
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
	if o.LooksForOthers() {
		if lock, err = newStandby(config, o, lock, recorder, m); err != nil {
			return nil, err
		}
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

// forReleases returns the transport wrapper of connections to the clusters of releases. It rejects
// writes unless this replica holds the lease, and all writes of a process that only observes. It is
// nil without leader election.
func (e *election) forReleases() transport.WrapperFunc {
	switch {
	case e.observes:
		return leader.ObserveReleases
	case e.fence == nil:
		return nil
	}
	return e.fence.Guard
}

// restrict returns a copy of config whose clients write only while this replica holds the lease. A
// process that only observes writes nothing but its report.
func (e *election) restrict(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	if e.observes {
		config.Wrap(leader.ObserveOwn)
		return config
	}
	config.Wrap(e.forReleases())
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
