// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cancel"
	"github.com/pintle-dev/pintle/internal/release"
)

var (
	appKey   = types.NamespacedName{Namespace: "prod", Name: "app"}
	otherKey = types.NamespacedName{Namespace: "prod", Name: "other"}
)

// fixture is a pool inside a synctest bubble that records its calls.
type fixture struct {
	*Pool
	stop    func()
	stopped chan error

	mu       sync.Mutex
	enqueued []types.NamespacedName
	// unseen counts calls of enqueue before which the outcome was not visible.
	unseen int
}

func newFixture(t *testing.T, slots int) *fixture {
	t.Helper()
	f := &fixture{stopped: make(chan error, 1)}
	f.Pool = NewPool(slots, time.Now, f.record)
	ctx, stop := context.WithCancel(t.Context())
	f.stop = stop
	go func() { f.stopped <- f.Start(ctx) }()
	synctest.Wait()
	t.Cleanup(func() { stop(); synctest.Wait() })
	return f
}

func (f *fixture) record(key types.NamespacedName) {
	_, visible := f.Outcome(key)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.enqueued = append(f.enqueued, key)
	if !visible || f.Running(key) != nil {
		f.unseen++
	}
}

func (f *fixture) enqueuedKeys() []types.NamespacedName {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.enqueued
}

// hold returns a task that ends when end is closed or its context is cancelled.
func hold(end <-chan struct{}) Task {
	return func(ctx context.Context, _ func() func()) release.Outcome {
		select {
		case <-end:
			return release.Outcome{}
		case <-ctx.Done():
			return release.Outcome{Err: ctx.Err(), Cancelled: true}
		}
	}
}

func info(timeout time.Duration) Info {
	return Info{Action: release.Install{Timeout: timeout}, Desired: release.Desired{Generation: 7}, Started: time.Unix(1, 0)}
}

// TestAttemptLife: an attempt runs, ends, and blocks its key until it is recorded and forgotten.
func TestAttemptLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 2)
		if f.Running(appKey) != nil {
			t.Error("an attempt runs before Begin")
		}
		end := make(chan struct{})
		want := release.Outcome{Desired: release.Desired{Generation: 7}, Logs: []string{"done"}}
		if !f.Begin(t.Context(), appKey, info(time.Minute), func(ctx context.Context, idle func() func()) release.Outcome {
			hold(end)(ctx, idle)
			return want
		}) {
			t.Fatal("Begin returned false for a free key")
		}
		if diff := cmp.Diff(&release.Running{Action: helmv2.ActionInstall, Generation: 7, Started: time.Unix(1, 0), Desired: release.Desired{Generation: 7}}, f.Running(appKey)); diff != "" {
			t.Errorf("Running (-want +got):\n%s", diff)
		}
		if _, ended := f.Outcome(appKey); ended {
			t.Error("a running attempt has an outcome")
		}
		f.Forget(appKey)
		if f.Running(appKey) == nil {
			t.Error("Forget dropped a running attempt")
		}
		if f.Begin(t.Context(), appKey, info(0), hold(nil)) {
			t.Error("a second attempt for the same release was begun")
		}
		synctest.Wait()
		if n := len(f.enqueuedKeys()); n != 0 {
			t.Errorf("enqueued %d times before the end", n)
		}

		close(end)
		synctest.Wait()
		if diff := cmp.Diff([]types.NamespacedName{appKey}, f.enqueuedKeys()); diff != "" {
			t.Errorf("enqueued keys (-want +got):\n%s", diff)
		}
		if f.unseen > 0 {
			t.Error("enqueued before the outcome was visible")
		}
		if f.Running(appKey) != nil {
			t.Error("an ended attempt runs")
		}
		want.Announced = time.Unix(1, 0)
		for range 2 {
			got, ended := f.Outcome(appKey)
			if diff := cmp.Diff(want, got); diff != "" || !ended {
				t.Errorf("the outcome stays until it is forgotten: %t (-want +got):\n%s", ended, diff)
			}
		}
		if f.Begin(t.Context(), appKey, info(0), hold(nil)) {
			t.Error("Begin returned true before the outcome was recorded")
		}
		f.Forget(appKey)
		if _, ended := f.Outcome(appKey); ended {
			t.Error("a forgotten outcome is still there")
		}
		if !f.Begin(t.Context(), appKey, info(0), hold(end)) {
			t.Error("a release whose outcome was recorded may be acted on again")
		}
		synctest.Wait()
		if n := len(f.enqueuedKeys()); n != 2 {
			t.Errorf("two attempts enqueued %d keys", n)
		}
		f.Forget(otherKey)
		f.Cancel(otherKey, context.Canceled)
	})
}

