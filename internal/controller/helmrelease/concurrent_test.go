// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
	"github.com/pintle-dev/pintle/internal/watch"
	"github.com/pintle-dev/pintle/test/controllertest"
)

// crowd is a stub for several releases in sync, whose charts render differently each time. It has no
// lock, which could hide a missing lock of the Reconciler.
type crowd struct {
	stub

	rendered map[string]*int
}

func (c *crowd) Resolve(_ context.Context, hr *helmv2.HelmRelease, suspension release.Suspension) (inputs.Want, error) {
	want := c.want(release.RequestsOf(hr.Annotations), suspension)
	want.UID, want.Target.Name = string(hr.UID), hr.Name
	return want, nil
}

func (c *crowd) History(_ context.Context, _ genericclioptions.RESTClientGetter, target release.Target, _ helmv2.Snapshots) ([]release.Revision, error) {
	return c.revisions(target.Name), nil
}

func (c *crowd) revisions(name string) []release.Revision {
	return []release.Revision{{
		Name: name, Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, Sealed: true, Owner: "uid-" + name,
		ChartVersion: c.version, ConfigDigest: c.values,
	}}
}

func (c *crowd) Capabilities(genericclioptions.RESTClientGetter) (string, error) {
	return time.Now().String(), nil
}

func (c *crowd) Rerender(_ context.Context, _ genericclioptions.RESTClientGetter, job helm.Job, _ int) (release.RenderResult, error) {
	*c.rendered[job.Origin.Name]++
	return release.RenderResult{Reads: true, Capabilities: time.Now().String()}, nil
}

// calm are live objects that are as they should be.
type calm struct{ livestub }

func (*calm) Detect(context.Context, drift.Request) (*release.Drift, error) {
	return &release.Drift{}, nil
}

func (*calm) Forget(types.NamespacedName) {}

func (*calm) WatchKinds(types.NamespacedName, watch.Cluster, []schema.GroupVersionResource) {}

// TestConcurrently: releases are reconciled side by side, while their charts are rendered and the
// capabilities of the API server change, for the race detector.
func TestConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const releases, rounds = 8, 20
		s := &crowd{stub: stub{mode: helmv2.DriftDetectionWarn, version: "1.0.0", values: "sha256:values"}, rendered: map[string]*int{}}
		r := testReconciler(t, &stub{})
		enqueued := 0
		events := &readers{memory: r.memory, enqueue: func(key types.NamespacedName) {
			enqueued++
			r.memory.With(key, func(m *memory) { m.sync.changed = true })
		}}
		ctx, stop := context.WithCancel(t.Context())
		pool, stopped := attempt.NewPool(releases, time.Now, func(types.NamespacedName) {}), make(chan error)
		go func() { stopped <- pool.Start(ctx) }()
		r.helm, r.attempts, r.events = s, pool, make(controllertest.Events, 1000)
		r.inputs.resolver, r.comparer.detector, r.comparer.objects = s, &calm{}, &calm{}
		synctest.Wait()

		var all sync.WaitGroup
		for i := range releases {
			hr := &helmv2.HelmRelease{
				ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: fmt.Sprint("app-", i), Finalizers: []string{helmv2.Finalizer}},
				Spec:       helmv2.HelmReleaseSpec{ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "web"}},
			}
			hr.UID, s.rendered[hr.Name] = types.UID("uid-"+hr.Name), new(int)
			if err := r.client.Create(t.Context(), hr); err != nil {
				t.Fatal(err)
			}
			hr.Status = status.Finished(hr, release.Outcome{
				Action:    release.Install{},
				Desired:   release.Desired{UID: string(hr.UID), Target: release.Target{Name: hr.Name, Namespace: "apps", StorageNamespace: "apps"}},
				Revisions: s.revisions(hr.Name), Started: time.Now(), Ended: time.Now(),
			}, time.Now()).Status
			hr.Status.StorageNamespace = "apps"
			if err := r.client.Status().Update(t.Context(), hr); err != nil {
				t.Fatal(err)
			}
			key := types.NamespacedName{Namespace: hr.Namespace, Name: hr.Name}
			all.Go(func() {
				for range rounds {
					if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Minute)
				}
			})
		}
		all.Go(func() {
			for range rounds {
				// The event has its effect at the moment at which the releases are reconciled.
				time.Sleep(time.Minute - capabilitiesDelay)
				events.capabilitiesChanged()
				time.Sleep(capabilitiesDelay)
			}
		})
		all.Wait()
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		for name, n := range s.rendered {
			if *n < rounds/2 {
				t.Errorf("the chart of %s was rendered %d times", name, *n)
			}
		}
		if enqueued < rounds/2*releases {
			t.Errorf("the events have enqueued %d times", enqueued)
		}
	})
}
