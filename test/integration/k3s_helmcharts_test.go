// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/base64"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"helm.sh/helm/v3/pkg/action"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/test/harness"
)

// k3sChart creates a HelmChart that Pintle manages, with a spec in YAML.
func (w *world) k3sChart(name, spec string, edit ...func(*cattlev1.HelmChart)) *cattlev1.HelmChart {
	w.t.Helper()
	c := &cattlev1.HelmChart{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: name, Annotations: map[string]string{cattlev1.AnnotationManagedBy: cattlev1.ManagedBy},
	}}
	w.must(yaml.UnmarshalStrict([]byte(spec), &c.Spec))
	for _, e := range edit {
		e(c)
	}
	w.must(suite.client.Create(w.t.Context(), c))
	return c
}

// k3sConfig creates a HelmChartConfig with a spec in YAML.
func (w *world) k3sConfig(name, spec string) *cattlev1.HelmChartConfig {
	w.t.Helper()
	c := &cattlev1.HelmChartConfig{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	w.must(yaml.UnmarshalStrict([]byte(spec), &c.Spec))
	w.must(suite.client.Create(w.t.Context(), c))
	return c
}

// editChart changes a HelmChart.
func (w *world) editChart(c *cattlev1.HelmChart, change func(*cattlev1.HelmChart)) {
	w.t.Helper()
	w.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(c), c))
		change(c)
		return suite.client.Update(w.t.Context(), c)
	}))
}

// k3sCondition returns a condition of a HelmChart.
func k3sCondition(c *cattlev1.HelmChart, kind string) cattlev1.HelmChartCondition {
	for _, condition := range c.Status.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return cattlev1.HelmChartCondition{}
}

// untilChart waits for a condition of a HelmChart.
func (w *world) untilChart(c *cattlev1.HelmChart, kind string, status metav1.ConditionStatus, text string) {
	w.t.Helper()
	await(w, c, "HelmChart "+c.Name+" with "+kind+"="+string(status)+" "+text, func(c *cattlev1.HelmChart) bool {
		got := k3sCondition(c, kind)
		return got.Status == status && strings.Contains(got.Reason+" "+got.Message, text)
	})
}

// madeFor waits for the HelmRelease of a HelmChart.
func (w *world) madeFor(c *cattlev1.HelmChart) *helmv2.HelmRelease {
	w.t.Helper()
	w.untilChart(c, cattlev1.ConditionJobCreated, metav1.ConditionTrue, "")
	hr := &helmv2.HelmRelease{}
	w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(c), hr))
	return hr
}

