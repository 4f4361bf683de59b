// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// policy creates a ReleasePolicy in the namespace of the world.
func (w *world) policy(name string, spec v1alpha1.ReleasePolicySpec) *v1alpha1.ReleasePolicy {
	w.t.Helper()
	p := &v1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Spec: spec}
	w.must(suite.client.Create(w.t.Context(), p))
	w.known(p)
	return p
}

// untilHeldBy waits until a policy holds an action of a release, and checks the conditions.
func (w *world) untilHeldBy(hr *helmv2.HelmRelease, reason string, texts ...string) {
	w.t.Helper()
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionUnknown, reason, texts...)
	// A correction of drift may be running.
	w.untilSays(hr, helmv2.ConditionReconciling, metav1.ConditionTrue, reason, texts...)
	if hr.Status.ObservedGeneration != hr.Generation || condition(hr, helmv2.ConditionStalled).Type != "" {
		w.t.Errorf("observed generation %d of %d, conditions %+v", hr.Status.ObservedGeneration, hr.Generation, hr.Status.Conditions)
	}
	if hr.Status.Failures != 0 || hr.Status.UpgradeFailures != 0 || hr.Status.InstallFailures != 0 {
		w.t.Errorf("waiting counts as failed: %+v", hr.Status)
	}
}

// TestPolicySelects: labels and the namespace select. A change of the labels of a policy's selector
// applies at once.
func TestPolicySelects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	labels := map[string]string{"policies.test/world": w.namespace}
	cluster := &v1alpha1.ClusterReleasePolicy{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	cluster.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	cluster.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}}
	cluster.Spec.Freeze = "maintenance"
	w.must(suite.client.Create(t.Context(), cluster))
	t.Cleanup(func() { _ = suite.client.Delete(t.Context(), cluster) })
	w.known(cluster)
	w.policy("others", v1alpha1.ReleasePolicySpec{Freeze: "never", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}})
	hr := w.release("app", map[string]any{"message": "one"}, func(hr *helmv2.HelmRelease) { hr.Labels = labels })
	w.untilHeldBy(hr, helmv2.ReasonFrozen, "ClusterReleasePolicy/"+w.namespace, "maintenance", "'install' action waits")
	before := cluster.DeepCopy()
	cluster.Spec.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] = "other"
	w.must(suite.client.Patch(t.Context(), cluster, client.MergeFrom(before)))
	w.untilReady(hr)
	w.must(suite.client.Delete(t.Context(), cluster))
}

// downloaded returns the number of downloads.
func (w *world) downloaded() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.downloads
}

// TestHelmChartRefused: the HelmChart of a refused spec.chart is not made, so that source-controller
// fetches nothing. The URL of the HelmRepository is compared with the allowed ones.
func TestHelmChartRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy("exact", v1alpha1.ReleasePolicySpec{Charts: &v1alpha1.ChartPolicy{ExactVersions: true, Sources: []string{"https://charts.example.com/stable/*"}}})
	repo := &sourcev1.HelmRepository{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "charts"}}
	repo.Spec.URL, repo.Spec.Interval = "https://charts.example.com/incubator/", metav1.Duration{Duration: time.Hour}
	w.must(suite.client.Create(t.Context(), repo))
	hr := w.release("app", nil, func(hr *helmv2.HelmRelease) {
		hr.Spec.ChartRef, hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
			Chart: "note", Version: "1.x", SourceRef: helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "charts"},
		}}
	})
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonPolicyRefused, `refuses spec.chart.spec.version: "1.x" is no exact version`)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Chart.Spec.Version = "1.2.3" })
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonPolicyRefused, "refuses spec.chart.spec.sourceRef", "https://charts.example.com/incubator/note is not one of the allowed sources")
	w.quiet(hr)
	var charts sourcev1.HelmChartList
	w.must(suite.client.List(t.Context(), &charts, client.InNamespace(w.namespace)))
	if len(charts.Items) != 0 {
		t.Errorf("HelmCharts: %+v", charts.Items)
	}
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(repo), repo))
	repo.Spec.URL = "https://charts.example.com/stable"
	w.must(suite.client.Update(t.Context(), repo))
	w.ask(hr, "now")
	w.until(hr, "the HelmChart", func(hr *helmv2.HelmRelease) bool { return hr.Status.HelmChart != "" })
}

