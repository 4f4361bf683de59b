// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

const (
	// Long enough for a kill to hit the waits as well as the writes.
	podDelay  = 700 * time.Millisecond
	hookDelay = 300 * time.Millisecond
)

// killMoments returns the moments of kills as fractions of a round. Each part of a round has one,
// at random, so that no run misses a phase. PINTLE_SEED repeats the moments of an earlier run.
func killMoments(t *testing.T) []float64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("PINTLE_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	moments := make([]float64, harness.Repetitions(5))
	for i, part := range random.Perm(len(moments)) {
		moments[i] = (float64(part) + random.Float64()) / float64(len(moments))
	}
	return moments
}

// TestSurvivesKill kills the controller while it installs one release and upgrades another, and
// starts it again. Both actions are resumed: each release becomes ready without another revision.
func TestSurvivesKill(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	moments := killMoments(t)
	w := newWorld(t)
	w.push("0.1.0")
	source := w.source("hello", env.Registry.Address)
	slow := values{
		"podAnnotations": values{"simulate.pintle.dev/delay": podDelay.String()},
		"hook":           values{"podAnnotations": values{"simulate.pintle.dev/delay": hookDelay.String()}},
	}
	upgraded := w.release("r0", source.Name, slow)
	w.UntilRevision(upgraded, 1)

	// Round 0 runs without a kill, to measure the duration of a round.
	var undisturbed time.Duration
	for i := range len(moments) + 1 {
		began := time.Now()
		installed := w.release(fmt.Sprintf("r%d", i+1), source.Name, slow)
		w.Edit(upgraded, func(hr *helmv2.HelmRelease) {
			hr.Spec.Values = w.Raw(values{"message": "again", "podAnnotations": slow["podAnnotations"], "hook": slow["hook"]})
		})
		hit := "nothing"
		var moment time.Duration
		if i > 0 {
			moment = time.Duration(moments[i-1] * float64(undisturbed))
			time.Sleep(moment)
			w.Must(env.Controller.Kill(t.Context()))
			hit = w.statuses(installed) + ", " + w.statuses(upgraded)
			w.Must(env.Controller.Start())
		}
		w.arrived(installed, 1)
		w.arrived(upgraded, 2)
		w.message(installed.Name+"-hello", "hello")
		w.message(upgraded.Name+"-hello", "again")
		if i == 0 {
			undisturbed = time.Since(began)
		}
		t.Logf("kill %2d after %4d ms hit %s; all there after %.1fs: %s, %s", i, moment.Milliseconds(), hit,
			time.Since(began).Seconds(), w.statuses(installed), w.statuses(upgraded))
		upgraded = installed
	}
}

// statuses names a release and the states of its revisions, oldest first.
func (w world) statuses(hr *helmv2.HelmRelease) string {
	w.Helper()
	history, err := env.History(w.Namespace, hr.Name)
	w.Must(err)
	var all []string
	for _, r := range history {
		all = append(all, r.Info.Status.String())
	}
	return hr.Name + " [" + strings.Join(all, " ") + "]"
}

// arrived waits until a release is ready and checks Helm's storage: there is a revision for each
// change of the inputs, and none has failed.
func (w world) arrived(hr *helmv2.HelmRelease, changes int) {
	w.Helper()
	w.Until(hr, "to be ready", harness.Ready)
	history, err := env.History(w.Namespace, hr.Name)
	w.Must(err)
	for i, r := range history {
		want := helmrelease.StatusSuperseded
		if i == len(history)-1 {
			want = helmrelease.StatusDeployed
		}
		// Helm may set the status superseded for a failed revision without an earlier one; only the
		// description distinguishes them.
		if r.Info.Status != want || !strings.HasSuffix(r.Info.Description, " complete") {
			w.Errorf("%s: revision %d is %s: %s", hr.Name, r.Version, r.Info.Status, r.Info.Description)
		}
	}
	newest := history[len(history)-1]
	if len(history) != changes || newest.Version != changes {
		w.Errorf("%s: want %d revisions: %s", hr.Name, changes, w.statuses(hr))
	}
	if got := hr.Status.History[0]; got.Version != newest.Version || got.Status != helmv2.StatusDeployed {
		w.Errorf("%s: status shows revision %d %s, Helm storage %s", hr.Name, got.Version, got.Status, w.statuses(hr))
	}
}

// TestShutdownIsNoFailure ends the controller as an update of it would, while an upgrade waits for
// its Pods. The controller does not stay until they are ready, and the next one resumes the upgrade.
// No failure is forgiven, so a release that counted one would stall.
func TestShutdownIsNoFailure(t *testing.T) {
	w := newWorld(t)
	w.push("0.1.0")
	hr := w.release("patient", w.source("hello", env.Registry.Address).Name, values{})
	w.UntilRevision(hr, 1)
	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = w.Raw(values{
			"message":        "later",
			"podAnnotations": values{"simulate.pintle.dev/ready": "never"},
		})
	})
	// Past the hook, into the wait.
	w.untilWaiting(hr, 2)

	// Stop fails if the controller waits for the Pods.
	w.Must(env.Controller.Stop(t.Context()))
	w.newest(hr, 2, helmrelease.StatusPendingUpgrade)
	w.Must(env.Controller.Start())
	w.podsBecomeReady()
	w.arrived(hr, 2)
	if hr.Status.UpgradeFailures != 0 || hr.Status.Failures != 0 {
		t.Errorf("the shutdown counts as %d failures", hr.Status.Failures)
	}
	w.message("patient-hello", "later")
}

// podsBecomeReady makes simulated Pods ready that should never be. Those of the replaced ReplicaSet
// may disappear meanwhile.
func (w world) podsBecomeReady() {
	w.Helper()
	var pods corev1.PodList
	w.Must(env.Client.List(w.Context(), &pods, client.InNamespace(w.Namespace)))
	for i := range pods.Items {
		pod := &pods.Items[i]
		before := pod.DeepCopy()
		delete(pod.Annotations, "simulate.pintle.dev/ready")
		w.Must(client.IgnoreNotFound(env.Client.Patch(w.Context(), pod, client.MergeFrom(before))))
	}
}
