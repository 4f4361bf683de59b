// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// patience bounds each wait. It is generous: other people use the machine too.
const patience = 2 * time.Minute

type values map[string]any

// world is one test's namespace, and its part of the registry by the same name.
type world struct {
	*testing.T
	namespace string
}

func newWorld(t *testing.T) world {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	w := world{T: t}
	w.must(env.Client.Create(t.Context(), ns))
	w.namespace = ns.Name
	return w
}

func (w world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// bounded is a context for one wait.
func (w world) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.Context(), patience)
}

func (w world) get(name string, into client.Object) {
	w.Helper()
	w.must(env.Client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, into))
}

// push packs test/charts/hello under a version and pushes it.
func (w world) push(version string) {
	w.Helper()
	archive, err := harness.HelloChart(version)
	w.must(err)
	w.must(env.Registry.PushChart(w.Context(), w.namespace, archive))
}

// source creates an OCIRepository for the newest hello at a registry. Its interval is long: tests
// request reconciliations of it.
func (w world) source(name, address string) *sourcev1.OCIRepository {
	w.Helper()
	o := &sourcev1.OCIRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: sourcev1.OCIRepositorySpec{
			URL: "oci://" + address + "/" + w.namespace + "/hello", Insecure: true,
			Interval:  metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.OCIRepositoryRef{SemVer: ">=0.0.0"},
			LayerSelector: &sourcev1.OCILayerSelector{
				MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Operation: sourcev1.OCILayerCopy,
			},
		},
	}
	w.must(env.Client.Create(w.Context(), o))
	return o
}

// ask requests a reconciliation of a source.
func (w world) ask(o client.Object) {
	w.Helper()
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		w.Fatalf("%T is no object", o)
	}
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[fluxmeta.ReconcileRequestAnnotation] = time.Now().Format(time.RFC3339Nano)
	o.SetAnnotations(annotations)
	w.must(env.Client.Patch(w.Context(), o, client.MergeFrom(before)))
}

// release creates a HelmRelease that takes its chart from an OCIRepository.
func (w world) release(name, source string, v values) *helmv2.HelmRelease {
	w.Helper()
	hr := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: helmv2.HelmReleaseSpec{
			Interval: metav1.Duration{Duration: time.Hour},
			Timeout:  &metav1.Duration{Duration: patience},
			ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: source},
			Values:   w.raw(v),
		},
	}
	w.must(env.Client.Create(w.Context(), hr))
	return hr
}

func (w world) raw(v values) *apiextensionsv1.JSON {
	w.Helper()
	if v == nil {
		return nil
	}
	content, err := json.Marshal(v)
	w.must(err)
	return &apiextensionsv1.JSON{Raw: content}
}

// edit changes a HelmRelease with retries on conflicts.
func (w world) edit(hr *helmv2.HelmRelease, change func(*helmv2.HelmRelease)) {
	w.Helper()
	w.get(hr.Name, hr)
	before := hr.DeepCopy()
	change(hr)
	w.must(env.Client.Patch(w.Context(), hr, client.MergeFrom(before)))
}

// until waits until hr satisfies a condition, and updates hr. It fails at once if hr is stalled.
func (w world) until(hr *helmv2.HelmRelease, what string, wanted func(*helmv2.HelmRelease) bool) {
	w.Helper()
	ctx, cancel := w.bounded()
	defer cancel()
	var met bool
	got, err := env.WaitRelease(ctx, client.ObjectKeyFromObject(hr), what, func(hr *helmv2.HelmRelease) bool {
		met = wanted(hr)
		return met || refused(hr)
	})
	w.must(err)
	*hr = *got
	if !met {
		w.Fatalf("HelmRelease %s was %s, but is refused:\n%s", hr.Name, what, harness.Summary(hr))
	}
}

func refused(hr *helmv2.HelmRelease) bool {
	stalled := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionStalled)
	return stalled != nil && stalled.Reason == helmv2.ReasonUnsupportedField && stalled.ObservedGeneration == hr.Generation
}

// ready waits until hr is ready with a number of revisions made.
func (w world) ready(hr *helmv2.HelmRelease, revision int) {
	w.Helper()
	w.until(hr, "to be ready", harness.Ready)
	if got := hr.Status.History[0].Version; got != revision {
		w.Fatalf("revision %d, want %d\n%s", got, revision, harness.Summary(hr))
	}
}

// says waits until a condition has a status, a reason, and all parts in its message.
func (w world) says(hr *helmv2.HelmRelease, condition string, status metav1.ConditionStatus, reason string, parts ...string) {
	w.Helper()
	what := "to say " + condition + "=" + string(status) + " " + reason + ", naming " + strings.Join(parts, ", ")
	w.until(hr, what, func(hr *helmv2.HelmRelease) bool {
		c := apimeta.FindStatusCondition(hr.Status.Conditions, condition)
		if c == nil || c.Status != status || c.Reason != reason {
			return false
		}
		for _, part := range parts {
			if !strings.Contains(c.Message, part) {
				return false
			}
		}
		return true
	})
}
