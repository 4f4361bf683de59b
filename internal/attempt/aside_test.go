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

	"github.com/pintle-dev/pintle/internal/release"
)

// asides is work aside that the fixture does until it is told to end.
type asides struct {
	end chan struct{}

	mu sync.Mutex
	// working and most are the works that run, now and at the same time. causes are those of the
	// cancelled ones, and ended the errors of the others.
	working, most int
	causes, ended []error
}

func (a *asides) note(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

// peak returns the largest number of works at the same time.
func (a *asides) peak() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.most
}

func (a *asides) of(cluster string, err error) Aside {
	return Aside{
		Cluster: cluster,
		Work: func(ctx context.Context, _ func() func()) error {
			a.note(func() { a.working++; a.most = max(a.most, a.working) })
			defer a.note(func() { a.working-- })
			select {
			case <-a.end:
			case <-ctx.Done():
				a.note(func() { a.causes = append(a.causes, context.Cause(ctx)) })
			}
			return err
		},
		Ended: func(err error) { a.note(func() { a.ended = append(a.ended, err) }) },
	}
}

// TestAsideLife: there is one work of a release at a time, it has no outcome, and its end is known
// before the release is enqueued.
func TestAsideLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, a, failed := newFixture(t, 1), &asides{end: make(chan struct{})}, errors.New("failed")
		reconciliation, leave := context.WithCancel(t.Context())
		if !f.Aside(reconciliation, appKey, a.of("", failed)) {
			t.Fatal("it is refused")
		}
		leave()
		synctest.Wait()
		if f.Aside(t.Context(), appKey, a.of("", nil)) {
			t.Error("a second work of the release is accepted")
		}
		if running, _, used := f.Stats(); running != 0 || used != 1 || f.Running(appKey) != nil {
			t.Errorf("%d attempts run, %d slots are used", running, used)
		}
		var seen int
		f.enqueue = func(types.NamespacedName) { seen = len(a.ended) }
		close(a.end)
		synctest.Wait()
		if _, ended := f.Outcome(appKey); ended || f.slots.Used() != 0 || seen != 1 {
			t.Errorf("an outcome: %t, %d slots used; %d ends were known", ended, f.slots.Used(), seen)
		}
		if len(a.ended) != 1 || !errors.Is(a.ended[0], failed) || len(a.causes) > 0 {
			t.Errorf("ended with %v, cancelled by %v", a.ended, a.causes)
		}
		if !f.Aside(t.Context(), appKey, a.of("", nil)) {
			t.Error("no further work is accepted")
		}
	})
}

// TestAsideSlots: work aside and attempts share the slots, fairly by namespace and cluster, and work
// that waits releases its slot.
func TestAsideSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, a := newFixture(t, 2), &asides{end: make(chan struct{})}
		for i := range 5 {
			f.Aside(t.Context(), types.NamespacedName{Namespace: "a", Name: fmt.Sprint(i)}, a.of("", nil))
		}
		synctest.Wait()
		if most := a.peak(); most != 2 {
			t.Errorf("%d work in 2 slots", most)
		}
		close(a.end)
		synctest.Wait()
	})
	synctest.Test(t, func(t *testing.T) {
		f, a := newFixture(t, 1), &asides{end: make(chan struct{})}
		f.Aside(t.Context(), appKey, a.of("", nil))
		synctest.Wait()
		var order []string
		for _, namespace := range []string{"a", "b", "c"} {
			work := Aside{Cluster: "far", Ended: func(error) {}}
			if namespace == "c" {
				work.Cluster = ""
			}
			work.Work = func(context.Context, func() func()) error {
				order = append(order, namespace)
				time.Sleep(time.Second)
				return nil
			}
			f.Aside(t.Context(), types.NamespacedName{Namespace: namespace, Name: "app"}, work)
			synctest.Wait()
		}
		close(a.end)
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := "a c b"; strings.Join(order, " ") != want || f.slots.Used() != 0 {
			t.Errorf("the order is %v, not %s; %d slots are used", order, want, f.slots.Used())
		}
		f.Aside(t.Context(), appKey, Aside{Ended: func(error) {}, Work: func(_ context.Context, idle func() func()) error {
			resume := idle()
			defer resume()
			if f.slots.Used() > 0 {
				t.Error("work that waits keeps its slot")
			}
			return nil
		}})
	})
}

