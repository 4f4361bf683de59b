// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/test/apitest"
)

// TestHookIsLost: a hook that is deleted before it completes has failed, and nothing is
// waited for. What it was last counts, if that was received.
func TestHookIsLost(t *testing.T) {
	const deleted = "failed early due to stalled resources: [Job/prod/migrate status: 'Failed': was deleted before it was seen to complete]"
	cases := map[string]struct {
		reason   string
		manifest string
		happen   func(w *world)
		want     string
	}{
		"Deleted": {
			"it cannot complete any more", jobYAML,
			func(w *world) { w.Delete(jobPath) }, deleted,
		},
		"Replaced": {
			"another object of the name is not the hook", jobYAML,
			func(w *world) {
				w.Delete(jobPath)
				other := apitest.Parse(w.t, jobYAML)
				other.SetUID("other")
				complete(other)
				w.Put(jobPath, other.Object)
			}, deleted,
		},
		"Completed": {
			"it had completed before it was deleted", jobYAML,
			func(w *world) { w.Change(jobPath, complete); w.Delete(jobPath) }, "",
		},
		"CompletedAndReplaced": {
			"and may have a successor", jobYAML,
			func(w *world) {
				w.Change(jobPath, complete)
				w.Delete(jobPath)
				other := apitest.Parse(w.t, jobYAML)
				other.SetUID("other")
				w.Put(jobPath, other.Object)
			}, "",
		},
		"Expired": {
			"the cluster deletes it once it has completed", jobYAML + "spec: {ttlSecondsAfterFinished: 0}\n",
			func(w *world) { w.Delete(jobPath) }, "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := watchableWorld(t)
			w.SetUIDs()
			synctest.Test(t, func(t *testing.T) {
				c, list := patient(t.Context(), t, w, nil, tc.manifest)
				if _, err := c.Create(list); err != nil {
					t.Fatal(err)
				}
				ended := begin(c, list)
				begun := time.Now()
				tc.happen(w)
				got := ""
				if err := ended(); err != nil {
					got = err.Error()
				}
				if got != tc.want || time.Since(begun) != 0 {
					t.Errorf("%s: %q after %s, want %q", tc.reason, got, time.Since(begun), tc.want)
				}
				time.Sleep(2 * linger)
			})
		})
	}
}

