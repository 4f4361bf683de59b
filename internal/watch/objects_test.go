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

func (h *fixture) watchObjects(key types.NamespacedName, names ...string) {
	var targets []Target
	for _, name := range names {
		targets = append(targets, Target{Resource: gvr("things"), Namespace: "infra", Name: name})
	}
	h.WatchObjects(key, h.cluster(), targets)
	synctest.Wait()
}

// bare returns an object without labels of a release.
func bare(name string, change ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	return made(name, append(change, func(o *metav1.PartialObjectMetadata) { o.Namespace, o.Labels = "infra", nil })...)
}

// TestWatchObjects: any change of an object enqueues its subscribers, and so does the start of the
// watch.
func TestWatchObjects(t *testing.T) {
	second := types.NamespacedName{Namespace: "apps", Name: "second"}
	withRegistry(t, Options{Grace: time.Minute}, func(h *fixture) {
		h.watchObjects(app, "db")
		h.expectEnqueued("it may have changed since it was read", here)
		h.watchObjects(app, "db")
		h.expectEnqueued("an equal subscription")
		h.server.put("things", bare("db"))
		h.expectEnqueued("created", here)
		h.server.put("things", bare("db", entries(entry("controller", "status", 5))))
		h.expectEnqueued("status", here)
		h.watchObjects(second, "db")
		h.expectEnqueued("the watch was established before", "apps/second")
		h.server.put("things", bare("db", generation(2)))
		h.expectEnqueued("spec", here, "apps/second")
		h.server.remove("things", "db")
		h.expectEnqueued("deleted", here, "apps/second")
		if _, watches := h.server.count("things"); watches != 1 || !h.server.namespaces["infra"] || h.server.lastWatch.FieldSelector != "metadata.name=db" || h.server.lastWatch.LabelSelector != "" {
			t.Errorf("%d watches, of namespaces %v, the last one by %+v", watches, h.server.namespaces, h.server.lastWatch)
		}
		h.Forget(app)
		h.server.put("things", bare("db"))
		h.expectEnqueued("one has unsubscribed", "apps/second")
		h.watchObjects(second, "other")
		h.expectEnqueued("another object is another watch", "apps/second")
		h.server.put("things", bare("db", generation(3)))
		h.pass(2 * time.Minute)
		if s := h.Stats(); s.Watches != 1 || s.Subscribers != 1 {
			t.Errorf("an object without subscribers is watched: %+v", s)
		}
		h.Forget(second)
		h.pass(2 * time.Minute)
		if s := h.Stats(); s.Watches != 0 || s.Subscribers != 0 || s.Objects != 0 {
			t.Errorf("without subscribers: %+v", s)
		}
	})
}

// TestObjectsRelisted: changes during an interrupted watch enqueue the subscriber.
func TestObjectsRelisted(t *testing.T) {
	withRegistry(t, Options{}, func(h *fixture) {
		h.server.put("things", bare("db"))
		h.watchObjects(app, "db")
		h.enqueued()
		h.server.cut("things", errGone)
		h.server.fail("things", errServer)
		h.server.put("things", bare("db", entries(entry("controller", "status", 5))))
		h.server.fail("things", nil)
		h.pass(longestPause)
		h.expectEnqueued("status changed meanwhile", here)
		h.server.cut("things", errGone)
		h.server.remove("things", "db")
		h.pass(longestPause)
		h.expectEnqueued("deleted meanwhile", here)
	})
}

// TestObjectsForbidden: a kind that may not be watched is logged once, not for each object.
func TestObjectsForbidden(t *testing.T) {
	var mu sync.Mutex
	var logged []string
	log := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		logged = append(logged, args)
	}, funcr.Options{})
	withRegistry(t, Options{Log: log, Grace: time.Minute}, func(h *fixture) {
		h.server.fail("things", errForbidden)
		h.watchObjects(app, "db")
		h.watchObjects(types.NamespacedName{Namespace: "apps", Name: "second"}, "cache")
		h.pass(time.Hour)
		h.expectEnqueued("no events")
		if len(logged) != 1 {
			t.Errorf("logged %d times: %q", len(logged), logged)
		}
		requests, _ := h.server.count("things")
		h.pass(time.Hour)
		if later, _ := h.server.count("things"); later-requests > 2*3*int(time.Hour/longestPause) {
			t.Errorf("%d requests in an hour", later-requests)
		}
		h.server.fail("things", nil)
		h.Retry("here")
		h.pass(longestPause)
		if enqueued := h.enqueued(); len(enqueued) != 2 || !slices.Contains(enqueued, here) {
			t.Errorf("when it is allowed, %v were enqueued", enqueued)
		}
	})
}

// TestObjectsRateLimited: an object that changes all the time enqueues its subscriber at the rate
// limit.
func TestObjectsRateLimited(t *testing.T) {
	withRegistry(t, Options{Refill: 10 * time.Second}, func(h *fixture) {
		h.server.put("things", bare("db"))
		h.watchObjects(app, "db")
		h.enqueued()
		for n := range int64(100) {
			h.server.put("things", bare("db", generation(n+2)))
			h.pass(time.Second)
		}
		if n := len(h.enqueued()); n < burst || n > burst+12 {
			t.Errorf("100 changes in 100 seconds enqueue %d times", n)
		}
	})
}