// TestAsideCancelled: an attempt that begins wins, and what ends the attempts of a release ends its
// work. The release is enqueued, and the result is dropped.
func TestAsideCancelled(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end   func(f *fixture)
		cause error
	}{
		"Begin":    {func(f *fixture) { f.Begin(f.base, appKey, info(0), hold(nil)) }, context.Canceled},
		"EndAside": {func(f *fixture) { f.EndAside(appKey); f.EndAside(otherKey) }, context.Canceled},
		"Gone":     {func(f *fixture) { f.Cancel(appKey, release.ErrShutdown) }, release.ErrShutdown},
		"Stop":     {func(f *fixture) { f.stop() }, release.ErrShutdown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, a := newFixture(t, 2), &asides{end: make(chan struct{})}
				f.Aside(t.Context(), appKey, a.of("", nil))
				synctest.Wait()
				tc.end(f)
				synctest.Wait()
				if len(a.ended) > 0 || len(a.causes) != 1 || !errors.Is(a.causes[0], tc.cause) {
					t.Errorf("ended with %v, cancelled by %v", a.ended, a.causes)
				}
				f.mu.Lock()
				left := len(f.asides)
				f.mu.Unlock()
				if diff := cmp.Diff([]types.NamespacedName{appKey}, f.enqueuedKeys()); diff != "" || left > 0 {
					t.Errorf("%d left; enqueued (-want +got):\n%s", left, diff)
				}
				f.Forget(appKey)
			})
		})
	}
}

// TestAsideRefused: none begins beside an attempt, before the pool is started, or while it stops;
// and the pool ends after the work.
func TestAsideRefused(t *testing.T) {
	t.Parallel()
	if NewPool(1, time.Now, nil).Aside(t.Context(), appKey, Aside{}) {
		t.Error("begun before the pool was started")
	}
	synctest.Test(t, func(t *testing.T) {
		f, end := newFixture(t, 1), make(chan struct{})
		f.Begin(t.Context(), appKey, info(0), hold(end))
		synctest.Wait()
		a := &asides{end: make(chan struct{})}
		if f.Aside(t.Context(), appKey, a.of("", nil)) {
			t.Error("begun beside an attempt")
		}
		if !f.Aside(t.Context(), otherKey, a.of("", nil)) {
			t.Error("refused beside the attempt of another release")
		}
		close(end)
		synctest.Wait()
		if a.working != 1 {
			t.Error("it does not get the slot of the attempt")
		}
		wind := make(chan struct{})
		f.Aside(t.Context(), types.NamespacedName{Name: "waits"}, Aside{
			Work:  func(context.Context, func() func()) error { t.Error("cancelled work began"); return nil },
			Ended: func(error) { t.Error("cancelled work ended") },
		})
		f.EndAside(types.NamespacedName{Name: "waits"})
		f.EndAside(otherKey)
		synctest.Wait()
		f.Aside(t.Context(), otherKey, Aside{
			Work: func(context.Context, func() func()) error { <-wind; return nil }, Ended: func(error) {},
		})
		synctest.Wait()
		f.stop()
		synctest.Wait()
		select {
		case err := <-f.stopped:
			t.Errorf("the pool ended before the work: %v", err)
		default:
		}
		if f.Aside(t.Context(), types.NamespacedName{Name: "late"}, a.of("", nil)) {
			t.Error("begun while the pool was stopping")
		}
		close(wind)
		if err := <-f.stopped; err != nil {
			t.Error(err)
		}
	})
}

// TestAsidePanic: a panic is an error of the work.
func TestAsidePanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, a := newFixture(t, 1), &asides{}
		work := a.of("", nil)
		work.Work = func(_ context.Context, idle func() func()) error { defer idle()(); panic("boom") }
		f.Aside(t.Context(), appKey, work)
		synctest.Wait()
		if len(a.ended) != 1 || a.ended[0] == nil || !strings.Contains(a.ended[0].Error(), "panicked: boom") || f.slots.Used() != 0 {
			t.Errorf("ended with %v, %d slots used", a.ended, f.slots.Used())
		}
	})
}