// TestReplacedIsGone: an object that is created again while its deletion is waited for
// is not the one that was deleted.
func TestReplacedIsGone(t *testing.T) {
	w := watchableWorld(t)
	w.SetUIDs()
	synctest.Test(t, func(t *testing.T) {
		c, list := followed(t.Context(), t, w, "migrate")
		w.Change(jobPath, func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.com/slow"}) })
		if errs := c.Delete(list); len(errs) > 0 {
			t.Fatal(errs)
		}
		done := make(chan error, 1)
		go func() { done <- c.WaitForDelete(list, time.Hour) }()
		synctest.Wait()
		begun := time.Now()
		w.Mu.Lock()
		w.Remove(jobPath)
		other := apitest.Parse(t, jobYAML)
		other.SetUID("other")
		w.Store(jobPath, other.Object)
		w.Mu.Unlock()
		if err := <-done; err != nil || time.Since(begun) != 0 {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		time.Sleep(2 * linger)
	})
}

// failReads makes a number of reads of a Job fail.
func failReads(w *world, path string, failures int) (left func() int) {
	w.Refuse = func(method, at string) int {
		if method == http.MethodGet && at == path && failures > 0 {
			failures--
			return http.StatusServiceUnavailable
		}
		return 0
	}
	return func() int { return failures }
}

// TestReadIsRepeated: an object whose state is uncertain is read again soon if the read
// fails, though its watch goes on.
func TestReadIsRepeated(t *testing.T) {
	cases := map[string]func(w *world, c *client, list kube.ResourceList) (failed func() bool, ended func() error){
		"Removed": func(w *world, c *client, list kube.ResourceList) (failed func() bool, ended func() error) {
			first := begin(c, list[:1])
			left := failReads(w, jobsPath+"/second", 3)
			second := begin(c, list[1:])
			w.Mu.Lock()
			u := w.Objects[jobsPath+"/second"]
			w.Notify("DELETED", jobsPath+"/second", u)
			complete(&unstructured.Unstructured{Object: u})
			w.Mu.Unlock()
			return func() bool { return left() == 0 }, func() error { return errors.Join(second(), w.finish(), first()) }
		},
		"JoinedLate": func(w *world, c *client, list kube.ResourceList) (failed func() bool, ended func() error) {
			first := begin(c, list[:1])
			w.Change(jobsPath+"/second", complete)
			synctest.Wait()
			left := failReads(w, jobsPath+"/second", 3)
			second := begin(c, list[1:])
			return func() bool { return left() == 0 }, func() error { return errors.Join(second(), w.finish(), first()) }
		},
	}
	for name, act := range cases {
		t.Run(name, func(t *testing.T) {
			w := watchableWorld(t)
			synctest.Test(t, func(t *testing.T) {
				c, list := followed(t.Context(), t, w, "first", "second")
				begun := time.Now()
				failed, ended := act(w, c, list)
				if err := ended(); err != nil || !failed() || time.Since(begun) > time.Second {
					t.Errorf("%v after %s, all reads failed: %t", err, time.Since(begun), failed())
				}
				time.Sleep(2 * linger)
			})
		})
	}
}

// finish ends the Job that keeps a watch open.
func (w *world) finish() error {
	w.Change(jobsPath+"/first", complete)
	return nil
}

// TestLabelIsLost: no events come of an object without the label that the watch selects.
func TestLabelIsLost(t *testing.T) {
	w := watchableWorld(t)
	synctest.Test(t, func(t *testing.T) {
		c, list := followed(t.Context(), t, w, "migrate")
		ended := begin(c, list)
		w.Mu.Lock()
		u := &unstructured.Unstructured{Object: w.Objects[jobPath]}
		u.SetLabels(nil)
		w.Notify("DELETED", jobPath, u.Object)
		w.Mu.Unlock()
		time.Sleep(time.Second)
		w.Mu.Lock()
		complete(u)
		w.Mu.Unlock()
		begun := time.Now()
		if err := ended(); err != nil || time.Since(begun) > time.Second {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		time.Sleep(2 * linger)
	})
}

// TestServerLagsBehind: an answer of an older state than was known is no result.
func TestServerLagsBehind(t *testing.T) {
	w := watchableWorld(t)
	w.Put("/api/v1/namespaces/prod/configmaps/spare", map[string]any{"metadata": map[string]any{"name": "spare"}})
	synctest.Test(t, func(t *testing.T) {
		c, list := followed(t.Context(), t, w, "migrate")
		ended := begin(c, list)
		w.Mu.Lock()
		newest := w.Objects[jobPath]
		stale := (&unstructured.Unstructured{Object: newest}).DeepCopy()
		stale.SetResourceVersion("1")
		complete(stale)
		w.Notify("DELETED", jobPath, newest)
		w.Objects[jobPath] = stale.Object
		w.Mu.Unlock()
		time.Sleep(time.Minute)
		w.Mu.Lock()
		w.Objects[jobPath] = newest
		w.Mu.Unlock()
		w.Change(jobPath, complete)
		begun := time.Now()
		if err := ended(); err != nil || time.Since(begun) != 0 {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		time.Sleep(2 * linger)
	})
}

// TestServerLagsBehindFromTheStart: nor is it one if nothing else is known.
func TestServerLagsBehindFromTheStart(t *testing.T) {
	w := watchableWorld(t)
	w.SetUIDs()
	synctest.Test(t, func(t *testing.T) {
		c, list := patient(t.Context(), t, w, nil, podYAML)
		if _, err := c.Create(list); err != nil {
			t.Fatal(err)
		}
		stale := w.Object(podPath)
		if errs := c.Delete(list); len(errs) > 0 {
			t.Fatal(errs)
		}
		w.Mu.Lock()
		w.Objects[podPath] = stale.Object
		w.Mu.Unlock()
		err := c.WaitForDelete(list, time.Minute)
		if err == nil || !strings.Contains(err.Error(), errOlderVersion.Error()) {
			t.Errorf("error %v", err)
		}
		w.Mu.Lock()
		delete(w.Objects, podPath)
		w.Mu.Unlock()
		if err := c.WaitForDelete(list, time.Minute); err != nil {
			t.Error(err)
		}
	})
}

// TestDeletedHooksAreRead: deleting a hook takes no read where the answer is certain, and
// one where it is not.
func TestDeletedHooksAreRead(t *testing.T) {
	cases := map[string]struct {
		manifest, path, phase string
		want                  []string
	}{
		"Job":        {manifest: jobYAML, path: jobPath},
		"EndedPod":   {podYAML, podPath, "Succeeded", []string{"GET " + podPath}},
		"FailedPod":  {podYAML, podPath, "Failed", []string{"GET " + podPath}},
		"PendingPod": {podYAML, podPath, "Pending", []string{"GET " + podPath}},
		"RunningPod": {podYAML, podPath, "Running", []string{"WATCH " + podsPath, "GET " + podPath}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := watchableWorld(t)
			w.SetUIDs()
			synctest.Test(t, func(t *testing.T) {
				c, list := patient(t.Context(), t, w, nil, tc.manifest)
				if _, err := c.Create(list); err != nil {
					t.Fatal(err)
				}
				if tc.phase != "" {
					w.Change(tc.path, inPhase(tc.phase))
				}
				w.TakeReads()
				if errs := c.Delete(list); len(errs) > 0 {
					t.Fatal(errs)
				}
				if w.Object(tc.path) != nil {
					time.AfterFunc(5*time.Second, func() { w.Delete(tc.path) })
				}
				begun := time.Now()
				if err := c.WaitForDelete(kube.ResourceList{list[0]}, time.Hour); err != nil || time.Since(begun) > 5*time.Second {
					t.Errorf("%v after %s", err, time.Since(begun))
				}
				if got := strings.Join(w.TakeReads(), ", "); got != strings.Join(tc.want, ", ") {
					t.Errorf("asked %s, want %q", got, tc.want)
				}
				time.Sleep(2 * linger)
			})
		})
	}
}
