// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const here = "apps/app"

var errNoClient = errors.New("no client")

// TestWatchKinds: relevant changes enqueue the owner of an object, with and without streamed lists.
func TestWatchKinds(t *testing.T) {
	for _, streams := range []bool{false, true} {
		t.Run(fmt.Sprintf("streams=%t", streams), func(t *testing.T) {
			withRegistry(t, Options{}, func(h *fixture) { changesOfObjects(h, streams) })
		})
	}
}

func changesOfObjects(h *fixture, streams bool) {
	h.server.streams = streams
	h.server.put("things", made("old", entries(entry("other", "", 1))))
	first := h.server.put("things", made("a"))
	if m := h.observed("things", "a"); m != (Observation{}) || !m.ChangedSince("uid-a", "100") {
		h.Errorf("known without a subscriber: %v", m)
	}
	h.watchKinds(app, "things")
	h.watchKinds(types.NamespacedName{Namespace: "apps", Name: "other"}, "things")
	h.watchKinds(types.NamespacedName{Namespace: "apps", Name: "elsewhere"}, "others")
	// Objects may have changed since they were read.
	h.expectEnqueued("first list", here, "apps/elsewhere")
	if m := h.observed("things", "a"); m != (Observation{Known: true, Present: true, UID: "uid-a", Version: first, At: first}) || m.ChangedSince("uid-a", first) {
		h.Errorf("listed: %v", m)
	}

	status := h.server.put("things", made("a", entries(entry(helmv2.FieldManager, "", 1), entry("controller", "status", 5))))
	h.expectEnqueued("status")
	if m := h.observed("things", "a"); m.Version != first || m.At != status || m.ChangedSince("uid-a", first) {
		h.Errorf("a change of the status is relevant: %v", m)
	}

	ours := h.server.put("things", made("a", generation(2), entries(entry(helmv2.FieldManager, "", 6))))
	h.expectEnqueued("our own apply")
	if m := h.observed("things", "a"); m.Version != ours || !m.ChangedSince("uid-a", first) || m.ChangedSince("uid-a", ours) {
		h.Errorf("our own apply is not recorded: %v", m)
	}

	// A removal of fields leaves no entry.
	less := entry(helmv2.FieldManager, "", 6)
	less.FieldsV1 = metav1.NewFieldsV1("{}")
	h.server.put("things", made("a", generation(3), entries(less)))
	h.expectEnqueued("a removal", here)

	noted := h.server.put("things", made("a", generation(4), entries(less, entry("operator", "", 9))))
	h.expectEnqueued("unowned fields")
	if m := h.observed("things", "a"); m.Version != noted {
		h.Errorf("unowned fields are not recorded: %v", m)
	}

	h.server.put("things", made("foreign", of("elsewhere"), entries(entry("other", "", 1))))
	h.expectEnqueued("an object of a release that is not subscribed to the kind")
	h.server.put("things", made("foreign", generation(2), of("other"), entries(entry("other", "", 1))))
	h.expectEnqueued("an object has another owner", "apps/other")
	h.server.put("things", made("foreign", generation(3), of("app"), entries(entry(helmv2.FieldManager, "", 2))))
	h.expectEnqueued("we have changed the owner", "apps/other")
	h.server.put("things", made("unowned", func(o *metav1.PartialObjectMetadata) { delete(o.Labels, helmv2.LabelNamespace) }, entries()))
	h.expectEnqueued("an object without an owner")

	at := h.server.bookmark("things")
	synctest.Wait()
	if m := h.observed("things", "nowhere"); m != (Observation{Known: true, At: at}) {
		h.Errorf("a bookmark is ignored: %v, want %s", m, at)
	}
	h.server.remove("things", "a")
	h.expectEnqueued("deleted", here)
	if m := h.observed("things", "a"); m.Present || !m.ChangedSince("uid-a", ours) || m.At != strconv.Itoa(h.server.version) {
		h.Errorf("deleted: %v", m)
	}
	h.Forget(app)
	h.server.remove("things", "foreign")
	h.expectEnqueued("unsubscribed")

	if !h.server.lastWatch.AllowWatchBookmarks || len(h.server.selectors) != 1 || !h.server.selectors[helmv2.LabelName] {
		h.Errorf("options %v, selectors %v", h.server.lastWatch, h.server.selectors)
	}
}

