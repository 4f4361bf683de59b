// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

const (
	// quiet is how long no object may change once all are in their wanted state.
	quiet = 10 * time.Second
	// restartsPerHalf is how often the controller is ended in the first half.
	restartsPerHalf = 5
	// maxPrinted is the maximum number of printed faults; all of them are kept.
	maxPrinted = 20
)

// soak is one run.
type soak struct {
	settings

	*frame.World

	editor *editor
	began  time.Time

	mu      sync.Mutex
	samples []sample
	// rests are the samples of the idle controller.
	rests []sample
	// done counts changes by name.
	done map[string]int
}

// start starts a control plane and the controller.
func start(ctx context.Context, s settings, w *frame.World) (*soak, error) {
	k := &soak{settings: s, World: w, began: time.Now(), done: map[string]int{}}
	// With canaries, the controller serves metrics.
	err := w.Start(ctx, harness.Options{ControllerArgs: []string{fmt.Sprintf("--concurrent=%d", s.concurrent)}, Canaries: true})
	if err != nil {
		return nil, err
	}
	k.editor = newHands(k.Env, newFleet(s.Seed, s.releases))
	return k, nil
}

// prepare makes all that the HelmReleases need.
func (k *soak) prepare(ctx context.Context) error {
	repository, err := harness.StartHelmRepository(ctx)
	if err != nil {
		return err
	}
	k.OnStop(func(context.Context) error { return repository.Close() })
	for name, tags := range map[string][]string{benchChart: versions(), fickleChart: {fickleVersion}} {
		for _, tag := range tags {
			if err := k.offer(ctx, repository, name, tag); err != nil {
				return err
			}
		}
	}
	if err := frame.Namespaces(ctx, k.Env, namespace); err != nil {
		return err
	}
	err = k.Env.Client.Create(ctx, &sourcev1.HelmRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: repositoryName},
		Spec:       sourcev1.HelmRepositorySpec{URL: repository.URL(repositoryName), Interval: metav1.Duration{Duration: time.Hour}},
	})
	if err != nil {
		return err
	}
	if err := k.bringAll(ctx, aConfig, sharers); err != nil {
		return err
	}
	if err := k.bringAll(ctx, aSecret, sharers); err != nil {
		return err
	}
	return k.bringAll(ctx, aSource, len(k.editor.fleet.sources))
}

func (k *soak) offer(ctx context.Context, repository *harness.HelmRepository, name, version string) error {
	c, err := harness.LoadChart(name)
	if err != nil {
		return err
	}
	c.Metadata.Version = version
	archive, err := k.Publish(ctx, c)
	if err != nil {
		return err
	}
	return repository.Add(repositoryName, archive)
}

// bringAll makes all objects of a kind, several at a time.
func (k *soak) bringAll(ctx context.Context, of kind, n int) error {
	return frame.Times(ctx, frame.Concurrency, n, func(ctx context.Context, i int) error { return k.editor.bring(ctx, object{of, i}) })
}