// TestSlots: at most as many tasks work at the same time as there are slots.
func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 2)
		end := make(chan struct{})
		var mu sync.Mutex
		var working, most int
		for i := range 7 {
			key := types.NamespacedName{Name: fmt.Sprint(i)}
			if !f.Begin(t.Context(), key, info(0), func(ctx context.Context, idle func() func()) release.Outcome {
				mu.Lock()
				working++
				most = max(most, working)
				mu.Unlock()
				defer func() { mu.Lock(); working--; mu.Unlock() }()
				return hold(end)(ctx, idle)
			}) {
				t.Fatal("Begin returned false for an attempt that waits for a slot")
			}
			if f.Running(key) == nil {
				t.Error("an attempt that waits for a slot counts as running")
			}
		}
		synctest.Wait()
		if most != 2 {
			t.Errorf("%d of 2 slots were used at the same time", most)
		}
		close(end)
		synctest.Wait()
		if len(f.enqueuedKeys()) != 7 || most != 2 || f.slots.Used() != 0 {
			t.Errorf("%d of 7 ended, %d at the same time, %d slots are still taken", len(f.enqueuedKeys()), most, f.slots.Used())
		}
	})
}

// TestStats: the outcome has the time of the announcement, and Stats counts attempts and slots.
func TestStats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, end := newFixture(t, 1), make(chan struct{})
		for i, key := range []types.NamespacedName{appKey, otherKey} {
			if !f.Begin(t.Context(), key, Info{Action: release.Install{}, Started: time.Unix(int64(i), 0)}, hold(end)) {
				t.Fatal("Begin returned false")
			}
			synctest.Wait()
			if running, slots, used := f.Stats(); running != i+1 || slots != 1 || used != 1 {
				t.Errorf("%d running, %d of %d slots used", running, used, slots)
			}
		}
		close(end)
		synctest.Wait()
		if running, _, used := f.Stats(); running != 0 || used != 0 {
			t.Errorf("%d running at the end, %d slots used", running, used)
		}
		if o, _ := f.Outcome(otherKey); !o.Announced.Equal(time.Unix(1, 0)) {
			t.Errorf("it was announced at %v", o.Announced)
		}
	})
}

// TestIdleReleasesSlot: a waiting task releases its slot and continues only with a slot, even if it
// is cancelled.
func TestIdleReleasesSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1)
		goOn, end := make(chan struct{}), make(chan struct{})
		resumed := false
		f.Begin(t.Context(), appKey, info(0), func(_ context.Context, idle func() func()) release.Outcome {
			resume := idle()
			<-goOn
			resume()
			resumed = true
			return release.Outcome{}
		})
		synctest.Wait()
		if f.slots.Used() != 0 {
			t.Fatal("an idle attempt holds its slot")
		}
		f.Begin(t.Context(), otherKey, info(0), hold(end))
		synctest.Wait()
		if f.slots.Used() != 1 {
			t.Fatal("the slot was not used by another attempt")
		}
		close(goOn)
		synctest.Wait()
		if resumed {
			t.Error("a task resumed without a slot")
		}
		// Acquiring the slot again cannot be cancelled, otherwise the task would never end.
		f.Cancel(appKey, context.Canceled)
		synctest.Wait()
		if resumed || f.Running(appKey) == nil {
			t.Error("a cancelled task resumed without a slot")
		}
		close(end)
		synctest.Wait()
		if !resumed || len(f.enqueuedKeys()) != 2 || f.slots.Used() != 0 {
			t.Errorf("resumed %t, %d of 2 ended, %d slots are still taken", resumed, len(f.enqueuedKeys()), f.slots.Used())
		}
	})
}

// TestNamespacesShareSlots: the attempts of a namespace whose tasks keep their slots for long wait
// longer than the one of another namespace.
func TestNamespacesShareSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1)
		var order []string
		begin := func(namespace, name string) {
			f.Begin(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, info(0), func(_ context.Context, idle func() func()) release.Outcome {
				order = append(order, name)
				idle()()
				time.Sleep(time.Second)
				return release.Outcome{}
			})
			synctest.Wait()
		}
		for _, name := range []string{"a", "b", "c"} {
			begin("busy", name)
		}
		begin("other", "d")
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := "a d b c"; strings.Join(order, " ") != want || f.slots.Used() != 0 {
			t.Errorf("the order is %v, not %s; %d slots are used", order, want, f.slots.Used())
		}
	})
}