// TestHeldReleasesSurviveRestarts: releases that a policy holds are not upgraded by restarts of the
// controller.
func TestHeldReleasesSurviveRestarts(t *testing.T) {
	t.Parallel()
	releases, restarts := 50, 20
	if testing.Short() {
		releases, restarts = 3, 2
	}
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	named := func(hr *helmv2.HelmRelease) {
		hr.Labels, hr.Spec.ChartRef.Name = map[string]string{labelController: w.namespace}, "app"
	}
	stop, err := startController(config{name: w.namespace})
	w.must(err)
	var all []*helmv2.HelmRelease
	for i := range releases {
		all = append(all, w.release(fmt.Sprintf("app-%d", i), map[string]any{"message": "one"}, named))
	}
	for _, hr := range all {
		w.untilReady(hr)
	}
	w.policy("incident", v1alpha1.ReleasePolicySpec{Freeze: "incident 4711"})
	for _, hr := range all {
		w.says(hr, "two")
	}
	for _, hr := range all {
		w.untilHeldBy(hr, helmv2.ReasonFrozen)
	}
	for range restarts {
		w.must(stop())
		stop, err = startController(config{name: w.namespace})
		w.must(err)
		// Long enough to reconcile all of them.
		for _, hr := range all {
			w.ask(hr, time.Now().String())
		}
		for _, hr := range all {
			w.until(hr, "a reconciliation", func(hr *helmv2.HelmRelease) bool {
				return hr.Status.LastHandledReconcileAt == hr.Annotations[helmv2.AnnotationReconcileRequest]
			})
		}
	}
	var records corev1.SecretList
	w.must(suite.client.List(t.Context(), &records, client.InNamespace(w.namespace), client.MatchingLabels{"owner": "helm"}))
	for i := range records.Items {
		if !strings.HasSuffix(records.Items[i].Name, ".v1") {
			t.Errorf("an upgrade was begun: %s", records.Items[i].Name)
		}
	}
	if len(records.Items) != releases {
		t.Errorf("%d records, want %d", len(records.Items), releases)
	}
	w.must(stop())
}

// policyAnswers answers requests for policies, while it is set.
type policyAnswers struct {
	code atomic.Int64
	// lists are the code and the resource of each answered list. The code is zero for an answer of
	// the API server.
	lists sync.Map
}

// untilListed waits until lists of both kinds of policies have been answered with a code, and the
// controller has received the answers: it has sent the next request, which is another list after a
// failed one, and a watch after one that succeeded.
func (f *policyAnswers) untilListed(w *world, code int) {
	w.t.Helper()
	for _, resource := range []string{"releasepolicies", "clusterreleasepolicies"} {
		untilTrue(w, "a list of "+resource, func() bool {
			_, received := f.lists.Load(fmt.Sprint(code, resource, " received"))
			return received
		})
	}
}

// wrap implements the wrapper of a transport. Watches that are open end when the answer is set.
func (f *policyAnswers) wrap(next http.RoundTripper) http.RoundTripper {
	return transport(func(req *http.Request) (*http.Response, error) {
		if !strings.Contains(req.URL.Path, "/apis/"+v1alpha1.Group+"/") {
			return next.RoundTrip(req)
		}
		code := int(f.code.Load())
		if listed := fmt.Sprint(code, path.Base(req.URL.Path)); code != 0 || req.URL.Query().Get("watch") != "" {
			if _, again := f.lists.Load(listed); again {
				f.lists.Store(listed+" received", true)
			}
		}
		if req.URL.Query().Get("watch") == "" {
			defer func() { f.lists.Store(fmt.Sprint(code, path.Base(req.URL.Path)), true) }()
		}
		if code != 0 && (code == http.StatusNotFound || strings.Contains(req.URL.Path, "policies")) {
			body, err := json.Marshal(metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code),
				Reason: map[int]metav1.StatusReason{http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusForbidden: metav1.StatusReasonForbidden}[code], Message: "refused by the test",
			})
			return &http.Response{StatusCode: code, Body: io.NopCloser(bytes.NewReader(body)), Header: http.Header{"Content-Type": {"application/json"}}, Request: req}, err
		}
		if req.URL.Query().Get("watch") == "" {
			return next.RoundTrip(req)
		}
		ctx, cancel := context.WithCancel(req.Context())
		go func() {
			defer cancel()
			for f.code.Load() == 0 && ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
		}()
		return next.RoundTrip(req.WithContext(ctx))
	})
}

