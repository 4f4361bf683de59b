// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cli"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// wave is releases that take the same charts, under a policy with a rollout, as a watch shows them.
type wave struct {
	world
	source   *sourcev1.OCIRepository
	events   chan *helmv2.HelmRelease
	releases map[string]*helmv2.HelmRelease
	// bad are the releases that fail while they are watched after the upgrade to 2.0.0.
	bad map[string]bool
	// most is the largest number of releases in flight.
	most   int
	random *rand.Rand
}

// newWave returns a wave without releases, whose source has version 1.0.0.
func newWave(w world) *wave {
	w.Helper()
	w.pushVersion("1.0.0")
	return &wave{
		world: w, source: w.source("hello", env.Registry.Address), events: make(chan *helmv2.HelmRelease),
		releases: map[string]*helmv2.HelmRelease{}, bad: map[string]bool{},
	}
}

// add creates a release.
func (f *wave) add(name string, labels map[string]string, bad bool) {
	f.Helper()
	message := "good"
	if bad {
		message = "bad"
	}
	hr := f.Draft(name, fixture.ChartRef(helmv2.KindOCIRepository, "hello"), values{"message": message, "hook": values{"enabled": false}})
	hr.Labels = labels
	hr.Spec.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{RemediateLastFailure: new(true)}}
	f.Create(hr)
	f.releases[name], f.bad[name] = hr, bad
}

