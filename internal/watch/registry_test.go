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

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const here = "apps/app"

var errNoClient = errors.New("no client")

// TestWhoIsWoken lives through what can happen to objects, whether the server can
// stream lists or not.
func TestWhoIsWoken(t *testing.T) {
	for _, streams := range []bool{false, true} {
		t.Run(fmt.Sprintf("streams=%t", streams), func(t *testing.T) {
			inBubble(t, Options{}, func(h *house) { lifeOfObjects(h, streams) })
		})
	}
}

func lifeOfObjects(h *house, streams bool) {
	h.server.streams = streams
	h.server.put("things", made("old", entries(entry("somebody", "", 1))))
	first := h.server.put("things", made("a"))
	if m := h.moved("things", "a"); m != (Observation{}) || !m.ChangedSince("uid-a", "100") {
		h.Errorf("nobody follows it, and yet it is known: %v", m)
	}
	h.follow(app, "things")
	h.follow(types.NamespacedName{Namespace: "apps", Name: "other"}, "things")
	h.follow(types.NamespacedName{Namespace: "apps", Name: "elsewhere"}, "others")
	// Something may have changed since they looked.
	h.expectWoken("first list", here, "apps/elsewhere")
	if m := h.moved("things", "a"); m != (Observation{Known: true, Present: true, UID: "uid-a", Version: first, At: first}) || m.ChangedSince("uid-a", first) {
		h.Errorf("listed: %v", m)
	}

	status := h.server.put("things", made("a", entries(entry(helmv2.FieldManager, "", 1), entry("controller", "status", 5))))
	h.expectWoken("status")
	if m := h.moved("things", "a"); m.Version != first || m.At != status || m.ChangedSince("uid-a", first) {
		h.Errorf("a status matters: %v", m)
	}

	ours := h.server.put("things", made("a", generation(2), entries(entry(helmv2.FieldManager, "", 6))))
	h.expectWoken("our own apply")
	if m := h.moved("things", "a"); m.Version != ours || !m.ChangedSince("uid-a", first) || m.ChangedSince("uid-a", ours) {
		h.Errorf("our own apply is not noted: %v", m)
	}

	// Who only takes away leaves no entry.
	less := entry(helmv2.FieldManager, "", 6)
	less.FieldsV1 = metav1.NewFieldsV1("{}")
	h.server.put("things", made("a", generation(3), entries(less)))
	h.expectWoken("a removal", here)

	noted := h.server.put("things", made("a", generation(4), entries(less, entry("operator", "", 9))))
	h.expectWoken("notes of somebody else")
	if m := h.moved("things", "a"); m.Version != noted {
		h.Errorf("they are not worth a look: %v", m)
	}

	h.server.put("things", made("foreign", of("elsewhere"), entries(entry("somebody", "", 1))))
	h.expectWoken("an object of a release that does not follow the kind")
	h.server.put("things", made("foreign", generation(2), of("other"), entries(entry("somebody", "", 1))))
	h.expectWoken("an object changes hands", "apps/other")
	h.server.put("things", made("foreign", generation(3), of("app"), entries(entry(helmv2.FieldManager, "", 2))))
	h.expectWoken("an object is taken, by ourselves", "apps/other")
	h.server.put("things", made("nobody's", func(o *metav1.PartialObjectMetadata) { delete(o.Labels, helmv2.LabelNamespace) }, entries()))
	h.expectWoken("an object of nobody")

	at := h.server.bookmark("things")
	synctest.Wait()
	if m := h.moved("things", "nowhere"); m != (Observation{Known: true, At: at}) {
		h.Errorf("a bookmark is not heard: %v, want %s", m, at)
	}
	h.server.remove("things", "a")
	h.expectWoken("deleted", here)
	if m := h.moved("things", "a"); m.Present || !m.ChangedSince("uid-a", ours) || m.At != strconv.Itoa(h.server.version) {
		h.Errorf("deleted: %v", m)
	}
	h.Forget(app)
	h.server.remove("things", "foreign")
	h.expectWoken("forgotten")

	if !h.server.asked.AllowWatchBookmarks || len(h.server.selectors) != 1 || !h.server.selectors[helmv2.LabelName] {
		h.Errorf("asked for %v, selected by %v", h.server.asked, h.server.selectors)
	}
}