// TestRelist: relevant changes during an interrupted watch enqueue their owners.
func TestRelist(t *testing.T) {
	withRegistry(t, Options{}, func(h *fixture) {
		owners := map[string]string{}
		for _, name := range []string{"changed", "same", "vanished", "replaced", "plain", "status", "new", "ours"} {
			h.watchKinds(types.NamespacedName{Namespace: "apps", Name: name}, "things", "others")
			owners[name] = h.server.put("things", made("x-"+name, of(name)))
		}
		plain := []edit{of("plain"), generation(0)}
		h.server.put("things", made("x-plain", plain...))
		h.server.put("things", made("x-same", of("same"), generation(0)))
		h.server.remove("things", "x-new")
		h.server.remove("things", "x-ours")
		h.enqueued()
		h.pass(2 * stableAfter)

		h.server.fail("things", errServer)
		h.server.cut("things", nil)
		h.pass(10 * time.Millisecond)
		if h.observed("things", "x-same").Known {
			t.Error("known although the watch is interrupted")
		}
		h.server.put("things", made("x-changed", of("changed"), generation(2), entries(entry("other", "", 9))))
		h.server.put("things", made("x-plain", append(plain, entries(entry("x", "status", 9)))...))
		h.server.put("things", made("x-status", of("status"), entries(entry("x", "status", 9))))
		h.server.put("things", made("x-new", of("new"), entries(entry("other", "", 9))))
		h.server.put("things", made("x-ours", of("ours")))
		h.server.remove("things", "x-vanished")
		h.server.put("things", made("x-replaced", of("replaced"), func(o *metav1.PartialObjectMetadata) { o.UID = "second" }))
		h.expectEnqueued("no watch")
		h.server.fail("things", nil)
		h.pass(longestPause)
		h.expectEnqueued("listed again", "apps/changed", "apps/new", "apps/plain", "apps/replaced", "apps/vanished")
		if !h.observed("things", "x-same").Known {
			t.Error("the watch is not established again")
		}
		if m := h.observed("things", "x-status"); m.ChangedSince("uid-x-status", owners["status"]) {
			t.Errorf("a change of the status is relevant: %v", m)
		}
	})
}

// TestWatchResumes: a watch that ends is resumed, and objects are listed again only if its version
// has expired.
func TestWatchResumes(t *testing.T) {
	withRegistry(t, Options{}, func(h *fixture) {
		h.watchKinds(app, "things")
		h.server.put("things", made("a", entries()))
		h.expectEnqueued("an event", here)
		requests, watches := h.server.count("things")
		h.server.cut("things", nil)
		synctest.Wait()
		if r, w := h.server.count("things"); r != requests+1 || w != watches+1 || !h.observed("things", "a").Known {
			t.Errorf("%d requests and %d watches to resume, want one", r-requests, w-watches)
		}
		if at := h.observed("things", "a").At; h.server.lastWatch.ResourceVersion != at {
			t.Errorf("resumed at %s, want %s", h.server.lastWatch.ResourceVersion, at)
		}
		h.pass(2 * stableAfter)
		h.server.cut("things", errGone)
		h.pass(time.Millisecond)
		if r, _ := h.server.count("things"); r <= requests+2 || !h.observed("things", "a").Known {
			t.Errorf("%d requests, observed %v", r-requests, h.observed("things", "a"))
		}
	})
}

