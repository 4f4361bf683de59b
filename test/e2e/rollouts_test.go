// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// wave is releases that take the same charts, under a policy with a rollout, as a watch shows them.
type wave struct {
	world
	source   *sourcev1.OCIRepository
	events   chan *helmv2.HelmRelease
	releases map[string]*helmv2.HelmRelease
	// bad are the releases whose Pods become unready while they are watched after the upgrade to 2.0.0.
	bad map[string]bool
	// most is the largest number of releases in flight.
	most   int
	random *rand.Rand
}

// inFlight reports whether a release is upgraded or watched after that.
func inFlight(hr *helmv2.HelmRelease) bool {
	s := &hr.Status
	return s.LastAttemptedReleaseAction == helmv2.ActionUpgrade && s.LastAttemptedReleaseActionDuration == nil ||
		apimeta.IsStatusConditionTrue(s.Conditions, helmv2.ConditionBaking)
}

// has reports whether the newest revision of a release is deployed with a version.
func has(hr *helmv2.HelmRelease, version string) bool {
	return len(hr.Status.History) > 0 && hr.Status.History[0].Status == helmv2.StatusDeployed && strings.HasPrefix(hr.Status.History[0].ChartVersion, version)
}

// waits reports whether a release waits for its turn.
func waits(hr *helmv2.HelmRelease) bool {
	ready := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
	return ready != nil && ready.Reason == helmv2.ReasonAwaitingRollout
}

// all reports whether something is true of all releases.
func (f *wave) all(is func(hr *helmv2.HelmRelease) bool) bool {
	for _, hr := range f.releases {
		if !is(hr) {
			return false
		}
	}
	return true
}

// until receives events until something is true of the fleet, and kills the controller some times: each
// time after a random number of further changes.
func (f *wave) until(what string, kills int, done func() bool) {
	f.Helper()
	limit := time.After(4 * time.Minute)
	left := -1
	for !done() || kills > 0 {
		if kills > 0 && left < 0 {
			left = 3 + f.random.IntN(12)
		}
		var hr *helmv2.HelmRelease
		select {
		case hr = <-f.events:
		case <-limit:
			f.Fatalf("the fleet is not %s:\n%s", what, f.describe())
		}
		f.releases[hr.Name] = hr
		flying := 0
		for _, other := range f.releases {
			if inFlight(other) {
				flying++
			}
		}
		f.most = max(f.most, flying)
		if f.bad[hr.Name] && strings.HasPrefix(hr.Status.History[0].ChartVersion, "2.") && apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionBaking) {
			f.disturb(hr)
		}
		if left--; left == 0 {
			kills--
			f.Must(env.Controller.Kill(f.Context()))
			f.Logf("killed with %d in flight", flying)
			f.Must(env.Controller.Start())
		}
	}
}

// disturb makes the Pods of a release unready.
func (f *wave) disturb(hr *helmv2.HelmRelease) {
	f.Helper()
	var pods corev1.PodList
	f.Must(env.Client.List(f.Context(), &pods, client.InNamespace(f.Namespace), client.MatchingLabels{"app.kubernetes.io/instance": hr.Name}))
	for i := range pods.Items {
		before := pods.Items[i].DeepCopy()
		metav1.SetMetaDataAnnotation(&pods.Items[i].ObjectMeta, "simulate.pintle.dev/ready", "never")
		f.Must(client.IgnoreNotFound(env.Client.Patch(f.Context(), &pods.Items[i], client.MergeFrom(before))))
	}
}

// describe has a line for each release.
func (f *wave) describe() string {
	var b strings.Builder
	for name, hr := range f.releases {
		ready := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
		fmt.Fprintf(&b, "%s bad=%t %+v\n", name, f.bad[name], ready)
	}
	return b.String()
}

