// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestRenderedOtherwise: mode enabled upgrades, warn says so, and a chart that does
// not read the cluster is not rendered twice.
func TestRenderedOtherwise(t *testing.T) {
	for mode, upgrades := range map[helmv2.DriftDetectionMode]bool{helmv2.DriftDetectionEnabled: true, helmv2.DriftDetectionWarn: false} {
		t.Run(string(mode), func(t *testing.T) {
			s := &stub{mode: mode, offers: "a", rendered: release.RenderResult{Reads: true, Changed: true, Capabilities: "a"}}
			r := testReconciler(t, s)
			now := time.Now()
			r.now = func() time.Time { return now }
			inSync(t, r, s)
			if reconcileOnce(t, r); s.aside != nil || s.begun != nil {
				t.Fatal("it is rendered when it is met")
			}
			now = now.Add(time.Minute)
			reconcileOnce(t, r)
			if s.renderings != 0 || s.begun != nil {
				t.Fatal("a reconciliation renders it")
			}
			s.doAside(t)
			reconcileOnce(t, r)
			if s.aside != nil || s.renderings != 1 || (s.begun != nil) != upgrades {
				t.Errorf("rendered %d times, upgraded: %t", s.renderings, s.begun != nil)
			}
			if upgrades {
				return
			}
			hr := &helmv2.HelmRelease{}
			if err := r.client.Get(t.Context(), key, hr); err != nil {
				t.Fatal(err)
			}
			if c := hr.Status.Conditions; !hasCondition(c, helmv2.ConditionDrifted, "the chart reads the cluster, and is rendered otherwise now") {
				t.Errorf("nothing is said: %+v", c)
			}
		})
	}
	s := &stub{mode: helmv2.DriftDetectionEnabled, offers: "a"}
	r := testReconciler(t, s)
	now := time.Now()
	r.now = func() time.Time { return now }
	inSync(t, r, s)
	for range 5 {
		reconcileOnce(t, r)
		if s.aside != nil {
			s.doAside(t)
		}
		now = now.Add(time.Hour)
		s.offers += "a"
	}
	if s.renderings != 1 {
		t.Errorf("rendered %d times", s.renderings)
	}
}

// rendering returns a reconciler that has begun to render the chart of a release in sync again.
func rendering(t *testing.T, s *stub) (r *Reconciler, now *time.Time) {
	t.Helper()
	s.mode, s.offers = helmv2.DriftDetectionWarn, "a"
	s.rendered = release.RenderResult{Reads: true, Lookup: true, Capabilities: "a"}
	r, now = testReconciler(t, s), new(time.Now())
	r.now = func() time.Time { return *now }
	inSync(t, r, s)
	reconcileOnce(t, r)
	*now = now.Add(time.Minute)
	if reconcileOnce(t, r); s.aside == nil {
		t.Fatal("the rendering has not begun")
	}
	return r, now
}

const unrendered = "no template"

// failing reports whether status has the error of a rendering.
func failing(t *testing.T, r *Reconciler) bool {
	t.Helper()
	return hasCondition(current(t, r).Status.Conditions, helmv2.ConditionDrifted, unrendered)
}

// TestRenderingFails: the reconciliation at the end reports the error and renders nothing. It is
// reported until another rendering succeeds.
func TestRenderingFails(t *testing.T) {
	s := &stub{unrendered: errors.New(unrendered)}
	r, now := rendering(t, s)
	if failing(t, r) {
		t.Fatal("it has not failed yet")
	}
	s.doAside(t)
	if reconcileOnce(t, r); !failing(t, r) || s.aside != nil {
		t.Fatalf("reported: %t; rendered again at once: %t", failing(t, r), s.aside != nil)
	}
	reconcileOnce(t, r)
	if s.aside != nil {
		t.Error("rendered again before the interval")
	}
	*now = now.Add(2 * time.Minute)
	s.unrendered = nil
	for range 2 {
		if reconcileOnce(t, r); !failing(t, r) || s.aside == nil {
			t.Fatalf("while it is rendered: reported: %t; begun: %t", failing(t, r), s.aside != nil)
		}
		r.memory.With(key, func(m *memory) { m.sync.changed = true })
	}
	s.doAside(t)
	if reconcileOnce(t, r); failing(t, r) || s.aside != nil {
		t.Errorf("still reported: %t; begun: %t", failing(t, r), s.aside != nil)
	}
	if s.renderings != 2 {
		t.Errorf("rendered %d times", s.renderings)
	}
}

// TestRenderingSeen: the result is seen although the release was in sync meanwhile, and a
// reconciliation that began before the end does not render again.
func TestRenderingSeen(t *testing.T) {
	s := &stub{}
	r, _ := rendering(t, s)
	if !remembered(r).sync.changed {
		t.Fatal("the result will not be seen")
	}
	s.live.during = func() { s.live.during = nil; s.rendered.Changed = true; s.doAside(t) }
	reconcileOnce(t, r)
	if s.aside != nil || remembered(r).renderings.Fresh == false {
		t.Fatal("rendered again at the end of a rendering")
	}
	if reconcileOnce(t, r); !hasCondition(current(t, r).Status.Conditions, helmv2.ConditionDrifted, "is rendered otherwise now") {
		t.Errorf("the result is not seen: %+v", current(t, r).Status.Conditions)
	}
}

