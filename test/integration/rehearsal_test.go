// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness/faultproxy"
)

// observer is the name of a controller that only observes.
const observer = "it-observe"

// writes records the requests of a process that are no reads. It is below the fence.
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method != http.MethodGet && !strings.Contains(req.URL.Path, "/events") {
			w.mu.Lock()
			w.all = append(w.all, req.Method+" "+req.URL.Path)
			w.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// rehearse starts a controller that observes the releases of the test, beside the shared controller
// which leads. It returns a function that returns the result about each release.
func (w *world) rehearse() func() map[string]string {
	w.t.Helper()
	var from prometheus.Gatherer
	sent := &writes{}
	stop, err := startController(config{
		name: w.namespace, observe: true, wrap: sent.wrap, metrics: func(r prometheus.Gatherer) { from = r },
	})
	w.must(err)
	w.t.Cleanup(func() {
		if err := stop(); err != nil {
			w.t.Error(err)
		}
		if len(sent.all) > 0 {
			w.t.Errorf("the observer has written: %q", sent.all)
		}
	})
	return func() map[string]string {
		families, err := from.Gather()
		w.must(err)
		found := map[string]string{}
		for _, f := range families {
			if f.GetName() != "pintle_observed_release" {
				continue
			}
			for _, m := range f.GetMetric() {
				labels := map[string]string{}
				for _, l := range m.GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				if labels["namespace"] == w.namespace {
					found[labels["name"]] = labels["result"]
				}
			}
		}
		return found
	}
}

// untilResults waits until the results are as wanted.
func (w *world) untilResults(results func() map[string]string, want map[string]string) {
	w.t.Helper()
	untilTrue(w, "results", func() bool { return cmp.Equal(want, results()) })
}

// reports returns the events of the observer about a release: reason and message.
func (w *world) reports(name string) []string {
	w.t.Helper()
	var list corev1.EventList
	w.must(suite.client.List(w.t.Context(), &list, client.InNamespace(w.namespace)))
	var all []string
	for i := range list.Items {
		e := &list.Items[i]
		if e.Source.Component == observer && e.InvolvedObject.Name == name {
			all = append(all, fmt.Sprintf("%s %s x%d: %s", e.Type, e.Reason, max(1, e.Count), e.Message))
		}
	}
	return all
}

// TestRehearsal: a controller that only observes reports what it would do to each release, and
// writes nothing but its events.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"synced", "upgrade", "suspended", "rights"} {
		w.publish(name, "1.0.0", configMapChart(t, "1.0.0"))
	}
	own := func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{labelController: w.namespace} }
	synced, upgrade := w.release("synced", nil, own), w.release("upgrade", nil, own)
	suspended, rights := w.release("suspended", nil, own), w.release("rights", nil, own)
	all := []*helmv2.HelmRelease{synced, upgrade, suspended, rights}

	// The controller that leads, which stops before the inputs change.
	stop, err := startController(config{name: w.namespace})
	w.must(err)
	for _, hr := range all {
		w.untilReady(hr)
	}
	w.must(stop())
	w.publish("upgrade", "1.1.0", configMapChart(t, "1.1.0"))
	w.publish("install", "1.0.0", configMapChart(t, "1.0.0"))
	// No controller has observed these.
	observed := func(hr *helmv2.HelmRelease) {
		hr.Status.ObservedGeneration = hr.Generation
		w.must(suite.client.Status().Update(t.Context(), hr))
	}
	w.edit(suspended, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	w.edit(rights, func(hr *helmv2.HelmRelease) { hr.Spec.ServiceAccountName = "none" })
	observed(rights)
	install := w.release("install", nil, own)
	observed(install)
	blocked := w.release("blocked", nil, own)
	observed(blocked)
	templated := w.release("templated", nil, own, func(hr *helmv2.HelmRelease) {
		hr.Spec.ChartRef = nil
		hr.Spec.Chart = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
			Chart: "note", SourceRef: helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "charts"},
		}}
	})
	observed(templated)
	waiting := w.release("progressing", nil, own)

	before := map[string]string{}
	for _, hr := range append(all, install, blocked, templated, waiting) {
		w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(hr), hr))
		before[hr.Name] = hr.ResourceVersion
	}
	results := w.rehearse()
	w.untilResults(results, map[string]string{
		"synced": "NothingToDo", "upgrade": "WouldUpgrade", "suspended": "Suspended", "rights": "WouldBlock",
		"install": "WouldInstall", "blocked": "WouldBlock", "templated": "WouldBlock", "progressing": "InProgress",
	})
	// The next observations report nothing new.
	for _, hr := range []*helmv2.HelmRelease{upgrade, rights} {
		w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(hr), hr))
		if hr.ResourceVersion != before[hr.Name] {
			t.Errorf("%s was written", hr.Name)
		}
		w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Annotations = map[string]string{"example.com/note": "again"} })
	}
	w.expectReports(map[string]string{
		"synced": "", "suspended": "", "progressing": "", "upgrade": "Normal WouldUpgrade x1: ", "install": "Normal WouldInstall x1: ",
		"rights": "Warning WouldBlock x1: ", "blocked": "Warning WouldBlock x1: ", "templated": "Warning WouldBlock x1: HelmChart '",
	})
}

// expectReports checks the reports about releases. Each wanted one is the start of the only report.
// They are written in the background.
func (w *world) expectReports(wanted map[string]string) {
	w.t.Helper()
	for name, want := range wanted {
		untilTrue(w, "a report about "+name, func() bool { return want == "" || len(w.reports(name)) > 0 }, w.allEvents())
	}
	for name := range wanted {
		w.recorded(&helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}})
	}
	for name, want := range wanted {
		reports := w.reports(name)
		if want == "" && len(reports) == 0 {
			continue
		}
		if len(reports) != 1 || want == "" || !strings.HasPrefix(reports[0], want) || !strings.Contains(reports[0], "only observes") {
			w.t.Errorf("the reports about %s are %q, want %q", name, reports, want)
		}
	}
}

// TestRehearsalElsewhere: releases in another cluster are observed with the same results, and nothing
// is written there.
func TestRehearsalElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	var observes atomic.Bool
	sent := &writes{}
	far := w.proxied(func(r faultproxy.Request) faultproxy.Fault {
		mutating := []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
		if observes.Load() && slices.Contains(mutating, r.Verb) {
			sent.mu.Lock()
			sent.all = append(sent.all, r.Key())
			sent.mu.Unlock()
		}
		return faultproxy.None
	})
	w.secret("far", map[string][]byte{"value": kubeconfig(t, far.config)}, nil)
	own := func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{labelController: w.namespace} }
	stop, err := startController(config{name: w.namespace})
	w.must(err)
	for _, name := range []string{"synced", "upgrade"} {
		w.publish(name, "1.0.0", configMapChart(t, "1.0.0"))
		w.untilReady(w.release(name, nil, own, in("far")))
	}
	w.must(stop())
	w.publish("upgrade", "1.1.0", configMapChart(t, "1.1.0"))
	observes.Store(true)
	w.untilResults(w.rehearse(), map[string]string{"synced": "NothingToDo", "upgrade": "WouldUpgrade"})
	sent.mu.Lock()
	defer sent.mu.Unlock()
	if len(sent.all) > 0 {
		t.Errorf("written in the other cluster: %q", sent.all)
	}
}
