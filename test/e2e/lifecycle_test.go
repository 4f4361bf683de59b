// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"helm.sh/helm/v3/pkg/action"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestLifecycle: the steps of `make run` work, and the usual steps after it.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.push("0.1.0")
	source := w.source("hello", env.Registry.Address)
	hr := w.release("hello", source.Name, values{"message": "one"})

	w.UntilRevision(hr, 1)
	w.installed(hr)
	w.helmReads("hello", "one")

	w.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = w.Raw(values{"message": "two"}) })
	w.UntilRevision(hr, 2)
	w.message("hello", "two")

	w.push("0.2.0")
	w.requestReconciliation(source)
	w.Until(hr, "to have chart version 0.2.0", func(hr *helmv2.HelmRelease) bool {
		return strings.HasPrefix(hr.Status.History[0].ChartVersion, "0.2.0+")
	})
	w.UntilRevision(hr, 3)

	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Suspend, hr.Spec.Values = true, w.Raw(values{"message": "three"})
	})
	w.Until(hr, "to have taken note of its suspension", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.ObservedGeneration == hr.Generation
	})
	w.message("hello", "two")
	w.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
	w.UntilRevision(hr, 4)
	w.message("hello", "three")

	w.untilEvents(hr, helmv2.ReasonInstallSucceeded, helmv2.ReasonUpgradeSucceeded)
	w.Must(env.Client.Delete(w.Context(), hr))
	w.gone(hr)
}

// TestChartTemplate: spec.chart creates a HelmChart, which is deleted with the release.
func TestChartTemplate(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	w.push("0.1.0")
	w.Must(env.Client.Create(w.Context(), &sourcev1.HelmRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "charts"},
		Spec: sourcev1.HelmRepositorySpec{
			Type: sourcev1.HelmRepositoryTypeOCI, URL: "oci://" + env.Registry.Address + "/" + w.Namespace, Insecure: true,
		},
	}))
	hr := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "hello"},
		Spec: helmv2.HelmReleaseSpec{
			Interval: metav1.Duration{Duration: time.Hour},
			Chart: &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
				Chart: "hello", Version: ">=0.1.0",
				SourceRef: helmv2.CrossNamespaceObjectReference{Kind: sourcev1.HelmRepositoryKind, Name: "charts"},
			}},
		},
	}
	w.Must(env.Client.Create(w.Context(), hr))
	w.UntilRevision(hr, 1)

	chart := &sourcev1.HelmChart{}
	w.Get(w.Namespace+"-hello", chart)
	w.originLabels(chart, hr)
	if want := w.Namespace + "/" + chart.Name; hr.Status.HelmChart != want {
		t.Errorf("status.helmChart is %q, want %q", hr.Status.HelmChart, want)
	}
	w.Must(env.Client.Delete(w.Context(), hr))
	w.gone(hr)
	// It has a finalizer of source-controller.
	w.UntilGone(chart)
}

// chartObjects are the objects of test/charts/hello.
func (w world) chartObjects() []client.Object {
	meta := metav1.ObjectMeta{Namespace: w.Namespace, Name: "hello"}
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: meta}, &corev1.Service{ObjectMeta: meta}, &corev1.ConfigMap{ObjectMeta: meta},
	}
}

func (w world) originLabels(o client.Object, hr *helmv2.HelmRelease) {
	w.Helper()
	if got := o.GetLabels(); got[helmv2.LabelName] != hr.Name || got[helmv2.LabelNamespace] != hr.Namespace {
		w.Errorf("%T %s does not say where it comes from: labels %v", o, o.GetName(), got)
	}
}