// TestRenderingDropped: the result of a rendering does not count for another revision, for other
// inputs, or for a HelmRelease that is forgotten.
func TestRenderingDropped(t *testing.T) {
	for name, edit := range map[string]func(r *Reconciler, m *memory){
		"Revision": func(_ *Reconciler, m *memory) {
			m.renderings = m.renderings.Begin("other", m.renderings.Inputs, time.Now())
		},
		"Inputs": func(_ *Reconciler, m *memory) { m.renderings.Inputs = "other" },
	} {
		for _, failure := range []error{nil, errors.New(unrendered)} {
			s := &stub{unrendered: failure}
			r, _ := rendering(t, s)
			r.memory.With(key, func(m *memory) { edit(r, m) })
			if s.doAside(t); remembered(r).renderings.Fresh {
				t.Errorf("%s: the result counts: %+v", name, remembered(r).renderings)
			}
		}
	}
	s := &stub{}
	r, _ := rendering(t, s)
	r.memory.Forget(key)
	if s.doAside(t); r.memory.Len() > 0 {
		t.Error("a forgotten HelmRelease is remembered")
	}
}

// TestRenderingEnds: the rendering of a release that is suspended, gone, or whose drift is not
// detected any more is cancelled.
func TestRenderingEnds(t *testing.T) {
	for name, edit := range map[string]func(r *Reconciler, s *stub, hr *helmv2.HelmRelease){
		"Suspended": func(_ *Reconciler, _ *stub, hr *helmv2.HelmRelease) { hr.Spec.Suspend = true },
		"Disabled":  func(_ *Reconciler, s *stub, _ *helmv2.HelmRelease) { s.mode = helmv2.DriftDetectionDisabled },
		"Gone":      func(_ *Reconciler, _ *stub, hr *helmv2.HelmRelease) { hr.Finalizers = nil },
	} {
		s := &stub{}
		r, _ := rendering(t, s)
		hr := current(t, r)
		edit(r, s, hr)
		if err := r.client.Update(t.Context(), hr); err != nil {
			t.Fatal(err)
		}
		if name == "Gone" {
			if err := r.client.Delete(t.Context(), hr); err != nil {
				t.Fatal(err)
			}
		}
		if reconcileOnce(t, r); s.aside != nil {
			t.Errorf("%s: it is rendered", name)
		}
	}
}

// TestRenderingRequested: a request during a rendering renders once more, since the chart may have
// looked up objects before.
func TestRenderingRequested(t *testing.T) {
	s := &stub{}
	r, _ := rendering(t, s)
	request := func(token string) {
		hr := current(t, r)
		hr.Annotations = map[string]string{helmv2.AnnotationReconcileRequest: token}
		if err := r.client.Update(t.Context(), hr); err != nil {
			t.Fatal(err)
		}
	}
	request("one")
	reconcileOnce(t, r)
	s.doAside(t)
	if reconcileOnce(t, r); s.aside == nil {
		t.Fatal("the request is lost")
	}
	s.doAside(t)
	if reconcileOnce(t, r); s.aside != nil {
		t.Error("it is rendered a third time")
	}
}

// TestRenderingOfCluster: the rendering of a release in another cluster uses a slot as that cluster.
func TestRenderingOfCluster(t *testing.T) {
	r := testReconciler(t, &stub{})
	far, err := r.connections.Clusters.For(cluster.Identity{Kubeconfig: []byte(`{apiVersion: v1, kind: Config, current-context: a,
		contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: {server: "https://far"}}], users: [{name: a, user: {token: b}}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	hr := current(t, r)
	work := r.comparer.rendering(t.Context(), reconciliation{read: hr, hr: hr, conn: far}, &release.Revision{})
	if work.Cluster == "" || work.Cluster != far.Cluster() {
		t.Errorf("the cluster is %q, not %q", work.Cluster, far.Cluster())
	}
}

// TestRenderingReads: the rendering reads by the connection of the release, and may release its slot.
func TestRenderingReads(t *testing.T) {
	s := &stub{}
	rendering(t, s)
	if s.doAside(t); s.read == nil || s.ran != s.read || s.job.Idle == nil || s.job.Artifact.URL != "held" {
		t.Errorf("it reads by %v, not by %v, job %+v", s.ran, s.read, s.job)
	}
}

// TestCapabilitiesEnqueueReaders: once, when no more changes come, and only the readers.
func TestCapabilitiesEnqueueReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var enqueued []types.NamespacedName
		r := readers{memory: &controller.Table[memory]{}, enqueue: func(key types.NamespacedName) { enqueued = append(enqueued, key) }}
		reader, other := types.NamespacedName{Name: "reader"}, types.NamespacedName{Name: "other"}
		r.memory.With(other, func(*memory) {})
		r.memory.With(reader, func(m *memory) { m.readsCluster = true })
		for range 50 {
			r.capabilitiesChanged()
			time.Sleep(capabilitiesDelay / 2)
		}
		time.Sleep(capabilitiesDelay / 2)
		// At this very moment a reconciliation begins with other inputs.
		r.memory.With(reader, func(m *memory) { m.renderings = m.renderings.Begin("2", "other", time.Now()) })
		time.Sleep(capabilitiesDelay)
		synctest.Wait()
		if len(enqueued) != 1 || enqueued[0] != reader {
			t.Errorf("enqueued: %v", enqueued)
		}
	})
}
