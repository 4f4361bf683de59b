// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build reference

package e2e

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/test/harness"
)

// rehearsed: beside helm-controller, a process that only observes reports that it has nothing to do
// for the releases that need nothing, and names the others. It writes nothing but its events.
func (w world) rehearsed(theirs *harness.Controller) {
	w.Helper()
	observer, err := env.Replica(w.Context(), w.Namespace, "observer", "--observe")
	w.Must(err)
	handOver(w.Context(), w.T, theirs)
	all := w.changelings()
	w.live(all)
	objects, before := w.rest(), map[string]string{}
	want := map[string]string{}
	for _, c := range all {
		w.Get(c.Name, c.HelmRelease)
		before[c.Name] = c.ResourceVersion
		want[c.Name] = "NothingToDo"
		if c.end != nil {
			want[c.Name] = "WouldStall"
		}
	}
	w.Must(observer.Start())
	w.Cleanup(func() {
		w.Must(observer.Stop(context.WithoutCancel(w.Context())))
		if w.Failed() {
			w.Logf("the log of the observer ends:\n%s", observer.LogTail(100))
		}
	})
	w.untilResults(observer, want)
	for _, c := range all {
		w.Get(c.Name, c.HelmRelease)
		if c.ResourceVersion != before[c.Name] {
			w.Errorf("%s was written", c.Name)
		}
	}
	for name, after := range w.objects() {
		w.same("beside an observer: "+name, objects[name], after)
	}
	// helm-controller goes on. Its upgrades are not reported as something to do.
	w.upgraded(all, "observed")
	w.untilResults(observer, want)
	w.reportedOnly(want)
	leases, writes := w.requests("observer")
	if len(leases)+len(writes) > 0 {
		w.Errorf("the observer wrote %v, %v", leases, writes)
	}
	w.Logf("%d releases were observed: %v", len(all), want)
}

// untilResults waits until an observer reports these results about the releases in the namespace.
func (w world) untilResults(observer *harness.Controller, want map[string]string) {
	w.Helper()
	ctx := w.Context()
	w.Must(env.Until(ctx, "the results", func() (string, bool) {
		series, err := observer.Metrics(ctx)
		if err != nil {
			return err.Error(), false
		}
		found := map[string]string{}
		for name := range series {
			labels, is := strings.CutPrefix(name, "pintle_observed_release{")
			if !is || !strings.Contains(labels, fmt.Sprintf("namespace=%q", w.Namespace)) {
				continue
			}
			hr, _, _ := strings.Cut(strings.TrimPrefix(labels, `name="`), `"`)
			_, result, _ := strings.Cut(labels, `result="`)
			found[hr] = strings.TrimRight(result, `"}`)
		}
		time.Sleep(time.Second)
		return fmt.Sprint(found), maps.Equal(found, want)
	}))
}

// reportedOnly checks that the events of the observer name the releases that need something, once
// each.
func (w world) reportedOnly(want map[string]string) {
	w.Helper()
	var list corev1.EventList
	w.Must(env.Client.List(w.Context(), &list, client.InNamespace(w.Namespace)))
	found := map[string]int{}
	for i := range list.Items {
		e := &list.Items[i]
		if e.Source.Component != "pintle-observe" {
			continue
		}
		w.Logf("%s %s: %s", e.InvolvedObject.Name, e.Reason, e.Message)
		if e.Reason != want[e.InvolvedObject.Name] {
			w.Errorf("%s has event %s, want %s", e.InvolvedObject.Name, e.Reason, want[e.InvolvedObject.Name])
		}
		found[e.InvolvedObject.Name] += max(1, int(e.Count))
	}
	for name, result := range want {
		if reported := found[name]; (result == "NothingToDo") != (reported == 0) || reported > 1 {
			w.Errorf("%s is %s, and has %d events", name, result, reported)
		}
	}
}