// TestListAgain: what has happened while nobody listened is found out.
func TestListAgain(t *testing.T) {
	inBubble(t, Options{}, func(h *house) {
		owners := map[string]string{}
		for _, name := range []string{"changed", "same", "vanished", "replaced", "plain", "status", "new", "ours"} {
			h.follow(types.NamespacedName{Namespace: "apps", Name: name}, "things", "others")
			owners[name] = h.server.put("things", made("x-"+name, of(name)))
		}
		plain := []edit{of("plain"), generation(0)}
		h.server.put("things", made("x-plain", plain...))
		h.server.put("things", made("x-same", of("same"), generation(0)))
		h.server.remove("things", "x-new")
		h.server.remove("things", "x-ours")
		h.woken()
		h.pass(2 * lasting)

		h.server.fail("things", errServer)
		h.server.cut("things", nil)
		h.pass(10 * time.Millisecond)
		if h.moved("things", "x-same").Known {
			t.Error("a watch that does not stand is known")
		}
		h.server.put("things", made("x-changed", of("changed"), generation(2), entries(entry("somebody", "", 9))))
		h.server.put("things", made("x-plain", append(plain, entries(entry("x", "status", 9)))...))
		h.server.put("things", made("x-status", of("status"), entries(entry("x", "status", 9))))
		h.server.put("things", made("x-new", of("new"), entries(entry("somebody", "", 9))))
		h.server.put("things", made("x-ours", of("ours")))
		h.server.remove("things", "x-vanished")
		h.server.put("things", made("x-replaced", of("replaced"), func(o *metav1.PartialObjectMetadata) { o.UID = "second" }))
		h.expectWoken("nobody listens")
		h.server.fail("things", nil)
		h.pass(longPause)
		h.expectWoken("listed again", "apps/changed", "apps/new", "apps/plain", "apps/replaced", "apps/vanished")
		if !h.moved("things", "x-same").Known {
			t.Error("the watch does not stand again")
		}
		if m := h.moved("things", "x-status"); m.ChangedSince("uid-x-status", owners["status"]) {
			t.Errorf("a status matters: %v", m)
		}
	})
}

// TestStreamsGoOn: a stream that ends is nothing that has to be listed for, and one
// whose version is forgotten is.
func TestStreamsGoOn(t *testing.T) {
	inBubble(t, Options{}, func(h *house) {
		h.follow(app, "things")
		h.server.put("things", made("a", entries()))
		h.expectWoken("an event", here)
		requests, watches := h.server.count("things")
		h.server.cut("things", nil)
		synctest.Wait()
		if r, w := h.server.count("things"); r != requests+1 || w != watches+1 || !h.moved("things", "a").Known {
			t.Errorf("%d requests and %d watches to go on, want one", r-requests, w-watches)
		}
		if at := h.moved("things", "a").At; h.server.asked.ResourceVersion != at {
			t.Errorf("goes on at %s, want %s", h.server.asked.ResourceVersion, at)
		}
		h.pass(2 * lasting)
		h.server.cut("things", errGone)
		h.pass(time.Millisecond)
		if r, _ := h.server.count("things"); r <= requests+2 || !h.moved("things", "a").Known {
			t.Errorf("%d requests, and known is %v", r-requests, h.moved("things", "a"))
		}
	})
}

// TestCannotBeWatched: whatever the reason, it is tried again more and more rarely,
// and works when it works.
func TestCannotBeWatched(t *testing.T) {
	for name, err := range map[string]error{
		"forbidden": errForbidden, "no such kind": errNotFound, "trouble": errServer, "unreachable": syscall.ECONNREFUSED,
		"no client": errNoClient,
	} {
		t.Run(name, func(t *testing.T) {
			var logs atomic.Int64
			inBubble(t, Options{Log: countingLog(&logs)}, func(h *house) {
				h.server.fail("things", err)
				var dials atomic.Int64
				cluster := Cluster{ID: "here", Client: func() (metadata.Interface, error) {
					dials.Add(1)
					if err := h.server.answer("things"); errors.Is(err, errNoClient) {
						return nil, err
					}
					return h.server, nil
				}}
				h.WatchKinds(app, cluster, gvrs("things"))
				synctest.Wait()
				for i, pause := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
					if got := dials.Load(); got != int64(i+1) {
						t.Fatalf("%d attempts, want %d", got, i+1)
					}
					h.pass(pause*time.Second - time.Millisecond)
					if got := dials.Load(); got != int64(i+1) {
						t.Fatalf("attempt %d comes too early", got)
					}
					h.pass(time.Millisecond)
				}
				if h.moved("things", "a").Known {
					t.Error("what cannot be watched is known")
				}
				if n := logs.Load(); n != 1 {
					t.Errorf("%d lines are logged", n)
				}
				h.server.fail("things", nil)
				h.pass(longPause)
				if !h.moved("things", "a").Known {
					t.Error("it is not watched")
				}
				h.server.put("things", made("a", entries()))
				h.expectWoken("an event", here)
				h.pass(2 * lasting)
				h.server.fail("things", err)
				h.server.cut("things", nil)
				h.pass(time.Minute)
				h.server.fail("things", nil)
				before := dials.Load()
				h.pass(time.Minute)
				if got := dials.Load(); !errors.Is(err, syscall.ECONNREFUSED) && got != before+1 {
					t.Errorf("%d attempts in the second minute of new trouble, want one", got-before)
				}
				if !h.moved("things", "a").Known {
					t.Error("new trouble lasts as long as the old")
				}
			})
		})
	}
}