// watch waits until all releases are ready, and receives events from then on.
func (f *wave) watch() {
	f.Helper()
	for _, hr := range f.releases {
		f.UntilReady(hr)
	}
	watchAll(f.world, f.Namespace, &helmv2.HelmReleaseList{}, func(hr *helmv2.HelmRelease) {
		select {
		case f.events <- hr:
		case <-f.Context().Done():
		}
	})
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

// until receives events until something is true of the fleet, and kills the controller up to some times
// before: each time after a random number of further changes.
func (f *wave) until(what string, kills int, done func() bool) {
	f.Helper()
	limit := time.After(4 * time.Minute)
	left := -1
	for !done() {
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
		if left--; left == 0 {
			kills--
			f.Must(env.Controller.Kill(f.Context()))
			f.Logf("killed with %d in flight", flying)
			f.Must(env.Controller.Start())
		}
	}
}

// record returns the resourceVersions of the records of a release.
func (f *wave) record(name string) (versions string) {
	f.Helper()
	var list corev1.SecretList
	f.Must(env.Client.List(f.Context(), &list, client.InNamespace(f.Namespace), client.MatchingLabels{"owner": "helm", "name": name}))
	for i := range list.Items {
		versions += list.Items[i].Name + " " + list.Items[i].ResourceVersion + "\n"
	}
	return versions
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

// pushVersion pushes a version of hello. With version 2, the ConfigMap of a bad release says so.
func (w world) pushVersion(version string) {
	w.Helper()
	c, err := harness.LoadChart("hello")
	w.Must(err)
	c.Metadata.Version = version
	for _, t := range c.Templates {
		if t.Name == "templates/configmap.yaml" {
			t.Data = append(t.Data, "\n  state: {{ if and (eq .Values.message \"bad\") (hasPrefix \"2.\" .Chart.Version) }}bad{{ else }}good{{ end }}\n"...)
		}
	}
	w.Publish(c)
}

// limits returns a rollout that watches ConfigMaps for bad releases. The last look of a bake finds them,
// however late it comes.
func limits(concurrent, failed int32) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{
		MaxConcurrent: concurrent, MaxFailed: failed, BakeTime: metav1.Duration{Duration: 5 * time.Second},
		BakeExprs: []v1alpha1.BakeExpr{{APIVersion: "v1", Kind: "ConfigMap", Failed: "data.state == 'bad'"}},
	}
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
	f := newWave(w)
	f.random = rand.New(rand.NewPCG(uint64(moments[0]*1e9), 3))
	const count, concurrent, failures = 40, 5, 3
	for i := range count {
		f.add(fmt.Sprintf("r%03d", i), nil, i%5 == 1)
	}
	f.watch()
	w.Create(&v1alpha1.ReleasePolicy{ObjectMeta: w.Meta("fleet"), Spec: v1alpha1.ReleasePolicySpec{Rollout: limits(concurrent, failures)}})

	records := map[string]string{}
	for name := range f.releases {
		records[name] = f.record(name)
	}
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
			if got := f.record(name); got == "" || got != records[name] {
				t.Errorf("%s has records\n%snot\n%s", name, got, records[name])
			}
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

// resume runs `kubectl pintle rollout resume`.
func (f *wave) resume(policy string) {
	f.Helper()
	var out bytes.Buffer
	s := &cli.Session{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out},
		Now:       time.Now, Env: os.Getenv,
	}
	cmd := cli.Command(s)
	cmd.SetArgs([]string{"rollout", "resume", policy, "--kubeconfig", env.Kubeconfig, "--namespace", f.Namespace})
	code := s.Report(cmd.ExecuteContext(f.Context()))
	if want := "clusterreleasepolicy.pintle.dev/" + policy + " resumed\n"; code != 0 || out.String() != want {
		f.Fatalf("exit code %d: %s", code, &out)
	}
}

// TestRolloutStages: the second stage waits for the canaries, and for a person after one of them has failed,
// even if the controller is killed meanwhile.
func TestRolloutStages(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	f := newWave(newWorld(t))
	canary := map[string]string{"stage": "canary"}
	// By name alone, the canaries would be the last ones.
	f.add("y0", canary, true)
	f.add("y1", canary, false)
	rest := []string{"r0", "r1", "r2", "r3"}
	for _, name := range rest {
		f.add(name, nil, false)
	}
	f.watch()
	fleet := &v1alpha1.ClusterReleasePolicy{ObjectMeta: metav1.ObjectMeta{Name: f.Namespace}}
	fleet.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.Namespace}}
	fleet.Spec.Rollout = limits(3, 1)
	fleet.Spec.Rollout.Order = []metav1.LabelSelector{{MatchLabels: canary}, {}}
	f.Create(fleet)
	t.Cleanup(func() { f.Must(client.IgnoreNotFound(env.Client.Delete(context.WithoutCancel(t.Context()), fleet))) })

	f.publish("2.0.0")
	f.until("halted", 0, func() bool {
		halted := true
		for _, name := range rest {
			hr := f.releases[name]
			if inFlight(hr) || hr.Status.History[0].Version != 1 {
				t.Fatalf("%s has begun:\n%s", name, f.describe())
			}
			ready := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
			halted = halted && waits(hr) && strings.Contains(ready.Message, "halts hello 2.0.0") &&
				strings.Contains(ready.Message, "/y0 failed: ") && strings.Contains(ready.Message, "stage 2 of 2")
		}
		bad := f.releases["y0"]
		return halted && bad.Status.UpgradeFailures > 0 && has(bad, "1.") && has(f.releases["y1"], "2.") && harness.Ready(f.releases["y1"])
	})

	f.Must(env.Controller.Kill(t.Context()))
	f.Must(env.Controller.Start())
	asked := &helmv2.HelmRelease{ObjectMeta: f.Meta("r0")}
	f.Edit(asked, func(hr *helmv2.HelmRelease) {
		metav1.SetMetaDataAnnotation(&hr.ObjectMeta, helmv2.AnnotationReconcileRequest, "now")
	})
	f.until("reconciled", 0, func() bool { return f.releases["r0"].Status.LastHandledReconcileAt == "now" })
	for _, name := range rest {
		if hr := f.releases[name]; !waits(hr) || hr.Status.History[0].Version != 1 {
			t.Errorf("%s has begun after a restart:\n%s", name, f.describe())
		}
	}

	f.resume(fleet.Name)
	f.until("upgraded", 0, func() bool {
		for _, name := range rest {
			if hr := f.releases[name]; !has(hr, "2.") || !harness.Ready(hr) {
				return false
			}
		}
		return true
	})
	if bad := f.releases["y0"]; bad.Status.History[0].Version != 3 || f.most > 3 {
		t.Errorf("%d in flight:\n%s", f.most, f.describe())
	}
}