// TestPoliciesInstalledLater: a controller runs without the CRDs of policies. It applies policies when
// they are installed, without a restart.
func TestPoliciesInstalledLater(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	var answer policyAnswers
	answer.code.Store(http.StatusNotFound)
	ours := w.ownController(config{wrap: answer.wrap})
	// The controller cannot receive it yet.
	freeze := &v1alpha1.ReleasePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "incident"}, Spec: v1alpha1.ReleasePolicySpec{Freeze: "incident 4711"},
	}
	w.must(suite.client.Create(t.Context(), freeze))
	hr := w.release("app", map[string]any{"message": "one"}, ours)
	w.untilReady(hr)
	answer.code.Store(0)
	w.define(w.namespace + ".example.com")
	answer.untilListed(w, 0)
	w.says(hr, "two")
	w.untilHeldBy(hr, helmv2.ReasonFrozen)
	// The CRDs are deleted.
	w.must(suite.client.Delete(t.Context(), freeze))
	w.untilReady(hr)
	answer.code.Store(http.StatusNotFound)
	w.says(hr, "three")
	w.untilMessage("app", "three")
	w.untilReady(hr)
}

// TestPoliciesForbidden: a controller that may not list policies any more begins nothing, and
// continues when it may. Drift is corrected meanwhile. One that has never listed them waits, too.
func TestPoliciesForbidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	var answer policyAnswers
	ours := w.ownController(config{wrap: answer.wrap})
	hr := w.release("app", map[string]any{"message": "one"}, ours, func(hr *helmv2.HelmRelease) {
		hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled}
	})
	w.untilReady(hr)
	answer.code.Store(http.StatusForbidden)
	answer.untilListed(w, http.StatusForbidden)
	w.says(hr, "two")
	w.untilHeldBy(hr, helmv2.ReasonPolicyUnavailable, "the policies of the release cannot be read", "pintle.dev cannot be listed and watched: refused by the test")
	changeAs(w, "editor", w.configMap("app"), func(cm *corev1.ConfigMap) { cm.Data["message"] = "edited" })
	w.untilMessage("app", "one")
	w.expectRevisions(hr, 1)
	answer.code.Store(0)
	w.untilMessage("app", "two")
	w.untilReady(hr)
}

// TestPoliciesForbiddenAtStart: a controller that has never listed policies begins nothing.
func TestPoliciesForbiddenAtStart(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	var answer policyAnswers
	answer.code.Store(http.StatusForbidden)
	hr := w.release("app", map[string]any{"message": "one"}, w.ownController(config{wrap: answer.wrap}))
	w.untilHeldBy(hr, helmv2.ReasonPolicyUnavailable, "refused by the test")
	if n := newest(hr); n != 0 {
		t.Errorf("revision %d", n)
	}
	answer.code.Store(0)
	w.untilReady(hr)
}

// TestPolicyCostsNoRequest: a policy that selects all and demands nothing adds no request to an
// upgrade.
func TestPolicyCostsNoRequest(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	var requests atomic.Int64
	var counted sync.Map
	ours := w.ownController(config{wrap: func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			// Events may be combined, CRDs of other tests lead to discovery, and watches are renewed.
			p := req.URL.Path
			if strings.Contains(p, "/namespaces/"+w.namespace+"/") && !strings.HasSuffix(p, "/events") && !strings.Contains(p, "/events/") || strings.Contains(p, "policies") || p == "/api/v1/namespaces/"+w.namespace {
				requests.Add(1)
				counted.Store(req.Method+" "+p, true)
			}
			return next.RoundTrip(req)
		})
	}})
	hr := w.release("app", map[string]any{"message": "zero"}, ours)
	w.untilReady(hr)
	upgrade := func(message string) int64 {
		t.Helper()
		w.quiet(hr)
		before := requests.Load()
		w.says(hr, message)
		w.untilMessage("app", message)
		w.untilReady(hr)
		w.quiet(hr)
		return requests.Load() - before
	}
	upgrade("one")
	without := upgrade("two")
	w.policy("all", v1alpha1.ReleasePolicySpec{Approval: v1alpha1.ApprovalNever})
	w.quiet(hr)
	if with := upgrade("three"); with != without || without == 0 {
		t.Errorf("%d requests with a policy, %d without", with, without)
		counted.Range(func(request, _ any) bool {
			t.Log(request)
			return true
		})
	}
}