// TestListedIsNotWatched: who may list and not watch knows nothing.
func TestListedIsNotWatched(t *testing.T) {
	inBubble(t, Options{}, func(h *house) {
		h.server.fail("watch things", syscall.ECONNREFUSED)
		h.follow(app, "things")
		h.pass(time.Minute)
		if n, _ := h.server.count("things"); n < 3 || h.moved("things", "a").Known {
			t.Errorf("known after %d requests", n)
		}
		h.server.fail("watch things", nil)
		h.pass(time.Minute)
		if !h.moved("things", "a").Known {
			t.Error("it is watched, and yet not known")
		}
	})
}

// TestRetry: who has reason to believe that it works now need not wait for minutes.
func TestRetry(t *testing.T) {
	inBubble(t, Options{}, func(h *house) {
		h.server.fail("things", errNotFound)
		h.follow(app, "things")
		h.pass(time.Hour)
		h.server.fail("things", nil)
		h.Retry("there")
		h.pass(time.Millisecond)
		if h.moved("things", "a").Known {
			t.Error("another cluster is none of its business")
		}
		// Whoever brought the kind may have brought objects of it.
		h.server.put("things", made("a", entries(entry("restorer", "", 9))))
		h.Retry("here")
		h.pass(shortPause)
		if !h.moved("things", "a").Known {
			t.Error("it was not tried again")
		}
		h.expectWoken("a kind that came later", here)
	})
	inBubble(t, Options{}, func(h *house) {
		h.server.fail("things", errNotFound)
		h.follow(app, "things")
		h.pass(time.Hour)
		h.server.fail("things", nil)
		h.follow(types.NamespacedName{Name: "other"}, "things")
		h.pass(shortPause)
		if !h.moved("things", "a").Known {
			t.Error("a new follower does not make it tried again")
		}
	})
}

// TestKindVanishes: with its definition go all objects of it, and who had some is
// woken.
func TestKindVanishes(t *testing.T) {
	inBubble(t, Options{}, func(h *house) {
		h.follow(app, "things")
		h.expectWoken("first list", here)
		h.server.put("things", made("a"))
		h.expectWoken("our own")
		h.server.fail("things", errNotFound)
		h.server.cut("things", nil)
		h.expectWoken("vanished", here)
		if n := h.Stats().Objects; n != 0 || h.moved("things", "a").Known {
			t.Errorf("%d objects are known of a kind that is not there", n)
		}
		h.server.remove("things", "a")
		h.server.put("things", made("a", entries(entry("restorer", "", 9))))
		h.server.put("things", made("b"))
		h.server.fail("things", nil)
		h.pass(longPause)
		h.expectWoken("it is back", here)
	})
}