// fillFor makes the chart of a HelmRelease from a repository ready.
func (w *world) fillFor(hr *helmv2.HelmRelease, version string) {
	w.t.Helper()
	key := client.ObjectKey{Namespace: w.namespace, Name: hr.Namespace + "-" + hr.Name}
	untilTrue(w, "the HelmChart of source-controller", func() bool { _, found := w.helmChart(key); return found }, &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	w.fill(key, version)
}

// valuesOf returns the values of the newest revision of a release.
func (w *world) valuesOf(name string) map[string]any {
	w.t.Helper()
	got, err := action.NewGetValues(w.helmByHand()).Run(name)
	w.must(err)
	return got
}

const repoSpec = "chart: note\nrepo: https://charts.example\n"

// TestK3sHelmChart: a HelmChart installs a release by its own name, with the values of all layers. Its
// HelmChartConfig, Secrets and spec lead to new revisions.
func TestK3sHelmChart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("helm-web", "configmaps", "secrets")
	secret := func(name, content string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, StringData: map[string]string{"v": content}}
		w.must(suite.client.Create(t.Context(), s))
		return s
	}
	shown, ignored := secret("shown", "a: {d: secret}\nmessage: secret"), secret("ignored", "a: {e: ignored}")
	c := w.k3sChart("web", repoSpec+`
valuesContent: "a: {b: content, c: content}"
values: {a: {c: values, d: values}}
valuesSecrets: [{name: shown, keys: [v]}, {name: ignored, keys: [v], ignoreUpdates: true}, {name: absent, keys: [v], ignoreUpdates: true}]
set: {a.f: 7, a.g: "7", a.h: "true", "a.i[1]": "x,y"}
bootstrap: true
`)
	hr := w.madeFor(c)
	w.fillFor(hr, "1.0.0")
	w.untilRevision(hr, 1)
	w.untilChart(c, cattlev1.ConditionReady, metav1.ConditionTrue, "")
	w.untilChart(c, cattlev1.ConditionIgnored, metav1.ConditionTrue, "spec.bootstrap")
	if f := k3sCondition(c, cattlev1.ConditionFailed); f.Status != metav1.ConditionFalse || c.Status.JobName != "" {
		t.Errorf("status is %+v", c.Status)
	}
	if hr.Spec.ServiceAccountName != "helm-web" || w.configMap("web").Data["message"] != "secret" {
		t.Errorf("HelmRelease %+v", hr.Spec)
	}
	a, _ := w.valuesOf("web")["a"].(map[string]any)
	want := map[string]any{"b": "content", "c": "values", "d": "secret", "e": "ignored", "f": 7.0, "g": "7", "h": true, "i": []any{nil, "x,y"}}
	equalData(t, want, a)

	config := w.k3sConfig("web", "valuesContent: \"message: config\\na: {f: 8}\"")
	w.untilRevision(hr, 2)
	a, _ = w.valuesOf("web")["a"].(map[string]any)
	equalData(t, want, a)
	if got := w.configMap("web").Data["message"]; got != "config" {
		t.Errorf("the message is %q", got)
	}
	w.must(suite.client.Delete(t.Context(), config))
	w.untilRevision(hr, 3)

	ignored.StringData = map[string]string{"v": "a: {e: changed}"}
	w.must(suite.client.Update(t.Context(), ignored))
	shown.StringData = map[string]string{"v": "a: {d: secret}\nmessage: changed"}
	w.must(suite.client.Update(t.Context(), shown))
	w.untilRevision(hr, 4)
	a, _ = w.valuesOf("web")["a"].(map[string]any)
	equalData(t, want, a)
	if got := w.configMap("web").Data["message"]; got != "changed" {
		t.Errorf("the message is %q", got)
	}
}

func equalData(t *testing.T, want, got map[string]any) {
	t.Helper()
	a, _ := yaml.Marshal(want)
	b, _ := yaml.Marshal(got)
	if string(a) != string(b) {
		t.Errorf("want\n%s, got\n%s", a, b)
	}
}

// TestK3sRefused: a HelmChart that cannot be meant has condition Failed, and nothing is made for it.
func TestK3sRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.k3sChart("old", repoSpec+"helmVersion: v2")
	w.untilChart(old, cattlev1.ConditionFailed, metav1.ConditionTrue, "Only Helm v3 charts are supported")
	if k3sCondition(old, cattlev1.ConditionJobCreated).Status != metav1.ConditionFalse {
		t.Errorf("conditions are %+v", old.Status.Conditions)
	}
	c := w.k3sChart("web", repoSpec)
	w.untilChart(c, cattlev1.ConditionFailed, metav1.ConditionTrue, cattlev1.ReasonNoServiceAccount)
	hr := &helmv2.HelmRelease{}
	if err := suite.client.Get(t.Context(), client.ObjectKeyFromObject(c), hr); !apierrors.IsNotFound(err) {
		t.Errorf("there is a HelmRelease: %v", err)
	}
	w.must(suite.client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "helm-web"}}))
	w.fillFor(w.madeFor(c), "1.0.0")
	w.untilChart(c, cattlev1.ConditionReady, metav1.ConditionFalse, "helm-web")
}

