// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (h *house) await(key types.NamespacedName, names ...string) {
	var targets []Target
	for _, name := range names {
		targets = append(targets, Target{Resource: gvr("things"), Namespace: "infra", Name: name})
	}
	h.WatchObjects(key, h.cluster(), targets)
	synctest.Wait()
}

// bare is an object that says of no release that it belongs to it.
func bare(name string, change ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	return made(name, append(change, func(o *metav1.PartialObjectMetadata) { o.Namespace, o.Labels = "infra", nil })...)
}

// TestAwait: who waits for an object is woken by whatever happens to it, and as soon as
// it is known that nothing is missed.
func TestAwait(t *testing.T) {
	second := types.NamespacedName{Namespace: "apps", Name: "second"}
	inBubble(t, Options{Grace: time.Minute}, func(h *house) {
		h.await(app, "db")
		h.expectWoken("something may have changed since it looked", here)
		h.await(app, "db")
		h.expectWoken("it goes on waiting")
		h.server.put("things", bare("db"))
		h.expectWoken("it is there", here)
		h.server.put("things", bare("db", entries(entry("controller", "status", 5))))
		h.expectWoken("its status", here)
		h.await(second, "db")
		h.expectWoken("the watch stands already", "apps/second")
		h.server.put("things", bare("db", generation(2)))
		h.expectWoken("its spec", here, "apps/second")
		h.server.remove("things", "db")
		h.expectWoken("it is gone", here, "apps/second")
		if _, watches := h.server.count("things"); watches != 1 || !h.server.namespaces["infra"] || h.server.asked.FieldSelector != "metadata.name=db" || h.server.asked.LabelSelector != "" {
			t.Errorf("%d watches, of namespaces %v, the last one by %+v", watches, h.server.namespaces, h.server.asked)
		}
		h.Forget(app)
		h.server.put("things", bare("db"))
		h.expectWoken("one waits for it no more", "apps/second")
		h.await(second, "other")
		h.expectWoken("another object is another watch", "apps/second")
		h.server.put("things", bare("db", generation(3)))
		h.pass(2 * time.Minute)
		if s := h.Stats(); s.Watches != 1 || s.Followers != 1 {
			t.Errorf("what nobody waits for is watched: %+v", s)
		}
		h.Forget(second)
		h.pass(2 * time.Minute)
		if s := h.Stats(); s.Watches != 0 || s.Followers != 0 || s.Objects != 0 {
			t.Errorf("nobody waits, and yet: %+v", s)
		}
	})
}

// TestAwaitAgain: what has happened while nobody listened is found out.
func TestAwaitAgain(t *testing.T) {
	inBubble(t, Options{}, func(h *house) {
		h.server.put("things", bare("db"))
		h.await(app, "db")
		h.woken()
		h.server.cut("things", errGone)
		h.server.fail("things", errServer)
		h.server.put("things", bare("db", entries(entry("controller", "status", 5))))
		h.server.fail("things", nil)
		h.pass(longPause)
		h.expectWoken("its status has changed meanwhile", here)
		h.server.cut("things", errGone)
		h.server.remove("things", "db")
		h.pass(longPause)
		h.expectWoken("it has gone meanwhile", here)
	})
}

// TestAwaitForbidden: that a kind may not be watched is said once, and not of each
// object that somebody waits for.
func TestAwaitForbidden(t *testing.T) {
	var mu sync.Mutex
	var said []string
	log := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, args)
	}, funcr.Options{})
	inBubble(t, Options{Log: log, Grace: time.Minute}, func(h *house) {
		h.server.fail("things", errForbidden)
		h.await(app, "db")
		h.await(types.NamespacedName{Namespace: "apps", Name: "second"}, "cache")
		h.pass(time.Hour)
		h.expectWoken("nothing is heard")
		if len(said) != 1 {
			t.Errorf("it is said %d times: %q", len(said), said)
		}
		requests, _ := h.server.count("things")
		h.pass(time.Hour)
		if later, _ := h.server.count("things"); later-requests > 2*3*int(time.Hour/longPause) {
			t.Errorf("%d requests in an hour", later-requests)
		}
		h.server.fail("things", nil)
		h.Retry("here")
		h.pass(longPause)
		if woken := h.woken(); len(woken) != 2 || !slices.Contains(woken, here) {
			t.Errorf("when it is allowed, %v are woken", woken)
		}
	})
}

// TestAwaitTooMuch: an object that changes all the time costs a visit now and then.
func TestAwaitTooMuch(t *testing.T) {
	inBubble(t, Options{Refill: 10 * time.Second}, func(h *house) {
		h.server.put("things", bare("db"))
		h.await(app, "db")
		h.woken()
		for n := range int64(100) {
			h.server.put("things", bare("db", generation(n+2)))
			h.pass(time.Second)
		}
		if n := len(h.woken()); n < burst || n > burst+12 {
			t.Errorf("100 changes in 100 seconds are %d visits", n)
		}
	})
}
