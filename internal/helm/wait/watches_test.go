// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/test/apitest"
)

const jobsPath = "/apis/batch/v1/namespaces/prod/jobs"

// followed is a world that can be watched, and a client that has created Jobs of
// the given names in it.
func followed(ctx context.Context, t *testing.T, w *world, names ...string) (*client, kube.ResourceList) {
	t.Helper()
	var manifests []string
	for _, name := range names {
		manifests = append(manifests, strings.Replace(jobYAML, "migrate", name, 1))
	}
	c, list := patient(ctx, t, w, nil, strings.Join(manifests, "---\n"))
	if _, err := c.Create(list); err != nil {
		t.Fatal(err)
	}
	return c, list
}

// complete ends a Job.
func complete(u *unstructured.Unstructured) {
	u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
}

// touch changes an object in a way that ends no wait.
func touch(u *unstructured.Unstructured) {
	u.Object["status"] = map[string]any{"active": int64(1)}
}

// begin waits in the background.
func begin(c *client, list kube.ResourceList) (ended func() error) {
	done := make(chan error, 1)
	go func() { done <- c.WatchUntilReady(list, time.Hour) }()
	synctest.Wait()
	return func() error { return <-done }
}

// TestFollow: events during a wait, and the requests that they cause. No test of these ends
// before all goroutines have.
func TestFollow(t *testing.T) {
	const watch, look, list = "WATCH " + jobsPath, "GET " + jobPath, "GET " + jobsPath
	patience := time.Minute
	cases := map[string]struct {
		reason string
		refuse func(method, path string) int
		happen func(w *world)
		want   []string
		after  time.Duration
	}{
		"Quick": {
			reason: "a wait takes one watch, and ends when the object is ready",
			happen: func(w *world) { time.Sleep(time.Second); w.Change(jobPath, complete) },
			want:   []string{watch}, after: time.Second,
		},
		"Steps": {
			reason: "other changes take nothing",
			happen: func(w *world) {
				for range 5 {
					time.Sleep(time.Second)
					w.Change(jobPath, touch)
				}
				w.Change(jobPath, complete)
			},
			want: []string{watch}, after: 5 * time.Second,
		},
		"HungUp": {
			reason: "a watch that the server ends goes on where it was",
			happen: func(w *world) {
				time.Sleep(5 * time.Second)
				w.HangUp(false)
				synctest.Wait()
				w.Change(jobPath, complete)
			},
			want: []string{watch, watch}, after: 5 * time.Second,
		},
		"MissedWhileHungUp": {
			reason: "what happens between two watches is told by the second",
			happen: func(w *world) { time.Sleep(5 * time.Second); w.HangUp(false); w.Change(jobPath, complete) },
			want:   []string{watch, watch}, after: 5 * time.Second,
		},
		"Forgotten": {
			reason: "if the server has compacted the version, every wait reads once, and a watch starts at the current version",
			happen: func(w *world) {
				time.Sleep(5 * time.Second)
				w.Mu.Lock()
				w.Store("/api/v1/namespaces/prod/configmaps/other", map[string]any{"metadata": map[string]any{"name": "other"}})
				w.Mu.Unlock()
				w.HangUp(true)
				synctest.Wait()
				time.Sleep(time.Second)
				w.Change(jobPath, complete)
			},
			want: []string{watch, watch, list, look, watch}, after: 6 * time.Second,
		},
		"Deleted": {
			reason: "that an object is gone from the watch may mean less than that",
			happen: func(w *world) {
				time.Sleep(time.Second)
				w.Mu.Lock()
				w.Notify("DELETED", jobPath, w.Objects[jobPath])
				w.Mu.Unlock()
				time.Sleep(time.Second)
				w.Change(jobPath, complete)
			},
			want: []string{watch, look}, after: 2 * time.Second,
		},
		"Silent": {
			reason: "a watch may die without a word",
			happen: func(w *world) {
				time.Sleep(time.Second)
				w.Mu.Lock()
				w.Silence()
				w.Mu.Unlock()
				w.Change(jobPath, complete)
			},
			want: []string{watch, look}, after: silentAfter,
		},
		"Forbidden": {
			reason: "who may not watch looks now and then",
			refuse: func(method, _ string) int {
				if method == "WATCH" {
					return http.StatusForbidden
				}
				return 0
			},
			happen: func(w *world) { time.Sleep(250 * time.Millisecond); w.Change(jobPath, complete) },
			want:   []string{watch, look, look, look, look}, after: 300 * time.Millisecond,
		},
		"NotServed": {
			reason: "what cannot be watched is looked at now and then",
			refuse: func(method, _ string) int {
				if method == "WATCH" {
					return http.StatusMethodNotAllowed
				}
				return 0
			},
			happen: func(w *world) { time.Sleep(50 * time.Millisecond); w.Change(jobPath, complete) },
			want:   []string{watch, look, look}, after: 100 * time.Millisecond,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := watchableWorld(t)
			w.Refuse = tc.refuse
			synctest.Test(t, func(t *testing.T) {
				c, list := followed(t.Context(), t, w, "migrate")
				w.TakeReads()
				begun := time.Now()
				ended := begin(c, list)
				tc.happen(w)
				if err := ended(); err != nil {
					t.Error(err)
				}
				if d := time.Since(begun); d != tc.after {
					t.Errorf("%s: ended after %s, want %s", tc.reason, d, tc.after)
				}
				// The reads of a wait are independent of those of its watch.
				got := w.TakeReads()
				slices.Sort(got)
				slices.Sort(tc.want)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s: requests (-want +got):\n%s", tc.reason, diff)
				}
				time.Sleep(patience)
				if n := w.OpenWatches(); n != 0 {
					t.Errorf("%s: %d watches are still read", tc.reason, n)
				}
			})
		})
	}
}

