// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// templated makes a HelmRelease use a HelmChart in a namespace.
func templated(namespace string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Spec.ChartRef, hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{}
		hr.Spec.Chart.Spec.Chart = "note"
		hr.Spec.Chart.Spec.SourceRef = helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "repo", Namespace: namespace}
	}
}

func (w *world) helmChart(key client.ObjectKey) (*sourcev1.HelmChart, bool) {
	w.t.Helper()
	chart := &sourcev1.HelmChart{}
	err := suite.client.Get(w.t.Context(), key, chart)
	if !apierrors.IsNotFound(err) {
		w.must(err)
	}
	return chart, err == nil
}

// fill sets the status of a HelmChart like source-controller.
func (w *world) fill(key client.ObjectKey, version string) {
	w.t.Helper()
	w.fillWith(key, version, configMapChart(w.t, version))
}

func (w *world) fillWith(key client.ObjectKey, version string, archive []byte) {
	w.t.Helper()
	path := "/" + key.Name + "-" + version + ".tgz"
	w.mu.Lock()
	w.artifacts[path] = archive
	w.mu.Unlock()
	// The controller may apply the HelmChart again before its cache shows it.
	w.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		chart, found := w.helmChart(key)
		if !found {
			return fmt.Errorf("there is no HelmChart %s", key)
		}
		chart.Status.ObservedGeneration = chart.Generation
		chart.Status.Artifact = &fluxmeta.Artifact{
			URL: w.server.URL + path, Path: path[1:], Digest: digest.SHA256.FromBytes(archive).String(),
			Revision: version, LastUpdateTime: metav1.Now(),
		}
		chart.Status.ObservedSourceArtifactRevision = indexRevision
		apimeta.SetStatusCondition(&chart.Status.Conditions, metav1.Condition{
			Type: sourcev1.ArtifactInStorageCondition, Status: metav1.ConditionTrue, Reason: "Succeeded", ObservedGeneration: chart.Generation,
		})
		return suite.client.Status().Update(w.t.Context(), chart)
	}))
}

// indexRevision is the revision of HelmRepositories.
const indexRevision = "sha256:index"

// helmRepository creates the HelmRepository of templated HelmReleases.
func (w *world) helmRepository(url string) *sourcev1.HelmRepository {
	w.t.Helper()
	repo := &sourcev1.HelmRepository{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "repo"}}
	repo.Spec.URL, repo.Spec.Interval = url, metav1.Duration{Duration: time.Hour}
	w.must(suite.client.Create(w.t.Context(), repo))
	return repo
}

// fetch makes a HelmRepository ready, as source-controller does.
func (w *world) fetch(repo *sourcev1.HelmRepository) {
	w.t.Helper()
	repo.Status.ObservedGeneration = repo.Generation
	repo.Status.Artifact = &fluxmeta.Artifact{
		URL: w.server.URL + "/index", Path: "index", Digest: digest.SHA256.FromString("").String(), Revision: indexRevision, LastUpdateTime: metav1.Now(),
	}
	w.must(suite.client.Status().Update(w.t.Context(), repo))
}

// TestChartNotFound: a chart that source-controller does not find is a failure of the HelmChart, for the
// conditions and for the plugin, and no wait for its repository.
func TestChartNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.release("absent", nil, templated(""))
	key := inputs.TemplateKey(hr)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady, "HelmChart '"+key.String()+"' is not ready")
	w.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		chart, _ := w.helmChart(key)
		chart.Status.ObservedGeneration = chart.Generation
		apimeta.SetStatusCondition(&chart.Status.Conditions, metav1.Condition{
			Type: "Ready", Status: metav1.ConditionFalse, Reason: "InvalidChartReference", ObservedGeneration: chart.Generation,
			Message: "invalid chart reference: failed to get chart version for remote reference: no 'note' chart with version matching '*' found",
		})
		return suite.client.Status().Update(t.Context(), chart)
	}))
	w.untilSays(hr, helmv2.ConditionFailing, metav1.ConditionTrue, helmv2.FailureSource, "HelmChart '"+key.String()+"'", "no 'note' chart")
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady, "no 'note' chart")
	k := w.kubeconfig()
	w.expectPlugin(k, 0, "get absent", "Failing", helmv2.FailureSource)
	w.expectPlugin(k, 0, "why absent", "/absent is failing (SourceNotReady)", "Cause: HelmChart '"+key.String()+"'")
	w.expectPlugin(k, 1, "reconcile absent", "no 'note' chart")
	if _, output := w.plugin(k, "get", "absent", "-o", "json"); strings.Contains(output, "waitingFor") {
		t.Errorf("it waits for something:\n%s", output)
	}
}

func TestHelmChartOfARelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.release("own", nil, templated(""))
	key := inputs.TemplateKey(hr)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady, "HelmChart '"+key.String()+"' is not ready")
	w.untilEvent(hr, corev1.EventTypeNormal, helmv2.EventReasonHelmChartCreated,
		"Created HelmChart/"+key.String()+" with SourceRef 'HelmRepository/"+w.namespace+"/repo'")
	w.fill(key, "1.0.0")
	w.untilReady(hr)
	if w.hasEvent(hr, corev1.EventTypeWarning, helmv2.ReasonArtifactFailed, "could not get Source object") {
		t.Error("a HelmChart that was made just now is no failure")
	}

	// The artifact has the old version, so it is not used.
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Chart.Spec.Version = "2.0.0"
		hr.Spec.Values = rawValues(t, map[string]any{"message": "two"})
	})
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady, "latest generation of object has not been reconciled")
	w.untilEvent(hr, corev1.EventTypeNormal, helmv2.EventReasonHelmChartConfigured, "Configured HelmChart/"+key.String())
	w.fill(key, "2.0.0")
	w.untilReady(hr)
	if newest(hr) != 2 || hr.Status.History[0].ChartVersion != "2.0.0" {
		t.Errorf("the new values went with the old chart: %+v", hr.Status.History)
	}

	// While suspended, it is kept even if it is needed no longer.
	w.publish("own", "3.0.0", configMapChart(t, "3.0.0"))
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Suspend, hr.Spec.Chart = true, nil
		hr.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "own"}
	})
	w.quiet(hr)
	if _, found := w.helmChart(key); !found {
		t.Error("a suspended release lost its HelmChart")
	}
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
	w.untilReady(hr)
	if _, found := w.helmChart(key); found || hr.Status.HelmChart != "" {
		t.Errorf("the HelmChart is left, and noted as %q", hr.Status.HelmChart)
	}
	w.untilEvent(hr, corev1.EventTypeNormal, helmv2.EventReasonHelmChartDeleted, "Deleted HelmChart/"+key.String())
}

// TestHelmChartLosesMetadata: metadata that left the template is removed; metadata of other clients
// stays.
func TestHelmChartLosesMetadata(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.release("meta", nil, templated(""), func(hr *helmv2.HelmRelease) {
		hr.Spec.Chart.ObjectMeta = &helmv2.HelmChartTemplateObjectMeta{Labels: map[string]string{"team": "one", "tier": "web"}}
	})
	key := inputs.TemplateKey(hr)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady)
	chart, _ := w.helmChart(key)
	before := chart.DeepCopy()
	chart.Labels["by"] = "hand"
	// The patch succeeds despite concurrent writes of the controller.
	w.must(suite.client.Patch(t.Context(), chart, client.MergeFrom(before)))
	w.fill(key, "1.0.0")
	w.untilReady(hr)
	w.edit(hr, func(hr *helmv2.HelmRelease) { delete(hr.Spec.Chart.ObjectMeta.Labels, "team") })
	w.until(hr, "a HelmChart without the label", func(*helmv2.HelmRelease) bool {
		chart, _ = w.helmChart(key)
		_, stays := chart.Labels["team"]
		return !stays
	})
	if chart.Labels["tier"] != "web" || chart.Labels["by"] != "hand" {
		t.Errorf("the HelmChart has labels %v", chart.Labels)
	}
}

func TestHelmChartMadeByHand(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	byHand := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.namespace + "-taken", Labels: map[string]string{"by": "hand"}}}
	byHand.Spec = sourcev1.HelmChartSpec{
		Chart: "other", Interval: metav1.Duration{Duration: time.Minute},
		SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: "HelmRepository", Name: "other"},
	}
	w.must(suite.client.Create(t.Context(), byHand))
	hr := w.release("taken", nil, templated(""))
	w.until(hr, "its HelmChart", func(hr *helmv2.HelmRelease) bool { return hr.Status.HelmChart != "" })
	chart, _ := w.helmChart(client.ObjectKeyFromObject(byHand))
	if chart.Spec.Chart != "note" || chart.Labels["by"] != "hand" || chart.Labels[helmv2.LabelName] != "taken" {
		t.Errorf("it was not taken over: %v %+v", chart.Labels, chart.Spec)
	}
}