// TestCannotBeWatched: a watch that fails for any reason is retried with a back-off.
func TestCannotBeWatched(t *testing.T) {
	for name, err := range map[string]error{
		"forbidden": errForbidden, "no such kind": errNotFound, "trouble": errServer, "unreachable": syscall.ECONNREFUSED,
		"no client": errNoClient,
	} {
		t.Run(name, func(t *testing.T) {
			var logs atomic.Int64
			withRegistry(t, Options{Log: countingLog(&logs)}, func(h *fixture) {
				h.server.fail("things", err)
				var clients atomic.Int64
				cluster := Cluster{ID: "here", Client: func() (metadata.Interface, error) {
					clients.Add(1)
					if err := h.server.answer("things"); errors.Is(err, errNoClient) {
						return nil, err
					}
					return h.server, nil
				}}
				if _, settled := h.Forbidden(app); settled {
					t.Error("settled without a subscription")
				}
				h.WatchKinds(app, cluster, gvrs("things"))
				synctest.Wait()
				for i, pause := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
					if got := clients.Load(); got != int64(i+1) {
						t.Fatalf("%d attempts, want %d", got, i+1)
					}
					h.pass(pause*time.Second - time.Millisecond)
					if got := clients.Load(); got != int64(i+1) {
						t.Fatalf("attempt %d comes too early", got)
					}
					h.pass(time.Millisecond)
				}
				if h.observed("things", "a").Known {
					t.Error("known although it cannot be watched")
				}
				if got, settled := h.Forbidden(app); !settled || (len(got) == 1) != (name == "forbidden") {
					t.Errorf("forbidden are %v, settled %v", got, settled)
				}
				if n := logs.Load(); n != 1 {
					t.Errorf("%d lines are logged", n)
				}
				h.server.fail("things", nil)
				h.pass(longestPause)
				if !h.observed("things", "a").Known {
					t.Error("not known after a successful watch")
				}
				if got, settled := h.Forbidden(app); !settled || len(got) > 0 {
					t.Errorf("after a successful watch, forbidden are %v, settled %v", got, settled)
				}
				h.server.put("things", made("a", entries()))
				h.expectEnqueued("an event", here)
				h.pass(2 * stableAfter)
				h.server.fail("things", err)
				h.server.cut("things", nil)
				h.pass(time.Minute)
				h.server.fail("things", nil)
				before := clients.Load()
				h.pass(time.Minute)
				if got := clients.Load(); !errors.Is(err, syscall.ECONNREFUSED) && got != before+1 {
					t.Errorf("%d attempts in the second minute of a new failure, want one", got-before)
				}
				if !h.observed("things", "a").Known {
					t.Error("a new failure has the back-off of the former")
				}
			})
		})
	}
}

// TestListedIsNotWatched: objects that can be listed and not watched are not known.
func TestListedIsNotWatched(t *testing.T) {
	withRegistry(t, Options{}, func(h *fixture) {
		h.server.fail("watch things", syscall.ECONNREFUSED)
		h.watchKinds(app, "things")
		h.pass(time.Minute)
		if n, _ := h.server.count("things"); n < 3 || h.observed("things", "a").Known {
			t.Errorf("known after %d requests", n)
		}
		h.server.fail("watch things", nil)
		h.pass(time.Minute)
		if !h.observed("things", "a").Known {
			t.Error("not known after a successful watch")
		}
	})
}

// TestRetry: Retry and new subscribers shorten the back-off.
func TestRetry(t *testing.T) {
	withRegistry(t, Options{}, func(h *fixture) {
		h.server.fail("things", errNotFound)
		h.watchKinds(app, "things")
		h.pass(time.Hour)
		h.server.fail("things", nil)
		h.Retry("there")
		h.pass(time.Millisecond)
		if h.observed("things", "a").Known {
			t.Error("Retry of another cluster retried the watch")
		}
		// Objects of a new kind may have been created with it.
		h.server.put("things", made("a", entries(entry("restorer", "", 9))))
		h.Retry("here")
		h.pass(firstPause)
		if !h.observed("things", "a").Known {
			t.Error("the watch was not retried")
		}
		h.expectEnqueued("a new kind", here)
	})
	withRegistry(t, Options{}, func(h *fixture) {
		h.server.fail("things", errNotFound)
		h.watchKinds(app, "things")
		h.pass(time.Hour)
		h.server.fail("things", nil)
		h.watchKinds(types.NamespacedName{Name: "other"}, "things")
		h.pass(firstPause)
		if !h.observed("things", "a").Known {
			t.Error("a new subscriber did not retry the watch")
		}
	})
}

// TestKindVanishes: the deletion of a CRD deletes its objects and enqueues their owners.
func TestKindVanishes(t *testing.T) {
	withRegistry(t, Options{}, func(h *fixture) {
		h.watchKinds(app, "things")
		h.expectEnqueued("first list", here)
		h.server.put("things", made("a"))
		h.expectEnqueued("our own")
		h.server.fail("things", errNotFound)
		h.server.cut("things", nil)
		h.expectEnqueued("vanished", here)
		if n := h.Stats().Objects; n != 0 || h.observed("things", "a").Known {
			t.Errorf("%d objects are known of a kind that does not exist", n)
		}
		h.server.remove("things", "a")
		h.server.put("things", made("a", entries(entry("restorer", "", 9))))
		h.server.put("things", made("b"))
		h.server.fail("things", nil)
		h.pass(longestPause)
		h.expectEnqueued("created again", here)
	})
}