// TestK3sManagedBy: only HelmCharts whose annotation names Pintle are touched. The finalizer of k3s is
// removed, and the release stays when the annotation is given back.
func TestK3sManagedBy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("helm-web", "configmaps", "secrets")
	withFinalizer := func(c *cattlev1.HelmChart) { c.Finalizers = []string{cattlev1.FinalizerK3s} }
	theirs := w.k3sChart("theirs", repoSpec, withFinalizer, func(c *cattlev1.HelmChart) { c.Annotations = nil })
	unmanaged := w.k3sChart("unmanaged", repoSpec, withFinalizer, func(c *cattlev1.HelmChart) { c.Annotations[cattlev1.AnnotationUnmanaged] = "true" })
	c := w.k3sChart("web", repoSpec, withFinalizer)
	hr := w.madeFor(c)
	w.fillFor(hr, "1.0.0")
	w.untilRevision(hr, 1)
	await(w, c, "the finalizer to go", func(c *cattlev1.HelmChart) bool { return len(c.Finalizers) == 0 })
	for _, left := range []*cattlev1.HelmChart{theirs, unmanaged} {
		version := left.ResourceVersion
		w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(left), left))
		if left.ResourceVersion != version {
			t.Errorf("HelmChart %s was changed: %+v", left.Name, left)
		}
	}

	w.editChart(c, func(c *cattlev1.HelmChart) { c.Annotations[cattlev1.AnnotationManagedBy] = "helm-controller" })
	w.untilGone(hr)
	if len(w.stored("web")) != 1 || w.configMap("web").Data["message"] != "default" {
		t.Error("the release is gone")
	}
	for _, object := range []client.Object{&sourcev1.HelmRepository{}, &sourcev1.HelmChart{}} {
		if err := suite.client.Get(t.Context(), client.ObjectKeyFromObject(c), object); !apierrors.IsNotFound(err) {
			t.Errorf("%T is left: %v", object, err)
		}
	}
}

// TestK3sRegistry: a chart in a registry comes from an OCIRepository, which the HelmChart owns.
func TestK3sRegistry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("helm-web", "configmaps", "secrets")
	c := w.k3sChart("web", "chart: oci://registry.example/charts/note\nversion: 1.0.0")
	hr := w.madeFor(c)
	repository := &sourcev1.OCIRepository{}
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(c), repository))
	if !metav1.IsControlledBy(repository, c) || repository.Spec.Reference.Tag != "1.0.0" {
		t.Errorf("OCIRepository %+v", repository)
	}
	w.publish("web", "1.0.0", configMapChart(t, "1.0.0"))
	w.untilRevision(hr, 1)
	// Another kind of chart needs another source.
	w.editChart(c, func(c *cattlev1.HelmChart) {
		c.Spec.Chart, c.Spec.Repo, c.Spec.Version = "note", "https://charts.example", ""
	})
	awaitGone(w, repository)
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(hr), hr))
	w.fillFor(hr, "1.0.0")
	w.until(hr, "Ready from the repository", func(hr *helmv2.HelmRelease) bool {
		return hr.Spec.Chart != nil && hr.Spec.ChartRef == nil && hr.Status.ObservedGeneration == hr.Generation && condition(hr, "Ready").Status == metav1.ConditionTrue
	})
}

