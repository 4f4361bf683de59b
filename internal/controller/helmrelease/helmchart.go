// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"fmt"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// helmChartMaker makes and deletes the HelmCharts that spec.chart of HelmReleases stands for.
type helmChartMaker struct {
	// Client reads HelmCharts from the cache and writes them, Live reads past the cache.
	Client client.Client
	Live   client.Reader
	Events controller.EventRecorder
	// NoCrossNamespaceRefs refuses HelmCharts in other namespaces.
	NoCrossNamespaceRefs bool
	// Observe only reads HelmCharts.
	Observe bool

	// writing has the HelmCharts that are written, so that two HelmReleases do not make the same.
	writing keyLocks
}

// Ensure creates or updates the HelmChart of spec.chart and deletes a former HelmChart under
// another name. It returns the name for status.helmChart, even with an error. There is no owner
// reference, which could not cross namespaces: labels name the owner.
func (m *helmChartMaker) Ensure(ctx context.Context, hr *helmv2.HelmRelease) (recorded string, err error) {
	var name string
	if hr.HasChartTemplate() {
		name = inputs.HelmChartKey(hr).String()
	}
	recorded = hr.Status.HelmChart
	if m.Observe {
		return recorded, m.check(ctx, hr)
	}
	if recorded != "" && recorded != name {
		if recorded, err = m.Delete(ctx, hr); err != nil {
			return recorded, err
		}
	}
	if name == "" {
		return recorded, nil
	}
	if err := inputs.CheckNamespace(hr, m.NoCrossNamespaceRefs); err != nil {
		return recorded, err
	}
	chart := inputs.WantedHelmChart(hr)
	applied, err := m.isApplied(ctx, chart)
	// The comparison ignores fields that the template no longer sets: each generation is
	// applied until it has been attempted.
	if err == nil && (!applied || hr.Status.LastAttemptedGeneration != hr.Generation) {
		err = m.put(ctx, hr, chart)
	}
	if err != nil {
		return recorded, err
	}
	return name, checkObserved(chart)
}

// check returns an error if the HelmChart that spec.chart stands for would have to be written.
func (m *helmChartMaker) check(ctx context.Context, hr *helmv2.HelmRelease) error {
	if !hr.HasChartTemplate() {
		return nil
	}
	if err := inputs.CheckNamespace(hr, m.NoCrossNamespaceRefs); err != nil {
		return err
	}
	chart := inputs.WantedHelmChart(hr)
	applied, err := m.isApplied(ctx, chart)
	switch {
	case err != nil:
		return err
	case !applied:
		return &release.Blocked{
			Reason: helmv2.ReasonArtifactFailed, Retry: release.Backoff(),
			Message: fmt.Sprintf("HelmChart '%s' does not exist, or is not as spec.chart requests it. It would be applied, and the release follows from its chart", client.ObjectKeyFromObject(chart)),
		}
	}
	return checkObserved(chart)
}

// isApplied reports whether the cache contains the HelmChart as wanted, so that it need not be
// applied in each reconciliation. It completes want from the cache.
func (m *helmChartMaker) isApplied(ctx context.Context, want *sourcev1.HelmChart) (bool, error) {
	have := &sourcev1.HelmChart{}
	if err := m.Client.Get(ctx, client.ObjectKeyFromObject(want), have); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, notApplied(want, err)
	}
	// Users may suspend a HelmChart.
	have.Spec.Suspend = want.Spec.Suspend
	if !covers(have.Labels, want.Labels) || !covers(have.Annotations, want.Annotations) ||
		!equality.Semantic.DeepEqual(have.Spec, want.Spec) {
		return false, nil
	}
	want.Generation, want.Status = have.Generation, have.Status
	return true, nil
}

// put applies a HelmChart to the live one. Writes of one HelmChart exclude each other: two
// HelmReleases whose HelmCharts have the same name must not both find that there is none. Writes of
// others do not wait for it: a webhook may answer slowly. It completes want from the answer.
func (m *helmChartMaker) put(ctx context.Context, hr *helmv2.HelmRelease, want *sourcev1.HelmChart) error {
	unlock, err := m.writing.lock(ctx, client.ObjectKeyFromObject(want))
	if err != nil {
		return notApplied(want, err)
	}
	defer unlock()
	have := &sourcev1.HelmChart{}
	err = m.Live.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return notApplied(want, err)
	default:
		if err := m.checkOwner(ctx, hr, have); err != nil {
			return err
		}
		// A change since this read is a conflict.
		want.ResourceVersion = have.ResourceVersion
	}
	if err := m.apply(ctx, want); err != nil {
		blocked := notApplied(want, err)
		if !apierrors.IsConflict(err) && !controller.IsTransient(err) {
			controller.Emit(m.Events, hr, status.HelmChartFailed(blocked.Message))
		}
		return blocked
	}
	if want.ResourceVersion != have.ResourceVersion {
		ref := hr.Spec.Chart.Spec.SourceRef
		controller.Emit(m.Events, hr, status.HelmChartApplied(subject(want), ref.Kind+"/"+want.Namespace+"/"+ref.Name, have.ResourceVersion == ""))
	}
	return nil
}