// TestClustersShareSlots: the attempts of many namespaces on one other cluster wait longer than the
// one of another namespace on the own cluster.
func TestClustersShareSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1)
		var order []string
		begin := func(namespace, cluster string) {
			of := info(0)
			of.Cluster = cluster
			f.Begin(t.Context(), types.NamespacedName{Namespace: namespace, Name: "app"}, of, func(_ context.Context, idle func() func()) release.Outcome {
				order = append(order, namespace)
				idle()()
				time.Sleep(time.Second)
				return release.Outcome{}
			})
			synctest.Wait()
		}
		for _, namespace := range []string{"a", "b", "c"} {
			begin(namespace, "far")
		}
		begin("d", "")
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := "a d b c"; strings.Join(order, " ") != want || f.slots.Used() != 0 {
			t.Errorf("the order is %v, not %s; %d slots are used", order, want, f.slots.Used())
		}
	})
}

// TestResumeBeforeBegin: no new attempt of a namespace gets a slot before its task that resumes.
func TestResumeBeforeBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1)
		goOn, end := make(chan struct{}), make(chan struct{})
		begun, before := 0, -1
		f.Begin(t.Context(), appKey, info(0), func(_ context.Context, idle func() func()) release.Outcome {
			resume := idle()
			<-goOn
			resume()
			before = begun
			return release.Outcome{}
		})
		synctest.Wait()
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			key := types.NamespacedName{Namespace: "prod", Name: name}
			f.Begin(t.Context(), key, info(0), func(context.Context, func() func()) release.Outcome {
				begun++
				<-end
				return release.Outcome{}
			})
		}
		synctest.Wait()
		close(goOn)
		synctest.Wait()
		close(end)
		synctest.Wait()
		if before != 1 || len(f.enqueuedKeys()) != 6 {
			t.Errorf("%d began before the task resumed, %d of 6 ended", before, len(f.enqueuedKeys()))
		}
	})
}

// TestResumedTakeTurns: attempts that resume again and again, as those on an API server that answers
// each write after two seconds do, leave one of the next slots to another namespace. A namespace whose
// attempts keep all slots but one leaves that to others.
func TestResumedTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 4)
		slow := func(_ context.Context, idle func() func()) release.Outcome {
			for range 100 {
				time.Sleep(2 * time.Second)
				resume := idle()
				time.Sleep(10 * time.Millisecond)
				resume()
			}
			return release.Outcome{}
		}
		for i := range 8 {
			of := info(0)
			of.Cluster = "far"
			f.Begin(t.Context(), types.NamespacedName{Namespace: "hog", Name: fmt.Sprint(i)}, of, slow)
		}
		for range 10 {
			time.Sleep(3 * time.Second)
			announced := time.Now()
			f.Begin(t.Context(), appKey, info(0), func(_ context.Context, idle func() func()) release.Outcome {
				for range 3 {
					if waited := time.Since(announced); waited > 2*time.Second {
						t.Errorf("it has waited for %s", waited)
					}
					resume := idle()
					time.Sleep(10 * time.Millisecond)
					announced = time.Now()
					resume()
				}
				return release.Outcome{}
			})
			synctest.Wait()
			time.Sleep(10 * time.Second)
			if _, ended := f.Outcome(appKey); !ended {
				t.Fatal("it has not ended")
			}
			f.Forget(appKey)
		}
		time.Sleep(time.Hour)
	})
}

// TestCancel: a cancelled task runs until it returns, and an attempt without a slot does not start.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1)
		cancelled := make(chan struct{})
		wind := make(chan struct{})
		f.Begin(t.Context(), appKey, info(0), func(ctx context.Context, _ func() func()) release.Outcome {
			<-ctx.Done()
			close(cancelled)
			<-wind
			return release.Outcome{Err: ctx.Err(), Cancelled: true}
		})
		synctest.Wait()
		waiting := info(time.Second)
		f.Begin(t.Context(), otherKey, waiting, func(context.Context, func() func()) release.Outcome {
			t.Error("an attempt that was cancelled before it had a slot began")
			return release.Outcome{}
		})
		synctest.Wait()
		f.Cancel(otherKey, context.Canceled)
		synctest.Wait()
		got, ended := f.Outcome(otherKey)
		want := release.Outcome{Action: waiting.Action, Desired: waiting.Desired, Cancelled: true, Err: errNotStarted, Announced: waiting.Started}
		if !ended || !errors.Is(got.Err, want.Err) {
			t.Errorf("ended %t, error %v", ended, got.Err)
		}
		got.Err, want.Err = nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("outcome of an attempt that never began (-want +got):\n%s", diff)
		}

		f.Cancel(appKey, context.Canceled)
		f.Cancel(appKey, context.Canceled)
		<-cancelled
		synctest.Wait()
		if f.Running(appKey) == nil {
			t.Error("a cancelled attempt runs until it has returned")
		}
		close(wind)
		synctest.Wait()
		if got, _ := f.Outcome(appKey); !got.Cancelled {
			t.Errorf("outcome %+v", got)
		}
		f.Cancel(appKey, context.Canceled)
		if diff := cmp.Diff([]types.NamespacedName{otherKey, appKey}, f.enqueuedKeys()); diff != "" {
			t.Errorf("enqueued keys (-want +got):\n%s", diff)
		}
	})
}