// TestSharedWatches: subscribers share watches, which end some time after the last one has gone.
func TestSharedWatches(t *testing.T) {
	withRegistry(t, Options{Grace: time.Minute}, func(h *fixture) {
		other := types.NamespacedName{Name: "other"}
		watches := func(want int) {
			t.Helper()
			if got := h.Stats().Watches; got != want {
				t.Errorf("%d watches, want %d", got, want)
			}
		}
		h.watchKinds(app, "things", "others")
		h.watchKinds(other, "things")
		watches(2)
		if _, n := h.server.count("things"); n != 1 {
			t.Errorf("%d watches of one kind", n)
		}
		h.WatchKinds(app, Cluster{}, gvrs("things"))
		h.pass(59 * time.Second)
		watches(2)
		h.watchKinds(app, "others")
		h.pass(time.Hour)
		watches(2)
		h.watchKinds(app, "things")
		h.pass(59 * time.Second)
		watches(2)
		h.pass(time.Second)
		watches(1)
		if h.observed("others", "a").Known {
			t.Error("known without a watch")
		}
		h.WatchKinds(app, Cluster{ID: "there", Client: h.cluster().Client}, gvrs("things"))
		synctest.Wait()
		watches(2)
		h.server.put("things", made("a", entries()))
		h.expectEnqueued("once for both clusters", here)
		h.server.put("things", made("late", entries()))
		synctest.Wait()
		h.Forget(app)
		h.expectEnqueued("unsubscribed while scheduled")
		h.Forget(other)
		h.pass(time.Minute)
		watches(0)
		if s := h.Stats(); s.Subscribers != 0 || s.Objects != 0 || len(h.clients) != 0 || len(h.idle) != 0 {
			t.Errorf("left: %+v, %d clients", s, len(h.clients))
		}
		for _, w := range append(h.server.watchers["things"], h.server.watchers["others"]...) {
			if !w.stopped {
				t.Error("a watch is left")
			}
		}
	})
}