// apply sends the fields that a HelmChart sets, and completes chart from the answer.
func (m *helmChartMaker) apply(ctx context.Context, chart *sourcev1.HelmChart) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(chart)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	if err := m.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), controller.FieldOwner, client.ForceOwnership); err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, chart)
}

// checkObserved returns an error until source-controller has observed the generation of the
// HelmChart. Until then, its artifact may belong to the previous generation.
func checkObserved(chart *sourcev1.HelmChart) error {
	if chart.Generation == chart.Status.ObservedGeneration {
		return nil
	}
	return inputs.CheckSource(chart)
}

// checkOwner returns an error if the HelmChart belongs to another HelmRelease: a-b/c and a/b-c have
// HelmCharts of the same name. A HelmChart without an owner may be taken.
func (m *helmChartMaker) checkOwner(ctx context.Context, hr *helmv2.HelmRelease, chart *sourcev1.HelmChart) error {
	owner := ownerOf(chart)
	if owner == (types.NamespacedName{}) || owner == client.ObjectKeyFromObject(hr) {
		return nil
	}
	other := &helmv2.HelmRelease{}
	err := m.Live.Get(ctx, owner, other)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return notApplied(chart, fmt.Errorf("it belongs to HelmRelease '%s', which could not be read: %w", owner, err))
	}
	key := client.ObjectKeyFromObject(chart)
	if other.Status.HelmChart != key.String() && (!other.HasChartTemplate() || inputs.HelmChartKey(other) != key) {
		return nil
	}
	return &release.Blocked{
		// Its deletion enqueues hr; a change of its labels does not.
		Reason: helmv2.ReasonContested, Terminal: true, Retry: release.Interval(hr.Spec.Interval.Duration),
		Message: fmt.Sprintf("HelmChart '%s' belongs to HelmRelease '%s', whose namespace and name make the same name", key, owner),
		Todo:    "Rename one of the two HelmReleases, or use spec.chartRef",
	}
}

// ownerOf returns the HelmRelease that a HelmChart was made for; zero if its labels name none.
func ownerOf(chart *sourcev1.HelmChart) types.NamespacedName {
	owner := types.NamespacedName{Namespace: chart.Labels[helmv2.LabelNamespace], Name: chart.Labels[helmv2.LabelName]}
	if owner.Namespace == "" || owner.Name == "" {
		return types.NamespacedName{}
	}
	return owner
}

func notApplied(chart *sourcev1.HelmChart, err error) *release.Blocked {
	return release.BlockedBy(helmv2.ReasonArtifactFailed, err, "could not apply HelmChart '%s'", client.ObjectKeyFromObject(chart))
}

func subject(chart *sourcev1.HelmChart) string {
	return sourcev1.HelmChartKind + "/" + client.ObjectKeyFromObject(chart).String()
}

func covers(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// Delete deletes the HelmChart that status records, and returns the name to record from now on. A
// HelmChart that belongs to another HelmRelease by now stays. So does one in a namespace that hr
// may not refer to: it must not block the deletion of hr.
func (m *helmChartMaker) Delete(ctx context.Context, hr *helmv2.HelmRelease) (recorded string, err error) {
	namespace, name, ok := strings.Cut(hr.Status.HelmChart, "/")
	if !ok {
		return hr.Status.HelmChart, nil
	}
	chart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if m.NoCrossNamespaceRefs && namespace != hr.Namespace {
		controller.Emit(m.Events, hr, status.HelmChartLeft(subject(chart)))
		return "", nil
	}
	err = m.Live.Get(ctx, client.ObjectKeyFromObject(chart), chart)
	if owner := ownerOf(chart); err == nil && (owner == types.NamespacedName{} || owner == client.ObjectKeyFromObject(hr)) {
		// The preconditions guard against a change since this read.
		err = m.Client.Delete(ctx, chart, client.Preconditions{UID: &chart.UID, ResourceVersion: &chart.ResourceVersion})
		if err == nil {
			controller.Emit(m.Events, hr, status.HelmChartDeleted(subject(chart)))
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return hr.Status.HelmChart, release.BlockedBy(helmv2.ReasonArtifactFailed, err, "could not delete HelmChart '%s'", hr.Status.HelmChart)
	}
	return "", nil
}
