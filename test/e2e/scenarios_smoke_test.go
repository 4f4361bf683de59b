// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"strings"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// sampleRegistry is where config/samples expects its chart.
const sampleRegistry = "oci://127.0.0.1:5000/charts/"

// samples: the releases of config/samples work, including tests, even if the chart comes from Git
// or an HTTP repository.
func samples(w world) {
	w.push("0.1.0")
	hello, err := harness.LoadChart("hello")
	w.Must(err)
	archive, err := harness.Pack(hello)
	w.Must(err)
	w.Must(env.charts.Add(w.Namespace, archive))
	w.Must(env.git.Commit(w.Context(), w.Namespace, hello))

	objects, err := harness.ReadObjects(filepath.Join(harness.Root(), "config", "samples"))
	w.Must(err)
	var all, tested []*helmv2.HelmRelease
	for _, o := range objects {
		if url, found, _ := unstructured.NestedString(o.Object, "spec", "chart", "spec", "url"); found {
			local := strings.Replace(url, sampleRegistry, "oci://"+env.Registry.Address+"/"+w.Namespace+"/", 1)
			w.Must(unstructured.SetNestedField(o.Object, local, "spec", "chart", "spec", "url"))
		}
		if o.GetKind() == helmv2.HelmReleaseKind {
			w.Must(unstructured.SetNestedField(o.Object, true, "spec", "test", "enable"))
			tested = append(tested, &helmv2.HelmRelease{ObjectMeta: w.Meta(o.GetName())})
		}
		w.Must(env.Apply(w.Context(), w.Namespace, o))
	}
	w.Create(w.repository(), w.clone())
	for name, chart := range map[string]helmv2.HelmReleaseSpec{
		"from-git":  w.chartOf(sourcev1.GitRepositoryKind, "git", "./charts/hello"),
		"from-helm": w.chartOf(sourcev1.HelmRepositoryKind, "charts", "hello"),
	} {
		hr := w.Draft(name, chart, values{"message": "hello from " + name})
		w.Create(hr)
		all = append(all, hr)
	}
	for _, hr := range all {
		w.UntilRevision(hr, 1)
	}
	if len(tested) == 0 {
		w.Error("there is no sample")
	}
	for _, hr := range tested {
		w.UntilRevision(hr, 1)
		if !apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionTestSuccess) {
			w.Errorf("it is ready, but not tested:\n%s", harness.Summary(hr))
		}
	}
}

// repository is this world's folder of the HTTP repository, and clone its
// repository in Git.
func (w world) repository() *sourcev1.HelmRepository {
	return &sourcev1.HelmRepository{
		ObjectMeta: w.Meta("charts"),
		Spec:       sourcev1.HelmRepositorySpec{URL: env.charts.URL(w.Namespace), Interval: metav1.Duration{Duration: time.Hour}},
	}
}

func (w world) clone() *sourcev1.GitRepository {
	return &sourcev1.GitRepository{
		ObjectMeta: w.Meta("git"),
		Spec: sourcev1.GitRepositorySpec{
			URL: env.git.URL(w.Namespace), Interval: metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.GitRepositoryRef{Branch: harness.GitBranch},
		},
	}
}

func helmRepository(w world) {
	archive, err := harness.Pack(w.fickle("0.1.0"))
	w.Must(err)
	w.Must(env.charts.Add(w.Namespace, archive))
	hr := w.Draft("play", w.chartOf(sourcev1.HelmRepositoryKind, "charts", "fickle"), nil)
	hr.Spec.Chart.Spec.Version = ">=0.1.0 <1.0.0"
	w.Create(w.repository(), hr)
	w.UntilRevision(hr, 1)
	for _, entry := range hr.Status.Inventory.Entries {
		if strings.Contains(entry.ID, "_Deployment") {
			return
		}
	}
	w.Errorf("no Deployment in the inventory: %v", hr.Status.Inventory.Entries)
}

