// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"

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
// starts it again. Both releases become ready, without a second successful revision.
func TestSurvivesKill(t *testing.T) {
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
		w.arrived(installed, min(i, 1))
		// It was installed in the round before, so it has lived through two kills.
		w.arrived(upgraded, min(i, 2))
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

// arrived waits until a release is ready and checks Helm's storage after the kills.
func (w world) arrived(hr *helmv2.HelmRelease, kills int) {
	w.Helper()
	w.Until(hr, "to be ready", harness.Ready)
	history, err := env.History(w.Namespace, hr.Name)
	w.Must(err)
	var failed, deployed int
	succeeded := map[string]int{}
	for _, r := range history {
		if r.Info.Status.IsPending() {
			w.Errorf("%s: revision %d is %s", hr.Name, r.Version, r.Info.Status)
		}
		if r.Info.Status == helmrelease.StatusDeployed {
			deployed++
		}
		// Helm may set the status superseded for a failed revision without an earlier one; only the
		// description distinguishes them.
		if !strings.HasSuffix(r.Info.Description, " complete") {
			failed++
			continue
		}
		config, err := json.Marshal(r.Config)
		w.Must(err)
		inputs := r.Chart.Metadata.Version + " with " + string(config)
		if earlier, twice := succeeded[inputs]; twice {
			w.Errorf("%s: revisions %d and %d both succeeded with the same inputs, chart %s", hr.Name, earlier, r.Version, inputs)
		}
		succeeded[inputs] = r.Version
	}
	newest := history[len(history)-1]
	if newest.Info.Status != helmrelease.StatusDeployed || deployed != 1 {
		w.Errorf("%s: the newest revision is not the one that is deployed: %s", hr.Name, w.statuses(hr))
	}
	if failed > kills {
		w.Errorf("%s: %d failed revisions after %d kills: %s", hr.Name, failed, kills, w.statuses(hr))
	}
	if got := hr.Status.History[0]; got.Version != newest.Version || got.Status != helmv2.StatusDeployed {
		w.Errorf("%s: status shows revision %d %s, Helm storage %s", hr.Name, got.Version, got.Status, w.statuses(hr))
	}
}

// TestShutdownIsNoFailure ends the controller as an update of it would, while an
// upgrade waits for its Pods. It must not stay until they are ready, and the
// upgrade it gave up must not count as failed: not one failure is forgiven, so a
// release that counted it would stall.
func TestShutdownIsNoFailure(t *testing.T) {
	w := newWorld(t)
	w.push("0.1.0")
	hr := w.release("patient", w.source("hello", env.Registry.Address).Name, values{})
	w.UntilRevision(hr, 1)
	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = w.Raw(values{
			"message":        "later",
			"podAnnotations": values{"simulate.pintle.dev/delay": "6s"},
		})
	})
	w.Until(hr, "to be upgraded", func(hr *helmv2.HelmRelease) bool {
		return strings.HasSuffix(w.statuses(hr), "pending-upgrade]")
	})
	// Past the hook, into the wait.
	time.Sleep(2 * time.Second)

	began := time.Now()
	w.Must(env.Controller.Stop(t.Context()))
	t.Logf("the controller ended after %s", time.Since(began).Round(time.Millisecond))
	if got := w.statuses(hr); !strings.HasSuffix(got, "failed]") {
		t.Errorf("after the shutdown the revisions are %s, want the newest to be failed", got)
	}
	w.Must(env.Controller.Start())
	w.Until(hr, "to be ready", harness.Ready)
	if hr.Status.UpgradeFailures != 0 || hr.Status.Failures != 0 {
		t.Errorf("the shutdown counts as %d failures", hr.Status.Failures)
	}
	w.message("patient-hello", "later")
}