// TestFollow counts watches and who needs them.
func TestFollow(t *testing.T) {
	inBubble(t, Options{Grace: time.Minute}, func(h *house) {
		other := types.NamespacedName{Name: "other"}
		watches := func(want int) {
			t.Helper()
			if got := h.Stats().Watches; got != want {
				t.Errorf("%d watches, want %d", got, want)
			}
		}
		h.follow(app, "things", "others")
		h.follow(other, "things")
		watches(2)
		if _, n := h.server.count("things"); n != 1 {
			t.Errorf("%d watches of one kind", n)
		}
		h.WatchKinds(app, Cluster{}, gvrs("things"))
		h.pass(59 * time.Second)
		watches(2)
		h.follow(app, "others")
		h.pass(time.Hour)
		watches(2)
		h.follow(app, "things")
		h.pass(59 * time.Second)
		watches(2)
		h.pass(time.Second)
		watches(1)
		if h.moved("others", "a").Known {
			t.Error("nobody watches it")
		}
		h.WatchKinds(app, Cluster{ID: "there", Client: h.cluster().Client}, gvrs("things"))
		synctest.Wait()
		watches(2)
		h.server.put("things", made("a", entries()))
		h.expectWoken("once for both clusters", here)
		h.server.put("things", made("late", entries()))
		synctest.Wait()
		h.Forget(app)
		h.expectWoken("forgotten while it was going to be woken")
		h.Forget(other)
		h.pass(time.Minute)
		watches(0)
		if s := h.Stats(); s.Followers != 0 || s.Objects != 0 || len(h.clients) != 0 || len(h.idle) != 0 {
			t.Errorf("left: %+v, %d ways into clusters", s, len(h.clients))
		}
		for _, w := range append(h.server.watchers["things"], h.server.watchers["others"]...) {
			if !w.stopped {
				t.Error("a stream is left")
			}
		}
	})
}

func TestFollowAllocatesNothing(t *testing.T) {
	r := NewRegistry(func(types.NamespacedName) {}, Options{})
	c, kinds := Cluster{ID: "here"}, gvrs("things", "others")
	r.WatchKinds(app, c, kinds)
	if n := testing.AllocsPerRun(100, func() { r.WatchKinds(app, c, kinds) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	kinds[0] = gvr("changed")
	if r.WatchKinds(app, c, kinds); len(r.kinds) != 3 {
		t.Error("the caller's slice is kept")
	}
}

// TestOneNamespace: what lies elsewhere is not known, and not taken for deleted.
func TestOneNamespace(t *testing.T) {
	inBubble(t, Options{Namespace: "apps"}, func(h *house) {
		h.follow(app, "things")
		if !h.server.namespaces["apps"] || len(h.server.namespaces) != 1 {
			t.Errorf("asked for %v", h.server.namespaces)
		}
		for ns, want := range map[string]bool{"apps": true, "away": false, "": false} {
			if got := h.Observed("here", gvr("things"), ns, "a").Known; got != want {
				t.Errorf("%q: %t", ns, got)
			}
		}
	})
}

// TestBurst: a thousand changes of one release are one visit, and those of a thousand
// releases one each.
func TestBurst(t *testing.T) {
	inBubble(t, Options{}, func(h *house) {
		h.follow(app, "things")
		for i := range 1000 {
			h.server.put("things", made(fmt.Sprint("a", i), entries()))
		}
		h.expectWoken("a burst", here)
		for i := range 1000 {
			name := fmt.Sprint("app", i)
			h.follow(types.NamespacedName{Namespace: "apps", Name: name}, "things")
			h.server.put("things", made("b"+name, of(name), entries()))
			h.server.put("things", made("c"+name, of(name), entries()))
		}
		if n := len(h.woken()); n != 1000 {
			t.Errorf("%d visits", n)
		}
	})
}

// TestFuse: somebody changes an object twice a second, for ten minutes.
func TestFuse(t *testing.T) {
	inBubble(t, Options{}, func(h *house) {
		h.follow(app, "things")
		h.expectWoken("first list", here)
		h.server.put("things", made("a"))
		h.server.put("things", made("b"))
		h.expectWoken("our own")
		n := int64(1)
		storm := func(d time.Duration) {
			for until := time.Now().Add(d); time.Now().Before(until); h.pass(500 * time.Millisecond) {
				n++
				h.server.put("things", made("a", generation(n), entries()))
			}
		}
		storm(4 * time.Second)
		if h.RateLimited(app) {
			t.Error("the fuse is open after eight wake-ups")
		}
		storm(10*time.Minute - 4*time.Second)
		if got := len(h.woken()); got < 29 || got > 31 {
			t.Errorf("%d visits in ten minutes, want 10 and one per half minute", got)
		}
		if s := h.Stats(); !h.RateLimited(app) || s.RateLimited != 1 || s.Delayed < 19 {
			t.Errorf("the fuse is not open: %+v", s)
		}

		// A deletion passes, takes along what was held, and costs nothing.
		storm(time.Second)
		h.woken()
		n++
		h.server.put("things", made("a", generation(n), entries()))
		h.expectWoken("held")
		h.server.remove("things", "b")
		h.expectWoken("deleted", here)
		h.pass(refill)
		h.expectWoken("nothing is held any more")

		// What is held is not lost.
		storm(time.Minute)
		h.woken()
		n++
		h.server.put("things", made("a", generation(n), entries()))
		h.expectWoken("held")
		h.pass(refill)
		h.expectWoken("held until there is a token", here)

		h.pass(burst * refill)
		if h.RateLimited(app) {
			t.Error("the fuse does not close")
		}
	})
}

// TestTokens: ten, and what a deletion has to do with them.
func TestTokens(t *testing.T) {
	inBubble(t, Options{}, func(h *house) {
		h.follow(app, "things")
		h.expectWoken("first list", here)
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
				t.Errorf("the fuse is open after %d wake-ups", i)
			}
			change()
			h.expectWoken("there is a token", here)
		}
		h.server.remove("things", "b")
		h.expectWoken("a deletion needs none", here)
		change()
		h.expectWoken("there is none")
		if got := h.Stats().Delayed; got != 1 {
			t.Errorf("%d are held", got)
		}
		h.server.remove("things", "c")
		h.expectWoken("a deletion takes along what is held", here)
		change()
		h.expectWoken("there still is none")
		h.pass(refill - 14*time.Second)
		h.expectWoken("the token was not taken by what the deletion took along", here)
	})
}