func gitRepository(w world) {
	w.Must(env.git.Commit(w.Context(), w.Namespace, w.fickle("0.1.0")))
	hr := w.Draft("play", w.chartOf(sourcev1.GitRepositoryKind, "git", "./charts/fickle"), nil)
	w.Create(w.clone(), hr)
	w.UntilRevision(hr, 1)
}

// ociRepository is this world's part of the registry, as a HelmRepository.
func (w world) ociRepository() *sourcev1.HelmRepository {
	return &sourcev1.HelmRepository{
		ObjectMeta: w.Meta("charts"),
		Spec: sourcev1.HelmRepositorySpec{
			Type: sourcev1.HelmRepositoryTypeOCI, URL: "oci://" + env.Registry.Address + "/" + w.Namespace, Insecure: true,
		},
	}
}

// ociVerified: a chart without the required signature is rejected until it is signed.
func ociVerified(w world) {
	w.Publish(w.fickle("0.1.0"))
	repository := w.Namespace + "/fickle"
	stranger, err := harness.NewSigner()
	w.Must(err)
	w.Must(stranger.Sign(w.Context(), env.Registry, repository, "0.1.0"))
	signer := w.key()

	hr := w.Draft("play", w.chartOf(sourcev1.HelmRepositoryKind, "charts", "fickle"), nil)
	hr.Spec.Chart.Spec.Version = "0.1.0"
	hr.Spec.Chart.Spec.Verify = &helmv2.HelmChartTemplateVerification{
		Provider: helmv2.VerificationCosign, SecretRef: &helmv2.LocalObjectReference{Name: "key"},
	}
	w.Create(w.ociRepository(), hr)
	w.UntilCondition(hr, helmv2.ConditionReady, no, helmv2.ReasonSourceNotReady, "verif")

	w.Must(signer.Sign(w.Context(), env.Registry, repository, "0.1.0"))
	chart := &sourcev1.HelmChart{}
	w.Get(w.Namespace+"-play", chart)
	w.requestReconciliation(chart)
	w.UntilRevision(hr, 1)
}

// jobTTL: the Job of a hook may be deleted before its completion was observed.
func jobTTL(w world) {
	hr := w.play(values{"hook": values{"when": "post-install", "ttl": 0}})
	w.UntilRevision(hr, 1)
}

// dependencies: the frontend waits until the backend is ready, not only there.
func dependencies(w world) {
	backend := w.play(values{"podAnnotations": values{"simulate.pintle.dev/delay": "2s"}})
	frontend := w.Draft("frontend", fixture.ChartRef(helmv2.KindOCIRepository, "fickle"), nil)
	frontend.Spec.DependsOn = []helmv2.DependencyReference{{Name: backend.Name}}
	w.Create(frontend)
	w.UntilRevision(frontend, 1)
	w.UntilRevision(backend, 1)
	began := frontend.Status.History[0].FirstDeployed
	ready := apimeta.FindStatusCondition(backend.Status.Conditions, helmv2.ConditionReady).LastTransitionTime
	if began.Before(&ready) {
		w.Errorf("the frontend was installed at %s, before the backend was ready at %s", began, ready)
	}
}

