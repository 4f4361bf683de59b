// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	podsPath = "/api/v1/namespaces/prod/pods"
	podPath  = podsPath + "/probe"
	podYAML  = "apiVersion: v1\nkind: Pod\nmetadata: {name: probe}\n"
)

func inPhase(phase string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) { u.Object["status"] = map[string]any{"phase": phase} }
}

// plot is a family of interleavings: the Pod of an earlier run is deleted, and another one
// of the same name is created and waited for.
type plot struct {
	// shared is true if another wait holds the watch open already.
	shared bool
	// before is the phase of the Pod that is deleted, after the one that the new Pod gets.
	before, after string
	// vanishes is true if another client deletes the new Pod after its end.
	vanishes bool
	// fault is what happens to the watch, at any time: renew, lose or silence.
	fault string
	// stepwise is true if events are delivered one at a time, and not all at once.
	stepwise bool
	// slow is true if anything can happen between a read and its answer.
	slow bool
}

// player plays one interleaving of a plot. What can happen next is chosen by picks, and
// after these the first that is possible; widths are the numbers of possibilities. With random, it is
// chosen by that instead.
type player struct {
	*testing.T
	plot

	world  *world
	client *client
	picks  []int
	widths []int
	random *rand.Rand
	script []string

	old, fresh         kube.ResourceList
	deleting, watching chan error
	deleted, created   bool
	removed, faulted   bool
	// stage counts what has happened to the new Pod.
	stage int
	reads int
	// held counts the reads whose answers have not been let through.
	held    atomic.Int32
	answers chan struct{}
}

// choose returns one of n possibilities.
func (p *player) choose(n int) int {
	at, pick := len(p.widths), 0
	if at < len(p.picks) {
		pick = p.picks[at]
	}
	if p.random != nil {
		pick = p.random.IntN(n)
	}
	p.widths = append(p.widths, n)
	return pick
}

type step struct {
	name string
	do   func()
}

// steps lists what can happen next.
func (p *player) steps() []step {
	var all []step
	may := func(possible bool, name string, do func()) {
		if possible {
			all = append(all, step{name, do})
		}
	}
	w := p.world
	may(w.Undelivered(), "deliver", p.deliver)
	may(p.held.Load() > 0, "answer", func() { p.held.Add(-1); p.answers <- struct{}{} })
	may(p.deleting == nil, "delete", func() {
		if errs := p.client.Delete(p.old); len(errs) > 0 {
			p.Fatal(errs)
		}
		p.removed = w.Object(podPath) == nil
		p.deleting = make(chan error, 1)
	})
	may(p.deleting != nil && !p.deleted, "wait for deletion", func() {
		p.deleted = true
		go func() { p.deleting <- p.client.WaitForDelete(p.old, time.Hour) }()
	})
	may(p.deleting != nil && !p.removed, "kubelet removes", func() {
		p.removed = true
		w.Delete(podPath)
	})
	may(p.deleted && !p.created && len(p.deleting) == 1, "create", func() {
		p.created = true
		p.check("the wait for deletion", <-p.deleting, p.removed, "")
		if _, err := p.client.Create(p.fresh); err != nil {
			p.Fatal(err)
		}
	})
	may(p.created && p.watching == nil, "wait for completion", func() {
		p.watching = make(chan error, 1)
		go func() { p.watching <- p.client.WatchUntilReady(p.fresh, time.Hour) }()
	})
	may(p.created && p.stage == 0, "run", func() { p.stage++; w.Change(podPath, inPhase("Running")) })
	may(p.stage == 1, "end", func() { p.stage++; w.Change(podPath, inPhase(p.after)) })
	may(p.stage == 2 && p.vanishes, "vanish", func() { p.stage++; w.Delete(podPath) })
	may(p.fault != "" && !p.faulted, p.fault, p.strike)
	return all
}

func (p *player) deliver() {
	p.world.Mu.Lock()
	defer p.world.Mu.Unlock()
	for p.world.Deliver() && !p.stepwise {
	}
}

func (p *player) strike() {
	p.faulted = true
	switch p.fault {
	case "renew":
		p.world.HangUp(true)
	case "lose":
		p.world.Refuse = func(method, _ string) int {
			if method == "WATCH" {
				return http.StatusForbidden
			}
			return 0
		}
		p.world.HangUp(false)
	case "silence":
		p.world.Mu.Lock()
		p.world.Silence()
		p.world.Mu.Unlock()
	}
}

// check compares the end of a wait with what had to happen before it, and with the error
// that it has to return.
func (p *player) check(what string, err error, may bool, want string) {
	got := ""
	if err != nil {
		got = err.Error()
	}
	unseen := p.vanishes && strings.Contains(got, "was deleted before it was seen to complete")
	right := want == "" && got == "" || want != "" && strings.Contains(got, want)
	if !may || !right && !unseen {
		p.Errorf("%+v: %s ended with %q, want %q, after\n\t%s", p.plot, what, got, want, strings.Join(p.script, "\n\t"))
	}
}