// TestHelmChartsOfOneName is about a-b/c and a/b-c.
func TestHelmChartsOfOneName(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w, v := newWorld(t), newWorld(t)
	v.namespace = w.namespace + "-b"
	v.must(suite.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v.namespace}}))
	first := w.release("b-c", nil, templated(w.namespace))
	key := inputs.TemplateKey(first)
	w.until(first, "its HelmChart", func(hr *helmv2.HelmRelease) bool { return hr.Status.HelmChart == key.String() })
	w.fill(key, "1.0.0")
	w.untilReady(first)

	second := v.release("c", nil, templated(w.namespace), func(hr *helmv2.HelmRelease) { hr.Spec.Chart.Spec.Chart = "another" })
	if inputs.TemplateKey(second) != key {
		t.Fatalf("the names differ: %s", inputs.TemplateKey(second))
	}
	v.untilSays(second, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonContested,
		"HelmChart '"+key.String()+"' belongs to HelmRelease '"+w.namespace+"/b-c'")
	chart, _ := w.helmChart(key)
	if chart.Spec.Chart != "note" || chart.Labels[helmv2.LabelNamespace] != w.namespace {
		t.Errorf("it was overwritten: %v %+v", chart.Labels, chart.Spec)
	}

	// A HelmRelease that does not own the HelmChart does not delete it.
	v.must(suite.client.Delete(t.Context(), second))
	v.untilGone(second)
	if _, found := w.helmChart(key); !found {
		t.Fatal("it was deleted by the one it does not belong to")
	}

	// After its owner is gone, the HelmChart can be adopted.
	second = v.release("c", nil, templated(w.namespace))
	v.untilSays(second, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonContested)
	w.must(suite.client.Delete(t.Context(), first))
	w.untilGone(first)
	v.untilSays(second, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady)
	if chart, _ := w.helmChart(key); chart.Labels[helmv2.LabelNamespace] != v.namespace {
		t.Errorf("it belongs to %v", chart.Labels)
	}
}

// TestHelmChartThatChangedHands: a HelmRelease whose status names a HelmChart of another owner does
// not change it.
func TestHelmChartThatChangedHands(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	hr := w.release("seller", nil, templated(""))
	key := inputs.TemplateKey(hr)
	w.until(hr, "its HelmChart", func(hr *helmv2.HelmRelease) bool { return hr.Status.HelmChart == key.String() })
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	w.untilObserved(hr)
	chart, _ := w.helmChart(key)
	chart.Labels[helmv2.LabelName] = "buyer"
	w.must(suite.client.Update(t.Context(), chart))
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Suspend, hr.Spec.Chart = false, nil
		hr.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "none"}
	})
	w.until(hr, "its note to be cleared", func(hr *helmv2.HelmRelease) bool { return hr.Status.HelmChart == "" })
	if _, found := w.helmChart(key); !found {
		t.Error("another one's HelmChart was deleted")
	}
}

func TestNoCrossNamespaceRefs(t *testing.T) {
	t.Parallel()
	w, sources := newWorld(t), newWorld(t)
	locked := w.ownController(config{settings: inputs.Settings{NoCrossNamespaceRefs: true}})
	sources.publish("shared", "1.0.0", configMapChart(t, "1.0.0"))

	ref := w.release("shared", nil, locked, func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Namespace = sources.namespace })
	w.untilSays(ref, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonAccessDenied,
		"cross-namespace references are not allowed: cannot access OCIRepository "+sources.namespace+"/shared")
	w.untilSays(ref, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonAccessDenied)
	w.untilEvent(ref, corev1.EventTypeWarning, helmv2.ReasonAccessDenied)

	template := w.release("template", nil, locked, templated(sources.namespace))
	key := inputs.TemplateKey(template)
	w.untilSays(template, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonAccessDenied, "cannot access HelmChart "+key.String())
	w.untilEvent(template, corev1.EventTypeWarning, helmv2.ReasonAccessDenied)
	if _, found := w.helmChart(key); found {
		t.Error("the HelmChart was made all the same")
	}

	// One that was made before the door was closed stays where it is.
	before := w.release("before", nil, templated(sources.namespace))
	key = inputs.TemplateKey(before)
	w.until(before, "its HelmChart", func(hr *helmv2.HelmRelease) bool { return hr.Status.HelmChart == key.String() })
	w.edit(before, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	w.untilObserved(before)
	w.edit(before, func(hr *helmv2.HelmRelease) { locked(hr); hr.Spec.Suspend = false })
	w.untilSays(before, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonAccessDenied)
	w.must(suite.client.Delete(t.Context(), before))
	w.untilGone(before)
	w.untilLeftBehind(before, key)
}

func (w *world) untilLeftBehind(hr *helmv2.HelmRelease, key client.ObjectKey) {
	w.t.Helper()
	if _, found := w.helmChart(key); !found {
		w.t.Error("the HelmChart in another namespace was deleted")
	}
	w.warned(hr, helmv2.ReasonAccessDenied, "left behind HelmChart/"+key.String())
}