// TestLatestClient: the way into a cluster may change, while what is followed does
// not.
func TestLatestClient(t *testing.T) {
	inBubble(t, Options{}, func(h *house) {
		expired := func() (metadata.Interface, error) { return nil, errNoClient }
		h.WatchKinds(app, Cluster{ID: "here", Client: expired}, gvrs("things"))
		h.pass(time.Second)
		h.follow(app, "things")
		h.pass(shortPause)
		if !h.moved("things", "a").Known {
			t.Error("the first way is used")
		}
	})
}

// TestStartWaits until nothing it began runs.
func TestStartWaits(t *testing.T) {
	inBubble(t, Options{}, func(h *house) {
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

// TestNobodyIsWokenAfterTheEnd also waits for every goroutine: the bubble does.
func TestNobodyIsWokenAfterTheEnd(t *testing.T) {
	inBubble(t, Options{}, func(h *house) {
		h.follow(app, "things", "others")
		h.server.fail("missing", errNotFound)
		h.follow(types.NamespacedName{Name: "other"}, "missing")
		h.server.put("things", made("a", entries()))
		synctest.Wait()
		h.stop()
		h.expectWoken("ended")
		if h.moved("things", "a").Known {
			t.Error("nobody watches, and yet it is known")
		}
		h.follow(app, "things", "more")
		if n, _ := h.server.count("more"); n != 0 {
			t.Error("a watch was begun after the end")
		}
	})
}

// TestBeforeTheStart: what is declared early is watched from the start.
func TestBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		h := &house{T: t, server: s, Registry: NewRegistry(func(types.NamespacedName) {}, Options{})}
		h.follow(app, "things")
		if n, _ := s.count("things"); n != 0 {
			t.Error("it is watched before the start")
		}
		ctx := t.Context()
		go func() { _ = h.Start(ctx) }()
		synctest.Wait()
		if !h.moved("things", "a").Known {
			t.Error("it is not watched")
		}
	})
}

// TestAtOnce is for the race detector. Whatever happened, it goes on afterwards.
func TestAtOnce(t *testing.T) {
	inBubble(t, Options{Grace: time.Millisecond, Debounce: time.Millisecond}, func(h *house) {
		var all sync.WaitGroup
		for i := range 8 {
			key := types.NamespacedName{Namespace: "apps", Name: fmt.Sprint("app", i)}
			all.Go(func() {
				for j := range 50 {
					h.WatchKinds(key, h.cluster(), gvrs("things", fmt.Sprint("kind", j%5)))
					h.server.put("things", made(fmt.Sprint("o", i), of(key.Name), generation(int64(j)), entries()))
					h.moved("things", "o1")
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
		h.follow(app, "things")
		h.pass(longPause)
		h.woken()
		h.server.put("things", made("last", entries()))
		h.expectWoken("after all that", here)
	})
}