// TestOutdatedAndCancelled: an attempt with outdated inputs can still be cancelled by a deletion, and
// by the end of the pool. Otherwise the first cause counts.
func TestOutdatedAndCancelled(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first error
		end   func(f *fixture)
		// cause is that of the context of the task, and ending that of cancel.Ending.
		cause, ending error
	}{
		"OutdatedThenDeleted":  {release.ErrOutdated, func(f *fixture) { f.Cancel(appKey, context.Canceled) }, release.ErrOutdated, context.Canceled},
		"OutdatedThenShutdown": {release.ErrOutdated, func(f *fixture) { f.stop() }, release.ErrOutdated, release.ErrShutdown},
		"DeletedThenOutdated":  {context.Canceled, func(f *fixture) { f.Cancel(appKey, release.ErrOutdated) }, context.Canceled, context.Canceled},
		"DeletedThenShutdown":  {context.Canceled, func(f *fixture) { f.stop() }, context.Canceled, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, 1)
				var cause, early, ending error
				f.Begin(t.Context(), appKey, info(0), func(ctx context.Context, _ func() func()) release.Outcome {
					<-ctx.Done()
					early = cancel.Ending(ctx).Err()
					<-cancel.Ending(ctx).Done()
					cause, ending = context.Cause(ctx), context.Cause(cancel.Ending(ctx))
					return release.Outcome{}
				})
				synctest.Wait()
				f.Cancel(appKey, tc.first)
				synctest.Wait()
				tc.end(f)
				synctest.Wait()
				if !errors.Is(cause, tc.cause) || !errors.Is(ending, tc.ending) || (early == nil) != errors.Is(tc.first, release.ErrOutdated) {
					t.Errorf("the cause is %v, and that of the end %v; ended early: %v", cause, ending, early)
				}
			})
		})
	}
}

// TestTakeAfterCancel: an attempt does not start if a slot and a cancellation are available at
// once.
func TestTakeAfterCancel(t *testing.T) {
	t.Parallel()
	p := NewPool(1, time.Now, func(types.NamespacedName) {})
	p.base = t.Context()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 64 {
		if err := p.take(ctx, "", nil); !errors.Is(err, errNotStarted) || p.slots.Used() != 0 {
			t.Fatalf("a cancelled attempt took a slot: %v", err)
		}
	}
}

// TestContexts: a task keeps the values of the context and not its deadline.
func TestContexts(t *testing.T) {
	t.Parallel()
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1)
		reconciliation, leave := context.WithTimeout(context.WithValue(t.Context(), key{}, "logger"), time.Second)
		end := make(chan struct{})
		var value any
		var ended error
		f.Begin(reconciliation, appKey, info(0), func(ctx context.Context, _ func() func()) release.Outcome {
			value = ctx.Value(key{})
			<-end
			ended = ctx.Err()
			return release.Outcome{}
		})
		leave()
		time.Sleep(time.Hour)
		close(end)
		synctest.Wait()
		if value != "logger" {
			t.Error("the values of the context are lost")
		}
		if ended != nil {
			t.Errorf("the end of the reconciliation cancelled the attempt: %v", ended)
		}
	})
}