// TestRefusedWatches: a wait whose watch an API server has refused for a moment watches again. One
// that is always refused tries again after longer and longer pauses.
func TestRefusedWatches(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		refused time.Duration
		watches int
	}{
		"Restarted": {"a server that starts has not read all roles", 3 * time.Second, 2},
		// After pauses of 5, 10, 20, 40, 80, 160, and four times 300 s.
		"Forbidden": {"the identity may not watch", 24 * time.Hour, 11},
	} {
		t.Run(name, func(t *testing.T) {
			w := watchableWorld(t)
			synctest.Test(t, func(t *testing.T) {
				until := time.Now().Add(tc.refused)
				w.Refuse = func(method, _ string) int {
					if method == "WATCH" && time.Now().Before(until) {
						return http.StatusForbidden
					}
					return 0
				}
				c, list := followed(t.Context(), t, w, "migrate")
				w.TakeReads()
				ended := begin(c, list)
				time.Sleep(30 * time.Minute)
				w.Change(jobPath, complete)
				if err := ended(); err != nil {
					t.Error(err)
				}
				watches := 0
				for _, read := range w.TakeReads() {
					if strings.HasPrefix(read, "WATCH") {
						watches++
					}
				}
				if watches != tc.watches {
					t.Errorf("%s: %d watches, want %d", tc.reason, watches, tc.watches)
				}
				time.Sleep(2 * retryRefused)
				if n := w.OpenWatches(); n != 0 {
					t.Errorf("%d watches are still read", n)
				}
			})
		})
	}
}

