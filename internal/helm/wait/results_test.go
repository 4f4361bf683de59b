// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/readiness"
	"github.com/pintle-dev/pintle/test/apitest"
)

func TestLearnDeleted(t *testing.T) {
	const configMap, deployment = oneYAML, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: one}\n"
	marked := func(u *unstructured.Unstructured) {
		now := metav1.Now()
		u.SetDeletionTimestamp(&now)
	}
	grace := func(seconds int64) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			marked(u)
			u.SetDeletionGracePeriodSeconds(&seconds)
		}
	}
	cases := map[string]struct {
		reason   string
		manifest string
		edit     func(*unstructured.Unstructured)
		want     readiness.Existence
	}{
		"Status":    {"success is said of what is gone", configMap, nil, readiness.Absent},
		"Object":    {"an object of the core that waits for nothing is gone", configMap, func(*unstructured.Unstructured) {}, readiness.Absent},
		"Marked":    {"one that is marked, and waits for nothing, can be gone", configMap, marked, readiness.Unknown},
		"NoGrace":   {"so is a Pod that has ended", configMap, grace(0), readiness.Unknown},
		"Grace":     {"one with a grace period is still there", configMap, grace(30), readiness.Present},
		"Finalizer": {"so is one with a finalizer", configMap, func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"a.b/c"}) }, readiness.Present},
		"Elsewhere": {"what others mean by an object is not known", deployment, func(*unstructured.Unstructured) {}, readiness.Unknown},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, list := patient(t.Context(), t, newWorld(t), nil, tc.manifest)
			var answer runtime.Object = &metav1.Status{Status: metav1.StatusSuccess}
			if tc.edit != nil {
				u := apitest.Parse(t, tc.manifest)
				tc.edit(u)
				answer = u
			}
			c.Deleted(list[0], answer)
			e, ok := c.take(list[0])
			var known readiness.Known
			known.Observe(e.observation)
			if got := known.Existence(); !ok || got != tc.want {
				t.Errorf("%s: known %t, existence %v, want %v", tc.reason, ok, got, tc.want)
			}
		})
	}
}

// TestResultsAreUsedOnce: an apply result replaces one read.
func TestResultsAreUsedOnce(t *testing.T) {
	w := newWorld(t)
	c, list := patient(t.Context(), t, w, nil, oneYAML)
	if _, err := c.Create(list); err != nil {
		t.Fatal(err)
	}
	for i, looks := range []int{0, 1, 1} {
		w.TakeReads()
		if err := c.Wait(list, time.Minute); err != nil || len(w.TakeReads()) != looks {
			t.Errorf("wait %d: %v, want %d looks", i, err, looks)
		}
	}
}

// TestRescue: judging happens on goroutines, where a panic would end the process.
func TestRescue(t *testing.T) {
	t.Parallel()
	panics := func(*unstructured.Unstructured) (*status.Result, error) { panic("boom") }
	o := &object{info: &resource.Info{}}
	o.observe(readiness.ObservationOf(readiness.Read, nil), nil, poll(panics))
	if o.current() || o.err == nil || o.err.Error() != "judging panicked: boom" {
		t.Errorf("heard %v, %v", o.result, o.err)
	}
	o = &object{}
	o.read(condition{ask: func(*resource.Info) (*status.Result, error) { panic("boom") }})
	if o.current() || o.err == nil {
		t.Errorf("looked %v, %v", o.result, o.err)
	}
}