// TestStop: a stopping pool cancels its tasks, starts none, and waits for all.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(1, time.Now, func(types.NamespacedName) {})
		if !p.NeedLeaderElection() {
			t.Error("tasks run without leader election")
		}
		if p.Begin(t.Context(), appKey, info(0), hold(nil)) {
			t.Error("begun before the pool was started")
		}
		if p.Running(appKey) != nil {
			t.Error("a rejected attempt runs")
		}

		f := newFixture(t, 1)
		wind := make(chan struct{})
		cancelled := false
		f.Begin(t.Context(), appKey, info(0), func(ctx context.Context, idle func() func()) release.Outcome {
			resume := idle()
			<-ctx.Done()
			cancelled = errors.Is(context.Cause(ctx), release.ErrShutdown)
			<-wind
			resume()
			return release.Outcome{Err: ctx.Err(), Cancelled: true}
		})
		synctest.Wait()
		f.Begin(t.Context(), otherKey, info(0), hold(nil))
		synctest.Wait()
		third := types.NamespacedName{Name: "third"}
		f.Begin(t.Context(), third, info(0), func(context.Context, func() func()) release.Outcome {
			t.Error("an attempt began while the pool was stopping")
			return release.Outcome{}
		})
		synctest.Wait()
		f.stop()
		synctest.Wait()
		if !cancelled {
			t.Error("the end of the pool does not cancel its tasks with ErrShutdown")
		}
		select {
		case err := <-f.stopped:
			t.Errorf("the pool stopped before its tasks had returned: %v", err)
		default:
		}
		if f.Begin(t.Context(), types.NamespacedName{Name: "late"}, info(0), hold(nil)) {
			t.Error("begun while the pool was stopping")
		}
		close(wind)
		if err := <-f.stopped; err != nil {
			t.Errorf("Start returned %v", err)
		}
		for _, key := range []types.NamespacedName{appKey, otherKey} {
			if got, ended := f.Outcome(key); !ended || !got.Cancelled {
				t.Errorf("%s: ended %t, outcome %+v", key, ended, got)
			}
		}
		// All three calls of enqueue came before Start returned.
		if n := len(f.enqueuedKeys()); n != 3 || f.unseen != 0 {
			t.Errorf("%d calls of enqueue, %d too early", n, f.unseen)
		}
		if f.Begin(t.Context(), types.NamespacedName{Name: "late"}, info(0), hold(nil)) {
			t.Error("begun after the pool had stopped")
		}
	})
}

// TestPanic: a panic is the failure of one attempt.
func TestPanic(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]Task{
		"Working": func(context.Context, func() func()) release.Outcome { panic("boom") },
		"Idle": func(_ context.Context, idle func() func()) release.Outcome {
			defer idle()()
			panic("boom")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, 1)
				f.Begin(t.Context(), appKey, info(0), task)
				synctest.Wait()
				got, ended := f.Outcome(appKey)
				if !ended || got.Err == nil || !strings.Contains(got.Err.Error(), "install panicked: boom") || got.Cancelled {
					t.Errorf("a panic is a failure: ended %t, outcome %+v", ended, got)
				}
				if got.Desired.Generation != 7 || got.Action != (release.Install{}) {
					t.Errorf("the outcome has another action: %+v", got)
				}
				if len(f.enqueuedKeys()) != 1 || f.slots.Used() != 0 {
					t.Errorf("%d calls of enqueue, %d slots used", len(f.enqueuedKeys()), f.slots.Used())
				}
			})
		})
	}
}

// TestConcurrentUse: all methods may be called concurrently, for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 3)
		var mu sync.Mutex
		running := map[types.NamespacedName]int{}
		begun := 0
		task := func(key types.NamespacedName) Task {
			return func(_ context.Context, idle func() func()) release.Outcome {
				mu.Lock()
				begun++
				running[key]++
				if running[key] > 1 {
					t.Errorf("two attempts for %s at the same time", key)
				}
				mu.Unlock()
				idle()()
				mu.Lock()
				running[key]--
				mu.Unlock()
				return release.Outcome{}
			}
		}
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				for i := range 50 {
					key := types.NamespacedName{Name: fmt.Sprint((worker + i) % 5)}
					f.Begin(t.Context(), key, info(0), task(key))
					f.Running(key)
					if i%3 == 0 {
						// The clock of the bubble advances when all goroutines wait, so all workers
						// continue at once.
						time.Sleep(time.Millisecond)
					}
					if i%7 == 0 {
						f.Cancel(key, context.Canceled)
					}
					if _, ok := f.Outcome(key); ok {
						f.Forget(key)
					}
				}
			})
		}
		wg.Wait()
		f.stop()
		if err := <-f.stopped; err != nil {
			t.Error(err)
		}
		// A worker may forget an outcome before the call of enqueue, so these are not counted.
		if begun == 0 || f.slots.Used() != 0 {
			t.Errorf("%d attempts began, %d slots are still taken", begun, f.slots.Used())
		}
	})
}