// valuesFrom: files are merged, paths are set, inline values too.
func valuesFrom(w world) {
	w.Create(
		&corev1.ConfigMap{ObjectMeta: w.Meta("values"), Data: map[string]string{
			"first.yaml":  "resources:\n  limits:\n    cpu: 100m\n    memory: 64Mi\n",
			"second.yaml": "resources:\n  limits:\n    cpu: 200m\n",
			"cpu":         "400m",
			"list":        "{a,b,c}",
			"third":       "d",
			"env":         "production",
		}},
		&corev1.Secret{ObjectMeta: w.Meta("values"), StringData: map[string]string{"values.yaml": "secret:\n  word: pintle\n"}},
	)
	from := func(key, path string) helmv2.ValuesReference {
		return helmv2.ValuesReference{Kind: helmv2.KindConfigMap, Name: "values", ValuesKey: key, TargetPath: path}
	}
	hr := w.play(values{"replicas": 2}, func(spec *helmv2.HelmReleaseSpec) {
		spec.ValuesFrom = []helmv2.ValuesReference{
			from("first.yaml", ""), from("second.yaml", ""),
			from("cpu", "resources.limits.cpu"),
			from("list", "list"), from("third", "list[2]"),
			from("env", `podAnnotations.some\.k8s\.annotation/env`),
			{Kind: helmv2.KindSecret, Name: "values"},
		}
	})
	w.UntilRevision(hr, 1)
	w.equal("helm get values", w.revisions(hr, 1)[0].Config, map[string]any{
		"replicas":       2.0,
		"resources":      map[string]any{"limits": map[string]any{"cpu": "400m", "memory": "64Mi"}},
		"list":           []any{"a", "b", "d"},
		"podAnnotations": map[string]any{"some.k8s.annotation/env": "production"},
		"secret":         map[string]any{"word": "pintle"},
	})
}

func targetNamespace(w world) {
	target := w.another()
	hr := w.play(nil, func(spec *helmv2.HelmReleaseSpec) { spec.TargetNamespace = target.Namespace })
	w.UntilRevision(hr, 1)
	target.deployment(target.Namespace + "-play-fickle")
}

func createTargetNamespace(w world) {
	target := w
	target.Namespace += "-target"
	hr := w.play(nil, func(spec *helmv2.HelmReleaseSpec) {
		spec.TargetNamespace = target.Namespace
		spec.Install = &helmv2.Install{CreateNamespace: true}
	})
	w.UntilRevision(hr, 1)
	target.deployment(target.Namespace + "-play-fickle")
}

func fromHelmChart(w world) {
	w.Publish(w.fickle("0.1.0"))
	w.Must(w.key().Sign(w.Context(), env.Registry, w.Namespace+"/fickle", "0.1.0"))
	chart := &sourcev1.HelmChart{
		ObjectMeta: w.Meta("fickle"),
		Spec: sourcev1.HelmChartSpec{
			Chart: "fickle", Version: "0.1.0", Interval: metav1.Duration{Duration: time.Hour},
			SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: sourcev1.HelmRepositoryKind, Name: "charts"},
			Verify: &sourcev1.HelmChartVerification{
				Provider: "cosign", SecretRef: &fluxmeta.LocalObjectReference{Name: "key"},
			},
		},
	}
	hr := w.Draft("play", fixture.ChartRef(helmv2.KindHelmChart, "fickle"), nil)
	w.Create(w.ociRepository(), chart, hr)
	w.UntilRevision(hr, 1)
}

func fromOCIRepository(w world) {
	hr := w.play(nil)
	w.UntilRevision(hr, 1)
	digest, err := env.Registry.Digest(w.Context(), w.Namespace+"/fickle", "0.1.0")
	w.Must(err)
	w.equal("ociDigest", hr.Status.History[0].OCIDigest, digest)
}

func postRendererKustomize(w world) {
	merge := helmv2.Patch{
		Patch: "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: play-fickle\n  labels:\n    xxxx: yyyy\n",
	}
	add := helmv2.Patch{
		Target: &helmv2.Selector{Group: "apps", Version: "v1", Kind: "Deployment", Name: "play-fickle"},
		Patch:  "- op: add\n  path: /metadata/labels/yyyy\n  value: xxxx\n",
	}
	hr := w.play(nil, func(spec *helmv2.HelmReleaseSpec) {
		spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []helmv2.Patch{merge, add}}}}
	})
	w.UntilRevision(hr, 1)
	labels := w.deployment("play-fickle").Labels
	w.equal("label xxxx", labels["xxxx"], "yyyy")
	w.equal("label yyyy", labels["yyyy"], "xxxx")
}
