// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

const (
	// healthy is the namespace of the releases that are upgraded.
	healthy = "healthy"
	// herdSize is their number.
	herdSize = 20
	// waveEvery is the time from one wave of upgrades to the next one.
	waveEvery = 5 * time.Second
	// waveLimit is the time of a wave after which the run ends.
	waveLimit = 3 * time.Minute
)

// wave is the result of one upgrade of all healthy releases at the same time.
type wave struct {
	took []time.Duration
	// failed are messages of releases that were not ready and not progressing.
	failed []string
}

// herd upgrades the healthy releases.
type herd struct {
	arena  *arena
	number int
}

// newHerd creates the healthy releases, and waits until they are ready.
func newHerd(ctx context.Context, a *arena) (*herd, error) {
	h := &herd{arena: a}
	for i := range herdSize {
		hr := h.release(i)
		hr.Spec.Values = h.values()
		if err := a.Env.Client.Create(ctx, hr); err != nil {
			return nil, err
		}
	}
	_, err := h.await(ctx, map[string]time.Time{})
	return h, err
}

func (h *herd) release(i int) *helmv2.HelmRelease {
	hr := newRelease(healthy, fmt.Sprintf("healthy-%02d", i), harmless)
	hr.Spec.Timeout = &metav1.Duration{Duration: 5 * time.Minute}
	return hr
}

func (h *herd) values() *apiextensionsv1.JSON {
	raw, _ := json.Marshal(map[string]string{"message": fmt.Sprint("wave ", h.number)}) // it has no values that fail
	return &apiextensionsv1.JSON{Raw: raw}
}

// upgrade upgrades all releases at once, and returns when all are ready.
func (h *herd) upgrade(ctx context.Context) (wave, error) {
	h.number++
	var mu sync.Mutex
	begun := map[string]time.Time{}
	err := frame.Times(ctx, frame.Concurrency, herdSize, func(ctx context.Context, i int) error {
		hr := h.release(i)
		patch := client.MergeFrom(hr.DeepCopy())
		hr.Spec.Values = h.values()
		mu.Lock()
		begun[hr.Name] = time.Now()
		mu.Unlock()
		return h.arena.Env.Client.Patch(ctx, hr, patch)
	})
	if err != nil {
		return wave{}, err
	}
	return h.await(ctx, begun)
}

// calm upgrades all releases a few times without attacks.
func (h *herd) calm(ctx context.Context, name string) (phase, error) {
	p := phase{name: name, calm: true}
	for range calmWaves {
		w, err := h.upgrade(ctx)
		if err != nil {
			return p, err
		}
		p.upgrades.took, p.upgrades.failed = append(p.upgrades.took, w.took...), append(p.upgrades.failed, w.failed...)
	}
	return p, nil
}

// await waits until all releases are ready, and returns the time since they were changed.
func (h *herd) await(ctx context.Context, begun map[string]time.Time) (wave, error) {
	ctx, cancel := context.WithTimeout(ctx, waveLimit)
	defer cancel()
	var w wave
	ready := map[string]bool{}
	err := h.arena.Env.Until(ctx, "all healthy releases to be ready", func() (string, bool) {
		var list helmv2.HelmReleaseList
		if err := h.arena.Env.Client.List(ctx, &list, client.InNamespace(healthy)); err != nil {
			return err.Error(), false
		}
		missing := ""
		for i := range list.Items {
			hr := &list.Items[i]
			c := harness.ReadyCondition(hr.Status.Conditions)
			switch {
			case ready[hr.Name]:
			case harness.Ready(hr):
				ready[hr.Name] = true
				if at, ok := begun[hr.Name]; ok {
					w.took = append(w.took, time.Since(at))
				}
			case c.Status == metav1.ConditionFalse && c.ObservedGeneration == hr.Generation && !slices.Contains(w.failed, c.Message):
				w.failed = append(w.failed, c.Message)
				fallthrough
			default:
				missing = hr.Name + ": " + harness.Summary(hr)
			}
		}
		return missing, len(ready) == herdSize
	})
	return w, err
}

// during upgrades the releases again and again until do returns, and at least once.
func (h *herd) during(ctx context.Context, do func(context.Context) error) (all wave, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- do(ctx) }()
	tick := time.NewTicker(waveEvery)
	defer tick.Stop()
	for {
		w, err := h.upgrade(ctx)
		all.took, all.failed = append(all.took, w.took...), append(all.failed, w.failed...)
		if err != nil {
			cancel()
			return all, errors.Join(err, <-ended)
		}
		select {
		case err := <-ended:
			return all, err
		default:
		}
		select {
		case err := <-ended:
			return all, err
		case <-tick.C:
		}
	}
}