// TestFollowTogether: a hundred waits for objects of one kind in one namespace
// share one watch, which goes on for a while after the last.
func TestFollowTogether(t *testing.T) {
	const n = 100
	w := watchableWorld(t)
	synctest.Test(t, func(t *testing.T) {
		var ends []func() error
		for i := range n {
			c, list := followed(t.Context(), t, w, fmt.Sprintf("job-%d", i))
			ends = append(ends, begin(c, list))
		}
		if got := w.OpenWatches(); got != 1 {
			t.Errorf("%d watches are read by %d waits", got, n)
		}
		for i, ended := range ends {
			w.Change(fmt.Sprintf("%s/job-%d", jobsPath, i), complete)
			if err := ended(); err != nil {
				t.Error(err)
			}
		}
		if got := w.TakeReads(); len(got) != 1 {
			t.Errorf("%d waits took %d requests: %q", n, len(got), got)
		}
		time.Sleep(linger / 2)
		c, list := followed(t.Context(), t, w, "late")
		ended := begin(c, list)
		time.Sleep(2 * linger)
		w.Change(jobsPath+"/late", complete)
		if err := ended(); err != nil || len(w.TakeReads()) != 0 {
			t.Errorf("one who comes soon after shares the watch: %v", err)
		}
		time.Sleep(linger - time.Millisecond)
		if w.OpenWatches() != 1 {
			t.Error("the watch did not wait for more")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if got := w.OpenWatches(); got != 0 || len(w.watches.streams) != 0 {
			t.Errorf("%d watches are open without waits, %d are kept", got, len(w.watches.streams))
		}
	})
}

// TestJoinLate: a wait that joins a running watch reads the object, since the watch may have sent
// the event before.
func TestJoinLate(t *testing.T) {
	cases := map[string]struct {
		reason string
		// before changes the object between its write and the wait.
		change func(w *world)
		looks  int
	}{
		"Nothing":     {"nothing was missed", func(*world) {}, 0},
		"Other":       {"what happened to others does not matter", func(w *world) { w.Change(jobsPath+"/first", touch) }, 0},
		"Missed":      {"an event without subscription is made up by a read", func(w *world) { w.Change(jobsPath+"/second", touch) }, 1},
		"MissedReady": {"and may be all that was waited for", func(w *world) { w.Change(jobsPath+"/second", complete) }, 1},
		"Many": {"of too many objects nothing is known any more", func(w *world) {
			for i := range maxSeen + 1 {
				w.Put(fmt.Sprintf("%s/crowd-%d", jobsPath, i), apitest.Parse(w.t, strings.Replace(jobYAML, "migrate", fmt.Sprintf("crowd-%d", i), 1)).Object)
				synctest.Wait()
			}
		}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := watchableWorld(t)
			synctest.Test(t, func(t *testing.T) {
				first, one := followed(t.Context(), t, w, "first")
				firstEnded := begin(first, one)
				second, two := followed(t.Context(), t, w, "second")
				synctest.Wait()
				tc.change(w)
				synctest.Wait()
				w.TakeReads()
				secondEnded := begin(second, two)
				looks := len(w.TakeReads())
				w.Change(jobsPath+"/first", complete)
				w.Change(jobsPath+"/second", complete)
				if err := errors.Join(firstEnded(), secondEnded()); err != nil || looks != tc.looks {
					t.Errorf("%s: %v, looked %d times, want %d", tc.reason, err, looks, tc.looks)
				}
				time.Sleep(2 * linger)
			})
		})
	}
}

// TestJoinOlder: a watch that began after an object was written may lack events of it, so that the
// object is read.
func TestJoinOlder(t *testing.T) {
	w := watchableWorld(t)
	synctest.Test(t, func(t *testing.T) {
		older, one := followed(t.Context(), t, w, "older")
		w.Change(jobsPath+"/older", complete)
		newer, two := followed(t.Context(), t, w, "newer")
		newerEnded := begin(newer, two)
		begun := time.Now()
		if err := begin(older, one)(); err != nil || time.Since(begun) != 0 {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		w.Change(jobsPath+"/newer", complete)
		if err := newerEnded(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * linger)
	})
}

// TestFollowIsCancelled: a wait that has ended leaves its watch.
func TestFollowIsCancelled(t *testing.T) {
	for name, end := range map[string]struct {
		timeout time.Duration
		want    string
	}{"Cancelled": {time.Hour, ErrCancelled.Error()}, "TimedOut": {time.Second, "timeout waiting for: [Job/prod/migrate status: 'InProgress': Job has not completed]"}} {
		t.Run(name, func(t *testing.T) {
			w := watchableWorld(t)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c, list := followed(ctx, t, w, "migrate")
				done := make(chan error, 1)
				go func() { done <- c.WatchUntilReady(list, end.timeout) }()
				synctest.Wait()
				if w.OpenWatches() != 1 {
					t.Error("the object is not followed")
				}
				if end.timeout == time.Hour {
					cancel()
				}
				if err := <-done; err == nil || err.Error() != end.want {
					t.Errorf("error %v", err)
				}
				time.Sleep(2 * linger)
				if w.OpenWatches() != 0 {
					t.Error("the watch is still read")
				}
			})
		})
	}
}

