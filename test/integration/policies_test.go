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

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
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

// TestHelmChartRefused: the HelmChart of a refused spec.chart is not made, so that source-controller
// fetches nothing. The URL of the HelmRepository is compared with the allowed ones, and its index with
// the one that the HelmChart names.
func TestHelmChartRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy("exact", v1alpha1.ReleasePolicySpec{Charts: &v1alpha1.ChartPolicy{ExactVersions: true, Sources: []string{"https://charts.example.com/stable/*"}}})
	repo := w.helmRepository("https://charts.example.com/incubator/")
	hr := w.release("app", nil, templated(""), func(hr *helmv2.HelmRelease) { hr.Spec.Chart.Spec.Version = "1.x" })
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
	w.fill(inputs.TemplateKey(hr), "1.2.3")
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady, "HelmRepository '"+w.namespace+"/repo' has not been fetched since it was changed")
	w.fetch(repo)
	w.ask(hr, "again")
	w.untilReady(hr)
}

// TestSourceOfTenant: the artifact of a former spec is not used, and neither is a source that selects its
// proxy. A source with certificate authorities of its own keeps its installed release, which is warned,
// and is refused at the next change, unless the policy allows it.
func TestSourceOfTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	repo := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "app"}}
	edit := func(edit func(*sourcev1.OCIRepository)) {
		t.Helper()
		w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(repo), repo))
		edit(repo)
		w.must(suite.client.Update(t.Context(), repo))
		// source-controller observes the generation, even if it cannot fetch.
		repo.Status.ObservedGeneration = repo.Generation
		w.must(suite.client.Status().Update(t.Context(), repo))
	}
	stored := func() {
		t.Helper()
		apimeta.SetStatusCondition(&repo.Status.Conditions, metav1.Condition{
			Type: sourcev1.ArtifactInStorageCondition, Status: metav1.ConditionTrue, Reason: "Succeeded", ObservedGeneration: repo.Generation,
		})
		w.must(suite.client.Status().Update(t.Context(), repo))
	}
	sources := w.policy("sources", v1alpha1.ReleasePolicySpec{Charts: &v1alpha1.ChartPolicy{Sources: []string{"oci://localhost/charts/*"}}})
	hr := w.release("app", map[string]any{"message": "one"})
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady, "its artifact is not known to be of its latest generation")
	// The cache of the controller may not have the source yet, and its change triggers no reconciliation of
	// a release that has the revision.
	asks := 0
	asking := func(what string, found func() bool) {
		t.Helper()
		untilTrue(w, what, func() bool {
			asks++
			w.ask(hr, fmt.Sprint(asks))
			return found()
		})
	}
	edit(func(*sourcev1.OCIRepository) {})
	stored()
	asking("the release to be ready", func() bool { return condition(hr, helmv2.ConditionReady).Status == metav1.ConditionTrue })
	w.untilReady(hr)

	edit(func(o *sourcev1.OCIRepository) { o.Spec.CertSecretRef = &fluxmeta.LocalObjectReference{Name: "own"} })
	stored()
	asking("a warning", func() bool {
		return w.hasEvent(hr, corev1.EventTypeWarning, helmv2.ReasonPolicyRefused, "has spec.certSecretRef", "Its next install or upgrade is refused")
	})
	w.untilReady(hr)
	w.says(hr, "two")
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonPolicyRefused, "has spec.certSecretRef", "(spec.charts.transport)")
	before := sources.DeepCopy()
	sources.Spec.Charts.Transport = v1alpha1.TransportAny
	w.must(suite.client.Patch(t.Context(), sources, client.MergeFrom(before)))
	w.untilMessage("app", "two")
	w.untilReady(hr)

	edit(func(o *sourcev1.OCIRepository) { o.Spec.ProxySecretRef = &fluxmeta.LocalObjectReference{Name: "proxy"} })
	stored()
	asking("a refusal", func() bool { return condition(hr, helmv2.ConditionReady).Reason == helmv2.ReasonPolicyRefused })
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonPolicyRefused, "has spec.proxySecretRef", "(spec.charts.sources)")
}

// lateCRDs answers requests for the kinds of a group with 404 while their CRDs are not installed.
type lateCRDs struct {
	group     string
	installed atomic.Bool
	// listed are the resources whose list the API server has answered, and received those whose
	// watch has begun since.
	listed, received sync.Map
}

// untilListed waits until the controller has received lists of both kinds of policies: it has sent the
// next request, which is a watch.
func (p *lateCRDs) untilListed(w *world) {
	w.t.Helper()
	for _, resource := range []string{"releasepolicies", "clusterreleasepolicies"} {
		untilTrue(w, "a list of "+resource, func() bool {
			_, received := p.received.Load(resource)
			return received
		})
	}
}

// wrap implements the wrapper of a transport. Open watches end when the CRDs are deleted.
func (p *lateCRDs) wrap(next http.RoundTripper) http.RoundTripper {
	return transport(func(req *http.Request) (*http.Response, error) {
		if !strings.Contains(req.URL.Path, "/apis/"+p.group+"/") {
			return next.RoundTrip(req)
		}
		if !p.installed.Load() {
			body, err := json.Marshal(metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
			})
			return &http.Response{StatusCode: http.StatusNotFound, Body: io.NopCloser(bytes.NewReader(body)), Header: http.Header{"Content-Type": {"application/json"}}, Request: req}, err
		}
		resource := path.Base(req.URL.Path)
		if req.URL.Query().Get("watch") == "" {
			defer func() { p.listed.Store(resource, true) }()
			return next.RoundTrip(req)
		}
		if _, listed := p.listed.Load(resource); listed {
			p.received.Store(resource, true)
		}
		ctx, cancel := context.WithCancel(req.Context())
		go func() {
			defer cancel()
			for p.installed.Load() && ctx.Err() == nil {
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
	crds := lateCRDs{group: v1alpha1.Group}
	ours := w.ownController(config{wrap: crds.wrap})
	// The controller cannot receive it yet.
	freeze := &v1alpha1.ReleasePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "incident"}, Spec: v1alpha1.ReleasePolicySpec{Freeze: "incident 4711"},
	}
	w.must(suite.client.Create(t.Context(), freeze))
	hr := w.release("app", map[string]any{"message": "one"}, ours)
	w.untilReady(hr)
	crds.installed.Store(true)
	w.define(w.namespace + ".example.com")
	crds.untilListed(w)
	w.says(hr, "two")
	w.untilHeldBy(hr, helmv2.ReasonFrozen)
	// The CRDs are deleted.
	w.must(suite.client.Delete(t.Context(), freeze))
	w.untilReady(hr)
	crds.installed.Store(false)
	w.says(hr, "three")
	w.untilMessage("app", "three")
	w.untilReady(hr)
}