// TestEqualSubscription: an unchanged subscription allocates no memory.
func TestEqualSubscription(t *testing.T) {
	r := NewRegistry(func(types.NamespacedName) {}, Options{})
	c, kinds := Cluster{ID: "here"}, gvrs("things", "others")
	r.WatchKinds(app, c, kinds)
	if n := testing.AllocsPerRun(100, func() { r.WatchKinds(app, c, kinds) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	kinds[0] = gvr("changed")
	if r.WatchKinds(app, c, kinds); len(r.kinds) != 3 {
		t.Error("the registry keeps the caller's slice")
	}
}

// TestOneNamespace: objects of other namespaces are not known, and do not count as deleted.
func TestOneNamespace(t *testing.T) {
	withRegistry(t, Options{Namespace: "apps"}, func(h *fixture) {
		h.watchKinds(app, "things")
		if !h.server.namespaces["apps"] || len(h.server.namespaces) != 1 {
			t.Errorf("namespaces %v", h.server.namespaces)
		}
		for ns, want := range map[string]bool{"apps": true, "away": false, "": false} {
			if got := h.Observed("here", gvr("things"), ns, "a").Known; got != want {
				t.Errorf("%q: %t", ns, got)
			}
		}
	})
}

// TestDebounce: a thousand changes of one release enqueue it once, and those of a thousand releases
// each once.
func TestDebounce(t *testing.T) {
	withRegistry(t, Options{}, func(h *fixture) {
		h.watchKinds(app, "things")
		for i := range 1000 {
			h.server.put("things", made(fmt.Sprint("a", i), entries()))
		}
		h.expectEnqueued("many changes", here)
		for i := range 1000 {
			name := fmt.Sprint("app", i)
			h.watchKinds(types.NamespacedName{Namespace: "apps", Name: name}, "things")
			h.server.put("things", made("b"+name, of(name), entries()))
			h.server.put("things", made("c"+name, of(name), entries()))
		}
		if n := len(h.enqueued()); n != 1000 {
			t.Errorf("enqueued %d times", n)
		}
	})
}

// TestRateLimit: an object that changes twice a second enqueues its owner at the rate limit.
func TestRateLimit(t *testing.T) {
	withRegistry(t, Options{}, func(h *fixture) {
		h.watchKinds(app, "things")
		h.expectEnqueued("first list", here)
		h.server.put("things", made("a"))
		h.server.put("things", made("b"))
		h.expectEnqueued("our own")
		n := int64(1)
		storm := func(d time.Duration) {
			for until := time.Now().Add(d); time.Now().Before(until); h.pass(500 * time.Millisecond) {
				n++
				h.server.put("things", made("a", generation(n), entries()))
			}
		}
		storm(4 * time.Second)
		if h.RateLimited(app) {
			t.Error("rate limited after eight changes")
		}
		storm(10*time.Minute - 4*time.Second)
		if got := len(h.enqueued()); got < 29 || got > 31 {
			t.Errorf("enqueued %d times in ten minutes, want 10 and one per half minute", got)
		}
		if s := h.Stats(); !h.RateLimited(app) || s.RateLimited != 1 || s.Delayed < 19 {
			t.Errorf("not rate limited: %+v", s)
		}

		// A deletion is not delayed, takes no token and replaces a delayed modification.
		storm(time.Second)
		h.enqueued()
		n++
		h.server.put("things", made("a", generation(n), entries()))
		h.expectEnqueued("delayed")
		h.server.remove("things", "b")
		h.expectEnqueued("deleted", here)
		h.pass(refill)
		h.expectEnqueued("nothing is scheduled")

		// A delayed modification is not lost.
		storm(time.Minute)
		h.enqueued()
		n++
		h.server.put("things", made("a", generation(n), entries()))
		h.expectEnqueued("delayed")
		h.pass(refill)
		h.expectEnqueued("delayed until there is a token", here)

		h.pass(burst * refill)
		if h.RateLimited(app) {
			t.Error("still rate limited")
		}
	})
}

// TestTokens: modifications take tokens, and deletions return those of delayed ones.
func TestTokens(t *testing.T) {
	withRegistry(t, Options{}, func(h *fixture) {
		h.watchKinds(app, "things")
		h.expectEnqueued("first list", here)
		for _, name := range []string{"a", "b", "c"} {
			h.server.put("things", made(name))
		}
		n := int64(1)
		change := func() {
			n++
			h.server.put("things", made("a", generation(n), entries()))
		}
		for i := range burst {
			if h.RateLimited(app) {
				t.Errorf("rate limited after %d changes", i)
			}
			change()
			h.expectEnqueued("there is a token", here)
		}
		h.server.remove("things", "b")
		h.expectEnqueued("a deletion needs no token", here)
		change()
		h.expectEnqueued("there is no token")
		if got := h.Stats().Delayed; got != 1 {
			t.Errorf("%d are delayed", got)
		}
		h.server.remove("things", "c")
		h.expectEnqueued("a deletion replaces a delayed modification", here)
		change()
		h.expectEnqueued("there still is no token")
		h.pass(refill - 14*time.Second)
		h.expectEnqueued("the delayed modification has returned its token", here)
	})
}

// TestDeletionBudget: objects that are created and deleted twice a second enqueue the release in their
// labels at the rate limit of deletions. The last deletion is not lost.
func TestDeletionBudget(t *testing.T) {
	withRegistry(t, Options{}, func(h *fixture) {
		h.watchKinds(app, "things")
		h.expectEnqueued("first list", here)
		storm := func(d time.Duration) {
			for until := time.Now().Add(d); time.Now().Before(until); h.pass(500 * time.Millisecond) {
				h.server.put("things", made("a"))
				h.server.remove("things", "a")
			}
		}
		storm(10 * time.Minute)
		if got := len(h.enqueued()); got < 65 || got > 75 {
			t.Errorf("enqueued %d times in ten minutes, want 10 and six per minute", got)
		}
		h.pass(deletionRefill)
		h.expectEnqueued("the last deletion", here)
		h.pass(time.Hour)
		h.expectEnqueued("nothing is scheduled")
		h.server.put("things", made("a"))
		h.server.remove("things", "a")
		h.expectEnqueued("there are tokens again", here)
	})
}

// TestBuckets: modifications and deletions have tokens of their own. The earlier time counts.
func TestBuckets(t *testing.T) {
	t.Parallel()
	empty := func(b *bucket, now time.Time) {
		for range burst {
			b.take(now)
		}
	}
	for _, tc := range []struct {
		reason                      string
		modified, deleted           bool // whether the buckets are empty
		events                      string
		want                        time.Duration
		modifiedTaken, deletedTaken int // the tokens that are taken in the end
	}{
		{"a modification", false, false, "m", defaultDebounce, 1, 0},
		{"a deletion", false, false, "d", defaultDebounce, 0, 1},
		{"many of both", false, false, "mdmdmd", defaultDebounce, 1, 0},
		{"no token for a modification", true, false, "mm", refill, burst + 1, 0},
		{"no token for a deletion", false, true, "dd", deletionRefill, 0, burst + 1},
		{"a deletion replaces a delayed modification", true, false, "md", defaultDebounce, burst, 1},
		{"a delayed one, too", true, true, "md", deletionRefill, burst, burst + 1},
		{"a modification waits for the deletion", false, true, "dm", deletionRefill, 0, burst + 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			q, now := newQueue(defaultDebounce, clock.RealClock{}), time.Now()
			s := newSubscriber(app, refill)
			if tc.modified {
				empty(&s.modifications, now)
			}
			if tc.deleted {
				empty(&s.deletions, now)
			}
			for _, e := range tc.events {
				q.schedule(s, e == 'd')
			}
			taken := func(b bucket) int { return int(max(0, b.fullAt.Sub(now)) / b.refill) }
			if got := s.enqueueAt.Sub(now); got != tc.want || taken(s.modifications) != tc.modifiedTaken || taken(s.deletions) != tc.deletedTaken {
				t.Errorf("%s: enqueued after %s, with %d and %d tokens taken", tc.reason, got, taken(s.modifications), taken(s.deletions))
			}
		})
	}
}

// TestLatestClient: the client of the latest subscription is used, even if that is equal.
func TestLatestClient(t *testing.T) {
	withRegistry(t, Options{}, func(h *fixture) {
		expired := func() (metadata.Interface, error) { return nil, errNoClient }
		h.WatchKinds(app, Cluster{ID: "here", Client: expired}, gvrs("things"))
		h.pass(time.Second)
		h.watchKinds(app, "things")
		h.pass(firstPause)
		if !h.observed("things", "a").Known {
			t.Error("the first client is used")
		}
	})
}

// TestStartWaits: Start returns after all its goroutines have ended.
func TestStartWaits(t *testing.T) {
	withRegistry(t, Options{}, func(h *fixture) {
		var done atomic.Bool
		h.WatchKinds(app, Cluster{ID: "here", Client: func() (metadata.Interface, error) {
			time.Sleep(time.Minute)
			done.Store(true)
			return nil, errNoClient
		}}, gvrs("things"))
		synctest.Wait()
		h.stop()
		if !done.Load() {
			t.Error("a client is still being made")
		}
	})
}

// TestEnd: nothing is enqueued or watched after the end. The synctest bubble waits for all
// goroutines.
func TestEnd(t *testing.T) {
	withRegistry(t, Options{}, func(h *fixture) {
		h.watchKinds(app, "things", "others")
		h.server.fail("missing", errNotFound)
		h.watchKinds(types.NamespacedName{Name: "other"}, "missing")
		h.server.put("things", made("a", entries()))
		synctest.Wait()
		h.stop()
		h.expectEnqueued("ended")
		if h.observed("things", "a").Known {
			t.Error("known after the end")
		}
		h.watchKinds(app, "things", "more")
		if n, _ := h.server.count("more"); n != 0 {
			t.Error("a watch was started after the end")
		}
	})
}

// TestBeforeTheStart: subscriptions before the start take effect at the start.
func TestBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		h := &fixture{T: t, server: s, Registry: NewRegistry(func(types.NamespacedName) {}, Options{})}
		h.watchKinds(app, "things")
		if n, _ := s.count("things"); n != 0 {
			t.Error("watched before the start")
		}
		ctx := t.Context()
		go func() { _ = h.Start(ctx) }()
		synctest.Wait()
		if !h.observed("things", "a").Known {
			t.Error("not known after a successful watch")
		}
	})
}

// TestConcurrently: concurrent use, for the race detector, leaves a working registry.
func TestConcurrently(t *testing.T) {
	withRegistry(t, Options{Grace: time.Millisecond, Debounce: time.Millisecond}, func(h *fixture) {
		var all sync.WaitGroup
		for i := range 8 {
			key := types.NamespacedName{Namespace: "apps", Name: fmt.Sprint("app", i)}
			all.Go(func() {
				for j := range 50 {
					h.WatchKinds(key, h.cluster(), gvrs("things", fmt.Sprint("kind", j%5)))
					h.server.put("things", made(fmt.Sprint("o", i), of(key.Name), generation(int64(j)), entries()))
					h.observed("things", "o1")
					h.RateLimited(key)
					h.Retry("here")
					h.Stats()
					if j%10 == 0 {
						h.server.cut("things", nil)
						h.Forget(key)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		all.Wait()
		h.watchKinds(app, "things")
		h.pass(longestPause)
		h.enqueued()
		h.server.put("things", made("last", entries()))
		h.expectEnqueued("after all that", here)
	})
}
