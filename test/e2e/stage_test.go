// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

const (
	// shortly is the timeout of actions that must fail.
	shortly = 3 * time.Second

	// Abbreviations for the statuses of conditions.
	yes = metav1.ConditionTrue
	no  = metav1.ConditionFalse
)

// conditions are statuses of conditions by type.
type conditions map[string]metav1.ConditionStatus

// unready are values with which chart fickle never becomes ready, and failedTest
// those with which its test fails.
func unready() values {
	return values{"replicas": 2, "podAnnotations": values{"simulate.pintle.dev/ready": "never"}}
}

func failedTest() values {
	return values{"test": values{"podAnnotations": values{"simulate.pintle.dev/exit-code": "1"}}}
}

func ptr[T any](v T) *T { return &v }

func duration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

func (w world) equal(what string, got, want any) {
	w.Helper()
	if !reflect.DeepEqual(got, want) {
		w.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// fickle is test/charts/fickle with a version.
func (w world) fickle(version string) *helmchart.Chart {
	w.Helper()
	c, err := harness.LoadChart("fickle")
	w.Must(err)
	c.Metadata.Version = version
	return c
}

// artifact creates an OCIRepository for chart fickle.
func (w world) artifact(ref sourcev1.OCIRepositoryRef) *sourcev1.OCIRepository {
	w.Helper()
	return w.Source("fickle", env.Registry.Address, "fickle", ref)
}

// chartOf returns a spec with a chart template.
func (w world) chartOf(kind, source, chart string) helmv2.HelmReleaseSpec {
	return helmv2.HelmReleaseSpec{Chart: &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
		Chart: chart, SourceRef: helmv2.CrossNamespaceObjectReference{Kind: kind, Name: source},
	}}}
}

// play creates a HelmRelease called play for chart fickle, and all objects that it needs.
func (w world) play(v values, changes ...func(*helmv2.HelmReleaseSpec)) *helmv2.HelmRelease {
	w.Helper()
	w.Publish(w.fickle("0.1.0"))
	w.artifact(sourcev1.OCIRepositoryRef{Tag: "0.1.0"})
	hr := w.Draft("play", fixture.ChartRef(helmv2.KindOCIRepository, "fickle"), v)
	for _, change := range changes {
		change(&hr.Spec)
	}
	w.Create(hr)
	return hr
}

// change sets other values of a release, and applies further changes.
func (w world) change(hr *helmv2.HelmRelease, v values, changes ...func(*helmv2.HelmReleaseSpec)) {
	w.Helper()
	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = w.Raw(v)
		for _, change := range changes {
			change(&hr.Spec)
		}
	})
}

// settles waits until the conditions are as wanted and no further action follows.
func (w world) settles(hr *helmv2.HelmRelease, want conditions) {
	w.Helper()
	var what []string
	for _, condition := range slices.Sorted(maps.Keys(want)) {
		what = append(what, condition+"="+string(want[condition]))
	}
	w.Until(hr, "to settle with "+strings.Join(what, ", "), func(hr *helmv2.HelmRelease) bool {
		if hr.Status.ObservedGeneration != hr.Generation ||
			apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionReconciling) {
			return false
		}
		for condition, status := range want {
			if !apimeta.IsStatusConditionPresentAndEqual(hr.Status.Conditions, condition, status) {
				return false
			}
		}
		return true
	})
}

// revisions returns the revisions of `helm history`, after checking their number.
func (w world) revisions(hr *helmv2.HelmRelease, count int) []*helmrelease.Release {
	w.Helper()
	history, err := env.History(hr.Namespace, hr.Name)
	w.Must(err)
	if len(history) != count {
		w.Fatalf("%d revisions, want %d: %s\n%s", len(history), count, w.statuses(hr), harness.Summary(hr))
	}
	return history
}

// newest checks the newest of a number of revisions.
func (w world) newest(hr *helmv2.HelmRelease, count int, status helmrelease.Status) *helmrelease.Release {
	w.Helper()
	newest := w.revisions(hr, count)[count-1]
	if newest.Info.Status != status {
		w.Errorf("the newest revision is %s, want %s: %s", newest.Info.Status, status, w.statuses(hr))
	}
	return newest
}

// rolledBack checks that the newest of a number of revisions is a rollback.
func (w world) rolledBack(hr *helmv2.HelmRelease, count, target int) {
	w.Helper()
	want := fmt.Sprintf("Rollback to %d", target)
	if got := w.newest(hr, count, helmrelease.StatusDeployed).Info.Description; got != want {
		w.Errorf("the newest revision is described as %q, want %q", got, want)
	}
}

func (w world) deployment(name string) *appsv1.Deployment {
	w.Helper()
	d := &appsv1.Deployment{}
	w.Get(name, d)
	return d
}

// another makes a namespace beside this world's.
func (w world) another() world {
	w.Helper()
	return newWorld(w.T)
}

// key creates a Secret with a public key, and returns its signer.
func (w world) key() *harness.Signer {
	w.Helper()
	signer, err := harness.NewSigner()
	w.Must(err)
	w.Create(&corev1.Secret{ObjectMeta: w.Meta("key"), Data: map[string][]byte{"cosign.pub": signer.PublicKey}})
	return signer
}