// TestK3sArchives: a chart comes from an archive at a URL, and from the HelmChart itself. A change of
// either leads to a new revision.
func TestK3sArchives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("helm-web", "configmaps", "secrets")
	put := func(version string) string {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.artifacts["/archives/note-"+version+".tgz"] = configMapChart(t, version)
		return w.server.URL + "/archives/note-" + version + ".tgz"
	}
	c := w.k3sChart("web", "chart: "+put("1.0.0")+"\nversion: 9.9.9")
	hr := w.madeFor(c)
	w.untilRevision(hr, 1)
	w.editChart(c, func(c *cattlev1.HelmChart) { c.Spec.Chart = put("2.0.0") })
	w.untilRevision(hr, 2)
	if v := hr.Status.History[0].ChartVersion; v != "2.0.0" {
		t.Errorf("version %s of the chart is installed", v)
	}
	w.editChart(c, func(c *cattlev1.HelmChart) {
		c.Spec.ChartContent = base64.StdEncoding.EncodeToString(configMapChart(t, "3.0.0"))
	})
	w.untilRevision(hr, 3)
	if v := hr.Status.History[0].ChartVersion; v != "3.0.0" {
		t.Errorf("version %s of the chart is installed", v)
	}
	// The plugin reads the chart as the user.
	k := w.kubeconfig()
	w.expectPlugin(k, 0, "diff web", "no differences")
	w.expectPlugin(k, 1, "diff -f "+w.proposal(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"message":"other"}`)}
	}), "changed", "ConfigMap")
	w.editChart(c, func(c *cattlev1.HelmChart) { c.Spec.ChartContent, c.Spec.Chart = "", "http://127.0.0.2:1/note.tgz" })
	w.untilChart(c, cattlev1.ConditionFailed, metav1.ConditionTrue, "the address 127.0.0.2 is not public")
	w.untilChart(c, cattlev1.ConditionJobCreated, metav1.ConditionTrue, "")
}

// TestK3sGate: without the feature gate, nothing is read of HelmCharts, nor of what they need, and no other
// watch is started than without their controller.
func TestK3sGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var watches sync.Map
	own := w.ownController(config{wrap: func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			for _, part := range []string{"helm.cattle.io", "/helmrepositories", "/serviceaccounts"} {
				if strings.Contains(req.URL.Path, part) {
					t.Errorf("a request for %s", req.URL)
				}
			}
			if q := req.URL.Query(); q.Get("watch") != "" {
				watches.Store(strings.TrimSpace(req.URL.Path+" "+q.Get("labelSelector")+q.Get("fieldSelector")), true)
			}
			return next.RoundTrip(req)
		})
	}})
	w.account("helm-web", "configmaps", "secrets")
	w.publish("own", "1.0.0", configMapChart(t, "1.0.0"))
	w.untilReady(w.release("own", nil, own))
	of := "it.pintle.dev/controller=" + w.namespace
	want := []string{
		"/api/v1/configmaps reconcile.fluxcd.io/watch=Enabled", "/api/v1/pods ops.vworkspace.io/operation", "/api/v1/secrets owner=helm",
		"/api/v1/secrets reconcile.fluxcd.io/watch=Enabled", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
		"/apis/apiregistration.k8s.io/v1/apiservices", "/apis/batch/v1/jobs ops.vworkspace.io/operation",
		"/apis/helm.toolkit.fluxcd.io/v2/helmreleases " + of, "/apis/ops.vworkspace.io/v1alpha1/operations " + of,
		"/apis/pintle.dev/v1alpha1/clusterreleasepolicies", "/apis/pintle.dev/v1alpha1/releaseplans", "/apis/pintle.dev/v1alpha1/releasepolicies",
		"/apis/source.toolkit.fluxcd.io/v1/helmcharts", "/apis/source.toolkit.fluxcd.io/v1/ocirepositories",
	}
	watches.Range(func(watch, _ any) bool {
		if !slices.Contains(want, watch.(string)) {
			t.Errorf("a watch of %s", watch)
		}
		return true
	})
}

// TestK3sSample: the HelmChart of config/samples is accepted, with the account beside it.
func TestK3sSample(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	objects, err := harness.ReadObjects(filepath.Join(harness.Root(), "config", "samples", "helmchart"))
	w.must(err)
	c := &cattlev1.HelmChart{}
	for _, object := range objects {
		object.SetNamespace(w.namespace)
		if object.GetKind() == cattlev1.HelmChartKind {
			w.must(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, c, true))
		}
		// A subject of a RoleBinding has no namespace before kustomize.
		if object.GetKind() != "RoleBinding" {
			w.must(suite.client.Create(t.Context(), object))
		}
	}
	if hr := w.madeFor(c); hr.Spec.ServiceAccountName != "helm-hello" || hr.Spec.ChartRef == nil {
		t.Errorf("the HelmRelease is %+v", hr.Spec)
	}
}

// TestK3sInstalledLater: with the feature gate, a controller runs without the CRDs of k3s, and starts when
// they are installed.
func TestK3sInstalledLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	crds := lateCRDs{group: cattlev1.Group}
	ours := w.ownController(config{wrap: crds.wrap, helmCharts: controller.HelmCharts{Enabled: true}})
	c := w.k3sChart("web", repoSpec+"helmVersion: v2", func(c *cattlev1.HelmChart) { c.Labels = map[string]string{labelController: w.namespace} })
	w.publish("own", "1.0.0", configMapChart(t, "1.0.0"))
	w.untilReady(w.release("own", nil, ours))
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(c), c))
	if len(c.Status.Conditions) > 0 {
		t.Errorf("without its CRD it has %+v", c.Status.Conditions)
	}
	crds.installed.Store(true)
	w.define(w.namespace + ".example.com")
	w.untilChart(c, cattlev1.ConditionFailed, metav1.ConditionTrue, cattlev1.ReasonUnsupportedVersion)
}