// pushVersion pushes a version of hello whose Pods differ from those of other versions.
func (w world) pushVersion(version string) {
	w.Helper()
	c, err := harness.LoadChart("hello")
	w.Must(err)
	c.Metadata.Version = version
	const before = "        checksum/message:"
	for _, t := range c.Templates {
		t.Data = bytes.Replace(t.Data, []byte(before), []byte("        version: {{ .Chart.Version }}\n"+before), 1)
	}
	w.Publish(c)
}

// publish makes source-controller fetch a new version.
func (f *wave) publish(version string) {
	f.Helper()
	f.pushVersion(version)
	f.requestReconciliation(f.source)
}

// TestRolloutSurvivesKill: never more than five of forty releases are in flight. The third bad one halts
// the wave. Bad ones are rolled back, and those that have not begun are untouched. The next version mends
// all of them. The controller is killed on the way.
func TestRolloutSurvivesKill(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	moments := killMoments(t)
	w := newWorld(t)
	w.pushVersion("1.0.0")
	f := &wave{
		world: w, source: w.source("hello", env.Registry.Address), releases: map[string]*helmv2.HelmRelease{}, bad: map[string]bool{}, events: make(chan *helmv2.HelmRelease),
		random: rand.New(rand.NewPCG(uint64(moments[0]*1e9), 3)),
	}
	const count, concurrent, failures = 40, 5, 3
	for i := range count {
		name := fmt.Sprintf("r%03d", i)
		f.bad[name] = i%5 == 1
		hr := w.Draft(name, fixture.ChartRef(helmv2.KindOCIRepository, "hello"), values{"hook": values{"enabled": false}})
		hr.Spec.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{RemediateLastFailure: new(true)}}
		w.Create(hr)
		f.releases[name] = hr
	}
	for _, hr := range f.releases {
		w.UntilReady(hr)
	}
	w.Create(&v1alpha1.ReleasePolicy{ObjectMeta: w.Meta("fleet"), Spec: v1alpha1.ReleasePolicySpec{Rollout: &v1alpha1.Rollout{
		MaxConcurrent: concurrent, MaxFailed: failures, BakeTime: metav1.Duration{Duration: 5 * time.Second},
	}}})
	watchAll(w, w.Namespace, &helmv2.HelmReleaseList{}, func(hr *helmv2.HelmRelease) {
		select {
		case f.events <- hr:
		case <-w.Context().Done():
		}
	})

	f.publish("2.0.0")
	failed := func() (n int) {
		for _, hr := range f.releases {
			if hr.Status.UpgradeFailures > 0 && has(hr, "1.") {
				n++
			}
		}
		return n
	}
	f.until("halted", 5, func() bool {
		return failed() >= failures && f.all(func(hr *helmv2.HelmRelease) bool {
			return hr.Status.UpgradeFailures > 0 && has(hr, "1.") || has(hr, "2.") && harness.Ready(hr) || waits(hr)
		})
	})
	untouched := 0
	for name, hr := range f.releases {
		switch ready := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady); {
		case waits(hr):
			untouched++
			if hr.Status.History[0].Version != 1 || !strings.Contains(ready.Message, "ReleasePolicy/fleet halts hello 2.0.0") || !strings.Contains(ready.Message, " failed: ") {
				t.Errorf("%s: revision %d, %s", name, hr.Status.History[0].Version, ready.Message)
			}
		case hr.Status.UpgradeFailures > 0:
			if !f.bad[name] || hr.Status.History[0].Version != 3 {
				t.Errorf("%s: revision %d, %+v", name, hr.Status.History[0].Version, ready)
			}
		case f.bad[name]:
			t.Errorf("%s is bad: %+v", name, ready)
		}
	}
	if n := failed(); f.most != concurrent || n > failures+concurrent-1 || untouched == 0 {
		t.Errorf("%d in flight, %d failed, %d untouched", f.most, n, untouched)
	}

	f.publish("3.0.0")
	f.until("mended", 5, func() bool {
		return f.all(func(hr *helmv2.HelmRelease) bool { return has(hr, "3.") && harness.Ready(hr) })
	})
	if f.most != concurrent {
		t.Errorf("%d in flight", f.most)
	}
}