// run runs the test from the first install to the last check, and returns the faults. An error
// means that the test could not be completed.
func (k *soak) run(ctx context.Context) ([]string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := k.prepare(ctx); err != nil {
		return nil, err
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	watching.Go(func() { k.watch(ctx) })

	frame.Say("installing %d releases; seed %d", k.releases, k.Seed)
	if err := k.bringAll(ctx, aRelease, k.releases); err != nil {
		return nil, err
	}
	wrong, err := k.settle(ctx)
	if err != nil || len(wrong) > 0 {
		return wrong, err
	}
	half := k.duration / 2
	frame.Say("changing something every %s for %s, and ending the controller now and then", k.pause, half)
	if err := k.both(ctx, half); err != nil {
		return nil, err
	}
	wrong, err = k.settle(ctx)
	if err != nil || len(wrong) > 0 {
		return wrong, err
	}
	before := k.rest(ctx)
	frame.Say("changing something every %s for %s, with one controller", k.pause, half)
	began := time.Now()
	if err := k.change(ctx, half); err != nil {
		return nil, err
	}
	watched := k.since(began)
	wrong, err = k.settle(ctx)
	if err != nil {
		return nil, err
	}
	return append(append(wrong, growth(watched)...), restGrowth(before, k.rest(ctx))...), nil
}

// both changes things and restarts the controller meanwhile.
func (k *soak) both(ctx context.Context, d time.Duration) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return k.change(ctx, d) })
	group.Go(func() error {
		for _, r := range restarts(k.Seed, restartsPerHalf, d) {
			if err := k.restart(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

func (k *soak) restart(ctx context.Context, r restart) error {
	if err := frame.Pause(ctx, r.after); err != nil {
		return err
	}
	name, end := "SIGTERM", k.Env.Controller.Stop
	if r.kill {
		name, end = "SIGKILL", k.Env.Controller.Kill
	}
	began := time.Now()
	if err := end(ctx); err != nil {
		return err
	}
	frame.Say("the controller ended after %s by %s, and is to be away for %s", time.Since(began).Round(time.Millisecond), name, r.down)
	k.count(name)
	if err := frame.Pause(ctx, r.down); err != nil {
		return err
	}
	return k.Env.Controller.Start()
}

// change changes things at random moments.
func (k *soak) change(ctx context.Context, d time.Duration) error {
	end := time.Now().Add(d)
	random := rand.New(rand.NewPCG(k.Seed, 3))
	for time.Now().Before(end) {
		if err := k.Env.Controller.Ended(); err != nil {
			return err
		}
		k.count(k.editor.change(ctx))
		// Most moments are close together, some are far apart.
		if err := frame.Pause(ctx, time.Duration(float64(k.pause)*random.ExpFloat64())); err != nil {
			return err
		}
	}
	return nil
}

// settle repairs broken objects, waits until all objects reach and keep their wanted state, and
// returns those that do not.
func (k *soak) settle(ctx context.Context) ([]string, error) {
	began := time.Now()
	if err := k.editor.mend(ctx); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, k.limit)
	defer cancel()
	for {
		var releases map[string]*helmv2.HelmRelease
		err := list(ctx, k.Env, &helmv2.HelmReleaseList{}, &releases)
		if err == nil {
			err = k.Env.Controller.Ended()
		}
		if err != nil {
			return nil, err
		}
		wrong := k.editor.fleet.unsettled(releases)
		if len(wrong) == 0 {
			frame.Say("everything is as wanted after %s", time.Since(began).Round(100*time.Millisecond))
			return k.verify(ctx)
		}
		if frame.Pause(limited, time.Second) != nil {
			return append([]string{fmt.Sprintf("after %s, %d releases are not as wanted", k.limit, len(wrong))}, wrong...), ctx.Err()
		}
	}
}

// verify compares all objects, and checks that none changes any more.
func (k *soak) verify(ctx context.Context) ([]string, error) {
	before, err := look(ctx, k.Env)
	if err != nil {
		return nil, err
	}
	if err := frame.Pause(ctx, quiet); err != nil {
		return nil, err
	}
	after, err := look(ctx, k.Env)
	if err != nil {
		return nil, err
	}
	wrong := k.editor.fleet.faults(after)
	for name, hr := range after.releases {
		if was := before.releases[name]; was != nil && was.ResourceVersion != hr.ResourceVersion {
			wrong = append(wrong, fmt.Sprintf("%s: was as wanted, and was written within the next %s", name, quiet))
		}
	}
	return wrong, nil
}

func (k *soak) count(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.done[name]++
}

// watch takes samples until the context ends.
func (k *soak) watch(ctx context.Context) {
	for frame.Pause(ctx, k.sampleEvery()) == nil {
		if s, ok := k.sample(ctx); ok {
			k.mu.Lock()
			k.samples = append(k.samples, s)
			k.mu.Unlock()
		}
	}
}

// sampleEvery is 5 s, and less in a short run, which is to have samples too.
func (k *soak) sampleEvery() time.Duration {
	return max(500*time.Millisecond, min(5*time.Second, k.duration/120))
}

// sample scrapes the controller. It returns false while the controller is down or starting.
func (k *soak) sample(ctx context.Context) (sample, bool) {
	pid := k.Env.Controller.PID()
	resident, err := frame.ResidentMiB(pid)
	if err != nil {
		return sample{}, false
	}
	counts, err := k.Env.Controller.Metrics(ctx)
	if err != nil || k.Env.Controller.PID() != pid {
		return sample{}, false
	}
	return sample{
		at: time.Now(), pid: pid, resident: resident,
		heap: counts.Sum("go_memstats_heap_alloc_bytes") / (1 << 20), goroutines: counts.Sum("go_goroutines"), counts: counts,
	}, true
}

// rest samples an idle controller.
func (k *soak) rest(ctx context.Context) sample {
	s, ok := k.sample(ctx)
	if ok {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.rests = append(k.rests, s)
	}
	return s
}

// since returns the samples taken since then.
func (k *soak) since(then time.Time) []sample {
	k.mu.Lock()
	defer k.mu.Unlock()
	var since []sample
	for _, s := range k.samples {
		if s.at.After(then) {
			since = append(since, s)
		}
	}
	return since
}