// installed checks the state after a first revision.
func (w world) installed(hr *helmv2.HelmRelease) {
	w.Helper()
	for _, o := range w.chartObjects() {
		w.Get(o.GetName(), o)
		w.originLabels(o, hr)
	}
	status := hr.Status
	if status.ObservedGeneration != hr.Generation {
		w.Errorf("observedGeneration is %d, want %d", status.ObservedGeneration, hr.Generation)
	}
	for _, condition := range []string{helmv2.ConditionReady, helmv2.ConditionReleased} {
		if c := apimeta.FindStatusCondition(status.Conditions, condition); c == nil ||
			c.Status != metav1.ConditionTrue || c.Reason != helmv2.ReasonInstallSucceeded || c.ObservedGeneration != hr.Generation {
			w.Errorf("condition %s is %+v", condition, c)
		}
	}
	if c := apimeta.FindStatusCondition(status.Conditions, helmv2.ConditionReconciling); c != nil {
		w.Errorf("still reconciling: %+v", c)
	}
	if len(status.History) != 1 {
		w.Fatalf("history has %d entries, want 1", len(status.History))
	}
	if s := status.History[0]; s.Version != 1 || s.Status != helmv2.StatusDeployed || s.ChartName != "hello" ||
		!strings.HasPrefix(s.ChartVersion, "0.1.0+") || s.OCIDigest == "" || s.Action != helmv2.ActionInstall {
		w.Errorf("history[0] is %+v", s)
	}
	if status.Inventory == nil || len(status.Inventory.Entries) != 3 {
		w.Errorf("inventory is %+v, want 3 entries", status.Inventory)
	}
	if status.Failures != 0 {
		w.Errorf("%d failures", status.Failures)
	}
}

// helmReads checks the output of helm list, helm history and helm get manifest for a first
// revision.
func (w world) helmReads(name, message string) {
	w.Helper()
	config, err := env.Helm(w.Namespace)
	w.Must(err)
	list, err := action.NewList(config).Run()
	w.Must(err)
	if len(list) != 1 || list[0].Name != name || list[0].Info.Status != "deployed" {
		w.Errorf("helm list shows %+v", list)
	}
	history, err := env.History(w.Namespace, name)
	w.Must(err)
	if len(history) != 1 || history[0].Version != 1 {
		w.Errorf("helm history shows %d revisions", len(history))
	}
	got, err := action.NewGet(config).Run(name)
	w.Must(err)
	if !strings.Contains(got.Manifest, "kind: Deployment") || !strings.Contains(got.Manifest, `message: "`+message+`"`) {
		w.Errorf("helm get manifest shows:\n%s", got.Manifest)
	}
}

// message checks the content of a live ConfigMap.
func (w world) message(name, want string) {
	w.Helper()
	cm := &corev1.ConfigMap{}
	w.Get(name, cm)
	if got := cm.Data["message"]; got != want {
		w.Errorf("the message of %s is %q, want %q", name, got, want)
	}
}

// untilEvents waits for Kubernetes events with the given reasons. They are sent after the status is
// written, and have an action.
func (w world) untilEvents(hr *helmv2.HelmRelease, reasons ...string) {
	w.Helper()
	ctx := w.Context()
	w.Must(env.Until(ctx, "events "+strings.Join(reasons, ", "), func() (string, bool) {
		var events corev1.EventList
		if err := env.Client.List(ctx, &events, client.InNamespace(w.Namespace)); err != nil {
			return err.Error(), false
		}
		var seen []string
		for _, e := range events.Items {
			if e.InvolvedObject.Kind == helmv2.HelmReleaseKind && e.InvolvedObject.UID == hr.UID && e.Action != "" {
				seen = append(seen, e.Reason)
			}
		}
		return strings.Join(seen, ", "), !slices.ContainsFunc(reasons, func(r string) bool { return !slices.Contains(seen, r) })
	}, &corev1.Event{ObjectMeta: w.Meta("")}))
}

// gone waits until a deleted HelmRelease is gone and checks that nothing is left of it.
func (w world) gone(hr *helmv2.HelmRelease) {
	w.Helper()
	w.UntilGone(hr)
	for _, o := range w.chartObjects() {
		if err := env.Client.Get(w.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			w.Errorf("%T %s is left (error %v)", o, o.GetName(), err)
		}
	}
	history, err := env.History(w.Namespace, hr.Name)
	w.Must(err)
	if len(history) != 0 {
		w.Errorf("%d revisions are left in Helm storage", len(history))
	}
}
