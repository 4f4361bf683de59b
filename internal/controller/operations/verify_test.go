// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/hookjob"
)

// TestUncoveredTestsAreNoHooks: a hook that is a test, too, is not run by another event if the
// digest does not cover tests. The stored record is not changed.
func TestUncoveredTestsAreNoHooks(t *testing.T) {
	b := newBench(t)
	b.stored.Revision.HelmControllerDigest = "sha256:1"
	b.stored.Release.Hooks = append(b.stored.Release.Hooks, hookjob.Hook{Name: "both", Kind: "Job", Events: []string{"pre-upgrade", "test"}})
	hr := &helmv2.HelmRelease{}
	hr.Status.History = helmv2.Snapshots{{Name: "web", Namespace: "apps", Version: 1, Digest: "sha256:1"}}
	theirs(hr)
	op := &opsv1alpha1.Operation{}
	op.Spec.Parameters = &opsv1alpha1.Parameters{Event: "pre-upgrade"}
	got, err := b.r.observer.verify(t.Context(), reconciliation{op: op, hr: hr}, b.stored)
	if err != nil || !got.ok || len(got.release.Hooks) != 1 || got.release.Hooks[0].Name != "migrate" {
		t.Errorf("verified is %+v, %v", got, err)
	}
	if len(b.stored.Release.Hooks) != 2 {
		t.Error("the stored record is changed")
	}
}

// TestLockIsRemembered: the version of a HelmRelease that the lock has replaced is stale.
func TestLockIsRemembered(t *testing.T) {
	b := newBench(t)
	hr := &helmv2.HelmRelease{}
	if err := b.c.Get(t.Context(), types.NamespacedName{Namespace: "apps", Name: "web"}, hr); err != nil {
		t.Fatal(err)
	}
	if err := b.r.actor.acquire(t.Context(), reconciliation{op: b.operation(), hr: hr}); err != nil {
		t.Fatal(err)
	}
	if !b.r.observer.locked.isStale(hr) {
		t.Error("the write of the lock is not remembered")
	}
}
