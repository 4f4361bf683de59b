// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/pintle-dev/pintle/internal/leader"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/options"
)

// reasonStandby is the reason of the event of a replica that waits for a controller in another
// namespace.
const reasonStandby = "Standby"

// newStandby returns lock, which is acquired only while no Lease of the same name is held in another
// namespace.
func newStandby(config *rest.Config, o *options.Options, lock resourcelock.Interface, recorder *lateRecorder, m *metrics.Metrics) (resourcelock.Interface, error) {
	config = rest.CopyConfig(config)
	// As for the lock itself.
	config.Timeout = o.LeaderElection.RenewDeadline / 2
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	namespace, name, _ := strings.Cut(lock.Describe(), "/")
	m.Switch.Standby(false)
	log := ctrl.Log.WithName("standby").WithValues("lease", lock.Describe())
	return leader.NewStandbyLock(lock, leader.StandbyOptions{
		Namespace: namespace, List: leader.LeaseLister(client, name), Retry: o.LeaderElection.RetryPeriod, Now: time.Now, Log: log,
		Waiting: func(other leader.Lease) {
			m.Switch.Standby(true)
			log.Info("waiting: a controller in another namespace leads", "namespace", other.Namespace, "holder", other.Holder)
			recorder.Eventf(
				&corev1.ObjectReference{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: namespace, Name: name},
				corev1.EventTypeWarning, reasonStandby,
				"Lease %s/%s is renewed by %s: a second controller would change the same releases. Nothing is reconciled here, and no release was changed. "+
					"This controller takes over when the other one has stopped; --allow-second-controller starts it beside the other one",
				other.Namespace, name, other.Holder)
		},
		Ended: func() {
			m.Switch.Standby(false)
			log.Info("no controller in another namespace leads any more")
		},
	}), nil
}
