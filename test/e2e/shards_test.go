// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/options"
	"github.com/pintle-dev/pintle/test/harness"
)

const shardLabel = "sharding.fluxcd.io/key"

// shard starts a replica for one shard, and waits until it is the leader.
func (w world) shard(name string) *harness.Controller {
	w.Helper()
	return w.shardOf(name, shardLabel+"="+name)
}

// shardOf is shard with any selector.
func (w world) shardOf(name, selector string) *harness.Controller {
	w.Helper()
	c := w.replica(name, "--watch-label-selector="+selector)
	w.lead(c, (&options.Options{WatchLabels: selector}).LeaseName(leaseName), "")
	return c
}

func (w world) move(hr *helmv2.HelmRelease, shard string) {
	w.Helper()
	w.Edit(hr, func(hr *helmv2.HelmRelease) { metav1.SetMetaDataLabel(&hr.ObjectMeta, shardLabel, shard) })
}

// TestShards: releases move between the controllers of shards, in sync and during an upgrade. Each
// upgrade is made by the controller of the release's shard.
func TestShards(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	w.alone()
	w.shard("one")
	w.shard("two")
	all := w.fleetOf(10, map[string]string{shardLabel: "one"})
	if _, writes := w.requests("two"); len(writes) > 0 {
		t.Errorf("shard two wrote, which has nothing yet: %v", writes)
	}

	// Taking over releases in sync needs no Helm action.
	moved := all[:5]
	for _, hr := range moved {
		w.move(hr, "two")
	}
	before := versions(all)
	w.upgradeAll(all, "second", time.Second)
	w.once(all, "second", before)
	_, one := w.requests("one")
	_, two := w.requests("two")
	for i, hr := range all {
		by, other := one, two
		if i < len(moved) {
			by, other = two, one
		}
		if secret := revision(hr, 2); !wrote(by, secret) || wrote(other, secret) {
			t.Errorf("%s: its shard wrote %s: %v; the other one did: %v", hr.Name, secret, wrote(by, secret), wrote(other, secret))
		}
	}

	// Moved while they are upgraded, and back.
	before = versions(all)
	w.upgradeAll(all, "third", 30*time.Second)
	w.applied(all, "third")
	for i, hr := range all {
		w.move(hr, map[bool]string{true: "one", false: "two"}[i < len(moved)])
	}
	w.once(all, "third", before)
}

// revision is the name of the Secret that Helm stores one in.
func revision(hr *helmv2.HelmRelease, version int) string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", hr.Name, version)
}

func wrote(writes []request, secret string) bool {
	for _, r := range writes {
		// The name is not in the request that creates an object.
		if r.ObjectRef.Resource == "secrets" && r.ObjectRef.Name == secret {
			return true
		}
	}
	return false
}
