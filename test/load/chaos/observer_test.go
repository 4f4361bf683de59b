// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"errors"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

// hookJob returns the Job of a hook in a namespace, with a condition if it is not empty.
func hookJob(condition batchv1.JobConditionType) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "app-pre-upgrade", UID: "1", Annotations: map[string]string{
		"helm.sh/hook": "pre-upgrade", messageAnnotation: "two",
	}}}
	if condition != "" {
		j.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue}}
	}
	if condition == batchv1.JobComplete {
		j.Status.Succeeded = 1
	}
	return j
}

func TestObservedJobs(t *testing.T) {
	running, complete, failed := hookJob(""), hookJob(batchv1.JobComplete), hookJob(batchv1.JobFailed)
	type event struct {
		object any
		gone   bool
	}
	for name, tc := range map[string]struct {
		events                    []event
		ended, succeeded, unknown bool
	}{
		"it runs":                   {[]event{{running, false}}, false, false, false},
		"it is complete":            {[]event{{running, false}, {complete, false}}, true, true, false},
		"it was complete":           {[]event{{complete, false}, {complete, true}}, true, true, false},
		"it was deleted, complete":  {[]event{{running, false}, {complete, true}}, true, true, false},
		"it has failed":             {[]event{{running, false}, {failed, false}}, true, false, false},
		"it was deleted as it ran":  {[]event{{running, false}, {running, true}}, true, false, false},
		"its end was not observed":  {[]event{{running, false}, {toolscache.DeletedFinalStateUnknown{Obj: running}, true}}, true, false, true},
		"only its deletion was not": {[]event{{complete, false}, {toolscache.DeletedFinalStateUnknown{Obj: complete}, true}}, true, true, false},
	} {
		o := &observer{seen: map[string]*seen{}}
		var ended time.Time
		for _, e := range tc.events {
			o.note(e.object, e.gone)
			if j := o.seen["a"].facts.jobs[0]; !ended.IsZero() && j.ended != ended {
				t.Errorf("%s: it ended twice", name)
			}
			ended = o.seen["a"].facts.jobs[0].ended
		}
		f, err := o.facts("a")
		if err != nil || len(f.jobs) != 1 || len(f.hooks) != 1 || f.jobs[0].hook != (hook{"pre-upgrade", "two"}) {
			t.Fatalf("%s: %+v, error %v", name, f, err)
		}
		j := f.jobs[0]
		if j.created.IsZero() || j.ended.IsZero() == tc.ended || j.succeeded != tc.succeeded || j.unknown != tc.unknown {
			t.Errorf("%s: %+v", name, j)
		}
	}
}

// TestObservedRollouts: a rollout lasts until its controller has observed the last change.
func TestObservedRollouts(t *testing.T) {
	o := &observer{seen: map[string]*seen{}}
	for i, tc := range []struct {
		generation, observed int64
		gone                 bool
		all, open            int
	}{
		{1, 0, false, 1, 1},
		{2, 1, false, 1, 1},
		{2, 2, false, 1, 0},
		{2, 2, false, 1, 0},
		{3, 2, false, 2, 1},
		{3, 2, true, 2, 0},
	} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Generation: tc.generation}}
		d.Status.ObservedGeneration = tc.observed
		o.note(d, tc.gone)
		f, err := o.facts("a")
		open := 0
		for _, r := range f.rollouts {
			if r.back.IsZero() {
				open++
			}
		}
		if err != nil || len(f.rollouts) != tc.all || open != tc.open {
			t.Errorf("after event %d: %+v, %v", i+1, f.rollouts, err)
		}
	}
}

func TestObservedMarkers(t *testing.T) {
	named := func(name, message string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Data: map[string]string{"message": message}}
	}
	o := &observer{seen: map[string]*seen{}}
	o.note(named(releaseName, "two"), false)
	o.note(named("app-one", "one"), false)
	o.note(named("app-two", "two"), false)
	o.note(named("app-one", "one"), true)
	f, err := o.facts("a")
	if err != nil || f.message != "two" || len(f.markers) != 1 || f.markers[0] != "two" {
		t.Errorf("%+v, error %v", f, err)
	}
}

// flaky is a connection whose first two requests have no answer.
type flaky struct{ requests int }

func (f *flaky) RoundTrip(*http.Request) (*http.Response, error) {
	if f.requests++; f.requests < 3 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// TestPersistent: a reading request is repeated until there is an answer, and a writing one is not.
func TestPersistent(t *testing.T) {
	for method, want := range map[string]int{http.MethodGet: 3, http.MethodPost: 1} {
		connection := &flaky{}
		r, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := persistent{connection}.RoundTrip(r)
		if err == nil {
			_ = response.Body.Close()
		}
		if connection.requests != want || err != nil != (want < 3) {
			t.Errorf("%s was sent %d times, want %d; error %v", method, connection.requests, want, err)
		}
	}
}
