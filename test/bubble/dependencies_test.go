// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func needs(names ...string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		for _, name := range names {
			hr.Spec.DependsOn = append(hr.Spec.DependsOn, helmv2.DependencyReference{Name: name})
		}
	}
}

// TestDependencies: releases wait without a write, and are installed as soon as their dependencies
// are ready. An upgrade of a dependency does not write a release in sync.
func TestDependencies(t *testing.T) {
	inBubble(t, func(w *world) {
		// No dependency is polled.
		w.start(func(s *settings) { s.DependencyRetry = 100 * time.Hour })
		for _, name := range []string{"top", "middle", "base"} {
			w.publish(name, "1.0.0", w.note("1.0.0"))
		}
		top := w.release("top", "one", needs("middle"))
		middle := w.release("middle", "one", needs("base"))
		for _, hr := range []*helmv2.HelmRelease{top, middle} {
			w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonDependencyNotReady)
		}
		time.Sleep(time.Minute)
		w.quiet(7 * time.Hour)
		base := w.release("base", "one")
		if took := w.untilMessage("top", "one"); took > 5*time.Second {
			t.Errorf("the last is installed after %s", took)
		}
		w.untilReady(base, middle, top)
		time.Sleep(time.Minute)
		before := top.ResourceVersion
		w.says(middle, "two")
		w.untilMessage("middle", "two")
		w.untilReady(middle)
		time.Sleep(5 * time.Hour)
		if w.read(top); top.ResourceVersion != before {
			t.Errorf("it was written: %+v", top.Status.Conditions)
		}
	})
}

// TestDependencyOutOfSight: a dependency that the controller does not watch is read from the API server,
// again after the retry interval.
func TestDependencyOutOfSight(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start(func(s *settings) {
			s.DependencyRetry = 20 * time.Minute
			s.manager = func(o *ctrl.Options) {
				o.Cache.ByObject[&helmv2.HelmRelease{}] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"shard": "one"})}
			}
		})
		w.publish("near", "1.0.0", w.note("1.0.0"))
		far := w.release("far", "one")
		near := w.release("near", "one", needs("far"), func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{"shard": "one"} })
		w.untilCondition(near, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonDependencyNotReady)
		time.Sleep(time.Minute)
		w.quiet(5*time.Hour + time.Minute)
		far.Status.ObservedGeneration = far.Generation
		apimeta.SetStatusCondition(&far.Status.Conditions, metav1.Condition{Type: "Ready", Status: "True", Reason: "Installed", ObservedGeneration: far.Generation})
		w.must(w.client.Status().Update(t.Context(), far))
		if took := w.untilMessage("near", "one"); took < time.Second || took > 20*time.Minute {
			t.Errorf("it is installed after %s", took)
		}
	})
}
