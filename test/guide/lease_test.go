// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/fluxcd/pkg/runtime/leaderelection"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	election "k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	leaseName     = "helm-controller-leader-election"
	labelSelector = "--watch-label-selector="
)

// elect starts the process of a container as soon as its Pod holds the Lease. helm-controller reads
// the namespace of its Lease from a file that only containers have, so the node acquires the same
// Lease for it, with the durations that are its defaults.
func (n *node) elect(c *container, kubeconfig string, args []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	name := leaseName
	for _, arg := range args {
		if selector, ok := strings.CutPrefix(arg, labelSelector); ok {
			name = leaderelection.GenerateID(name, selector)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	elector, err := election.NewLeaderElector(election.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}, Client: clients.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: c.pod},
		},
		LeaseDuration: 35 * time.Second, RenewDeadline: 30 * time.Second, RetryPeriod: 5 * time.Second, ReleaseOnCancel: true,
		Callbacks: election.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				if ctx.Err() == nil {
					if err := c.Start(); err != nil {
						n.fail(err)
					}
				}
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		cancel()
		return err
	}
	go func() {
		defer close(done)
		elector.Run(ctx)
	}()
	c.release = func() {
		cancel()
		<-done
	}
	return nil
}

// holder returns the identity in a Lease.
func holder(ctx context.Context, lease client.ObjectKey) string {
	o := &coordinationv1.Lease{}
	if err := env.Client.Get(ctx, lease, o); err != nil {
		return err.Error()
	}
	if o.Spec.HolderIdentity == nil {
		return ""
	}
	return *o.Spec.HolderIdentity
}

// holds reports whether an identity is that of the container. The identity of Pintle begins with the
// name of the machine, which is that of the Pod in a real cluster. Then only one process of Pintle
// runs.
func (c *container) holds(identity string) bool {
	host, err := os.Hostname()
	return identity == c.pod || err == nil && strings.HasPrefix(identity, host+"_") && strings.HasPrefix(c.image, ours)
}