// TestFollowNeedsTheLabel: a watch sends no events of an object that has lost its label.
func TestFollowNeedsTheLabel(t *testing.T) {
	w := watchableWorld(t)
	w.Created = func(object map[string]any) { (&unstructured.Unstructured{Object: object}).SetLabels(nil) }
	synctest.Test(t, func(t *testing.T) {
		c, list := followed(t.Context(), t, w, "migrate")
		ended := begin(c, list)
		w.Change(jobPath, complete)
		if err := ended(); err != nil || w.OpenWatches() != 0 {
			t.Errorf("%v with %d watches", err, w.OpenWatches())
		}
	})
}

// TestServerThatHangsUp: if watches end at once, the objects are polled.
func TestServerThatHangsUp(t *testing.T) {
	w := watchableWorld(t)
	synctest.Test(t, func(t *testing.T) {
		c, list := followed(t.Context(), t, w, "migrate")
		ended := begin(c, list)
		for range 20 {
			w.HangUp(false)
			time.Sleep(500 * time.Millisecond)
		}
		watches, looks := 0, 0
		for _, r := range w.TakeReads() {
			if strings.HasPrefix(r, "WATCH") {
				watches++
			} else {
				looks++
			}
		}
		if watches > 8 || looks == 0 {
			t.Errorf("%d watches and %d looks in ten seconds", watches, looks)
		}
		w.Change(jobPath, complete)
		if err := ended(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * linger)
	})
}

// TestWaitForDelete: an object that is deleted at once is not read, and another one is watched.
func TestWaitForDelete(t *testing.T) {
	w := watchableWorld(t)
	synctest.Test(t, func(t *testing.T) {
		c, list := followed(t.Context(), t, w, "quick", "slow")
		w.Change(jobsPath+"/slow", func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.com/slow"}) })
		w.TakeReads()
		if errs := c.Delete(list); len(errs) > 0 {
			t.Fatal(errs)
		}
		done := make(chan error, 1)
		go func() { done <- c.WaitForDelete(list, time.Hour) }()
		time.Sleep(time.Minute - time.Second)
		w.Delete(jobsPath + "/slow")
		begun := time.Now()
		if err := <-done; err != nil || time.Since(begun) != 0 {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		want := []string{"WATCH " + jobsPath, "GET " + jobsPath + "/slow", "GET " + jobsPath + "/slow"}
		if diff := cmp.Diff(want, w.TakeReads()); diff != "" {
			t.Errorf("requests: the object is looked at twice a minute, and in the end (-want +got):\n%s", diff)
		}
		time.Sleep(2 * linger)
	})
}

// TestJoinInOrder: the object that was written first decides where the watch of a
// wait begins, whatever their order, so that none has to be looked at.
func TestJoinInOrder(t *testing.T) {
	w := watchableWorld(t)
	synctest.Test(t, func(t *testing.T) {
		c, list := followed(t.Context(), t, w, "last")
		_, more := followed(t.Context(), t, w, "first")
		c.keepAll(more)
		list = append(more, list...)
		w.TakeReads()
		ended := begin(c, list)
		if diff := cmp.Diff([]string{"WATCH " + jobsPath}, w.TakeReads()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		w.Change(jobsPath+"/first", complete)
		w.Change(jobsPath+"/last", complete)
		if err := ended(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * linger)
	})
}
