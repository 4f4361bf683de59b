// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/internal/options"
	"github.com/pintle-dev/pintle/test/harness"
)

// TestSecondController: a controller whose Lease name is used in another namespace waits until the
// other one stops, and is ready meanwhile. Replicas, shards and an image that is replaced in place
// do not wait for it.
func TestSecondController(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	first, second, third := newWorld(t), newWorld(t), newWorld(t)
	first.alone()
	a := first.replica("a")
	leader := first.lead(a, leaseName, "")
	all := first.fleetOf(3, nil)

	// A replica of the same namespace waits for the Lease, and not for another controller.
	b := first.replica("b")
	first.Must(b.Start())
	// A shard of another namespace has a Lease of another name.
	third.shard("one")

	c := second.replica("c", "--health-addr="+harness.HealthHost+":0")
	second.Must(c.Start())
	second.untilStandby(c, true)
	second.isReady(c)
	second.reported(first.Namespace, leader)
	before := versions(all)
	first.upgradeAll(all, "second", time.Second)
	first.once(all, "second", before)
	if got := holder(second.lease(leaseName)); got != "" {
		t.Errorf("the Lease of the second controller is held by %s", got)
	}
	if leases, writes := second.requests("c"); len(leases)+len(writes) > 0 {
		t.Errorf("the second controller wrote: %v, %v", leases, writes)
	}
	if first.standby(b) != 0 {
		t.Error("the replica reports that it waits for another controller")
	}

	// The flag overrides, here for a shard that has nothing to do.
	d := third.replica("d", "--watch-label-selector="+shardLabel+"=none", "--allow-second-controller")
	e := second.replica("e", "--watch-label-selector="+shardLabel+"=none")
	shard := (&options.Options{WatchLabels: shardLabel + "=none"}).LeaseName(leaseName)
	second.lead(e, shard, "")
	third.lead(d, shard, "")

	// The image is replaced in place: the next process takes the Lease over at once. The waiting
	// controller might be faster.
	second.Must(c.Stop(second.Context()))
	first.Must(b.Stop(first.Context()))
	first.Must(a.Stop(first.Context()))
	begun := time.Now()
	first.lead(first.replica("f"), leaseName, leader)
	t.Logf("the next process of the namespace leads after %s", time.Since(begun))
}

// TestSecondControllerTakesOver: the waiting controller leads after the other one has stopped, or
// was killed.
func TestSecondControllerTakesOver(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	first, second := newWorld(t), newWorld(t)
	first.alone()
	a, b := first.replica("a"), second.replica("b")
	leader := first.lead(a, leaseName, "")
	all := first.fleetOf(2, nil)
	second.Must(b.Start())
	second.untilStandby(b, true)
	first.Must(a.Kill(first.Context()))
	next := second.leaderAfter(leaseName, "")
	renewed := first.lease(leaseName).Spec.RenewTime
	if renewed == nil {
		t.Fatal("the first Lease has no time")
	}
	// The times of the second Lease are those at which the controller began to wait.
	took := time.Since(renewed.Time)
	t.Logf("the second controller leads %s after the first Lease was renewed", took)
	if took < leaseDuration {
		t.Errorf("the second controller leads after %s, before the Lease had ended", took)
	}
	second.untilStandby(b, false)
	before := versions(all)
	first.upgradeAll(all, "second", time.Second)
	first.once(all, "second", before)

	// The first one is started again, and waits now.
	first.Must(a.Start())
	first.untilStandby(a, true)
	second.Must(b.Stop(second.Context()))
	first.leaderAfter(leaseName, leader)
	first.untilStandby(a, false)
	if got := holder(second.lease(leaseName)); got == next {
		t.Errorf("the Lease of the stopped controller is held by %s", got)
	}
}

// untilStandby waits until a controller reports that it waits for another one, or does not any more.
func (w world) untilStandby(c *harness.Controller, want bool) {
	w.Helper()
	ctx := w.Context()
	w.Must(env.Until(ctx, "a report of whether the controller waits", func() (string, bool) {
		all, err := c.Metrics(ctx)
		if err != nil {
			return err.Error(), false
		}
		value, is := all["pintle_standby"]
		return "pintle_standby is missing or different", is && (value == 1) == want
	}))
}

// standby returns whether a controller waits for another one: 0 or 1.
func (w world) standby(c *harness.Controller) float64 {
	w.Helper()
	ctx := w.Context()
	var all harness.Metrics
	w.Must(env.Until(ctx, "metrics", func() (string, bool) {
		var err error
		all, err = c.Metrics(ctx)
		return fmt.Sprint(err), err == nil
	}))
	return all["pintle_standby"]
}

// isReady checks the readiness probe.
func (w world) isReady(c *harness.Controller) {
	w.Helper()
	health, err := c.Address(harness.HealthHost)
	w.Must(err)
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, "http://"+health+"/readyz", nil)
	w.Must(err)
	resp, err := http.DefaultClient.Do(req)
	w.Must(err)
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		w.Errorf("the waiting controller is not ready: %s", resp.Status)
	}
}

// reported checks that an event names the Lease that a controller waits for.
func (w world) reported(namespace, holder string) {
	w.Helper()
	ctx := w.Context()
	w.Must(env.Until(ctx, "an event", func() (string, bool) {
		var list corev1.EventList
		w.Must(env.Client.List(ctx, &list, client.InNamespace(w.Namespace)))
		state := "no event"
		for i := range list.Items {
			// An earlier one may name the Lease that a test before has left.
			if e := &list.Items[i]; e.Reason == "Standby" && e.InvolvedObject.Name == leaseName {
				state = e.Message
				if strings.Contains(e.Message, namespace+"/"+leaseName) && strings.Contains(e.Message, holder) {
					return state, true
				}
			}
		}
		return state, false
	}, &corev1.Event{ObjectMeta: w.Meta("")}))
}