// wantErr is what the wait for completion has to return.
func (p *player) wantErr() string {
	if p.after == "Failed" {
		return "Pod failed"
	}
	return ""
}

// play goes on until nothing more can happen.
func (p *player) play() {
	patience := 10 * time.Second
	if p.fault == "silence" {
		patience = silentAfter + time.Second
	}
	for {
		if len(p.watching) == 1 {
			p.check("the wait for completion", <-p.watching, p.stage >= 2, p.wantErr())
			return
		}
		all := p.steps()
		if len(all) == 0 {
			waited := p.watching
			if waited == nil {
				waited = p.deleting
			}
			begun := time.Now()
			for len(waited) == 0 && time.Since(begun) < patience {
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
			}
			if len(waited) == 0 {
				p.Errorf("%+v: nothing ended the wait after\n\t%s", p.plot, strings.Join(p.script, "\n\t"))
				return
			}
			continue
		}
		next := all[p.choose(len(all))]
		p.script = append(p.script, next.name)
		next.do()
		synctest.Wait()
	}
}

// perform sets the scene, plays one interleaving, and returns once everything that was
// started has ended.
func (p *player) perform(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, list := patient(ctx, t, p.world, nil, strings.Replace(podYAML, "probe", "other", 1)+"---\n"+podYAML)
	other, probe := list[:1], list[1:]
	if _, err := c.Create(list); err != nil {
		t.Fatal(err)
	}
	p.world.Change(podPath, inPhase(p.before))
	var sharing chan struct{}
	if p.shared {
		sharing = make(chan struct{})
		go func() {
			defer close(sharing)
			_ = c.WatchUntilReady(other, 10*time.Hour)
		}()
		synctest.Wait()
	}
	p.client, p.old = c, probe
	var err error
	if p.fresh, err = c.parse(strings.NewReader(podYAML)); err != nil {
		t.Fatal(err)
	}
	p.deliver()
	p.world.Lags = true
	if p.slow {
		p.answers = make(chan struct{})
		p.world.Slow = func(method, path string) {
			if method == http.MethodGet && path == podPath {
				p.held.Add(1)
				<-p.answers
			}
		}
	}
	p.world.TakeReads()
	p.play()
	for _, r := range p.world.TakeReads() {
		if r == "GET "+podPath {
			p.reads++
		}
	}
	cancel()
	if sharing != nil {
		<-sharing
	}
	time.Sleep(2*retryRefused + 2*linger)
	synctest.Wait()
}

// TestInterleavings plays every order of the answers to DELETE and POST, the events, the
// begin of the waits, and what happens to the watch. Each wait has to end with the right
// result, and never sooner than it may. No wait needs the read that follows half a minute
// of silence, unless the watch has died without a word. With -short, it plays a few orders at random.
func TestInterleavings(t *testing.T) {
	t.Parallel()
	const sample = 10
	plots := []plot{
		{shared: true, before: "Failed", after: "Succeeded", stepwise: true},
		{shared: true, before: "Succeeded", after: "Failed", stepwise: true, slow: true},
		{before: "Succeeded", after: "Failed", stepwise: true},
	}
	for _, shared := range []bool{true, false} {
		plots = append(plots,
			plot{shared: shared, before: "Running", after: "Succeeded", stepwise: true},
			plot{shared: shared, before: "Failed", after: "Succeeded", vanishes: true},
			plot{shared: shared, before: "Running", after: "Failed", vanishes: true})
	}
	for _, fault := range []string{"renew", "lose", "silence"} {
		plots = append(plots, plot{shared: true, before: "Succeeded", after: "Failed", fault: fault})
	}
	for _, pl := range plots {
		t.Run(fmt.Sprintf("%+v", pl), func(t *testing.T) {
			t.Parallel()
			w := watchableWorld(t)
			n, most := 0, 0
			for picks := []int{}; picks != nil && !t.Failed() && (n < sample || !testing.Short()); n++ {
				w.Reset()
				w.SetUIDs()
				p := &player{plot: pl, world: w, picks: picks}
				if testing.Short() {
					p.random = rand.New(rand.NewPCG(uint64(n), 1))
				}
				synctest.Test(t, func(t *testing.T) {
					p.T = t
					p.perform(t)
				})
				if !testing.Short() {
					picks = following(p.picks, p.widths)
				}
				most = max(most, p.reads)
			}
			if pl.fault == "" && most > 3 {
				t.Errorf("the Pods were read %d times by two waits", most)
			}
			t.Logf("%d interleavings, at most %d reads", n, most)
		})
	}
}

// following returns the picks of the next interleaving, nil if there is none.
func following(picks, widths []int) []int {
	next := make([]int, len(widths))
	copy(next, picks)
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]+1 < widths[i] {
			next[i]++
			return next[:i+1]
		}
	}
	return nil
}
