// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// sourceMaker makes and deletes the source objects that spec.chart of HelmReleases stands for:
// HelmCharts and OCIRepositories.
//
// While a template changes its kind, a HelmRelease has two of them. status.helmChart then names the
// HelmChart: the name of the OCIRepository follows from the name of the HelmRelease.
type sourceMaker struct {
	// Client reads sources from the cache and writes them, Live reads past the cache.
	Client client.Client
	Live   client.Reader
	Events controller.EventRecorder
	// NoCrossNamespaceRefs refuses sources in other namespaces.
	NoCrossNamespaceRefs bool
	// Observe only reads sources.
	Observe bool

	// writing has the sources that are written, so that two HelmReleases do not make the same.
	writing keyLocks
}

// Ensure creates or updates the source of spec.chart. It deletes a former source under another name,
// but leaves a former source of another kind to DeleteFormer. It returns the text for
// status.helmChart, even with an error.
func (m *sourceMaker) Ensure(ctx context.Context, hr *helmv2.HelmRelease) (recorded string, err error) {
	recorded = hr.Status.HelmChart
	switch {
	case m.Observe:
		return recorded, m.check(ctx, hr)
	case !hr.HasChartTemplate():
		return m.Delete(ctx, hr)
	}
	kind, key := inputs.SourceOf(hr)
	name := inputs.RecordOf(kind, key)
	former, _, known := inputs.Recorded(recorded)
	if known && former == kind && recorded != name {
		if recorded, err = m.deleteRecorded(ctx, hr); err != nil {
			return recorded, err
		}
	}
	if err := inputs.CheckNamespace(hr, m.NoCrossNamespaceRefs); err != nil {
		return recorded, err
	}
	source := inputs.TemplateSource(hr)
	applied, err := m.applied(ctx, source)
	// The comparison ignores fields that the template no longer sets: each generation is
	// applied until it has been attempted.
	if err == nil && (applied == nil || hr.Status.LastAttemptedGeneration != hr.Generation) {
		applied, err = m.put(ctx, hr, source)
	}
	if err != nil {
		return recorded, err
	}
	if kind == helmv2.KindHelmChart || former != helmv2.KindHelmChart {
		recorded = name
	}
	return recorded, inputs.CheckObserved(applied)
}

// DeleteFormer deletes the source of the other kind, after a template has changed its kind and the
// new source is in use. It returns the text for status.helmChart, even with an error.
func (m *sourceMaker) DeleteFormer(ctx context.Context, hr *helmv2.HelmRelease) (recorded string, err error) {
	recorded = hr.Status.HelmChart
	if m.Observe || !hr.HasChartTemplate() {
		return recorded, nil
	}
	kind, key := inputs.SourceOf(hr)
	if kind == helmv2.KindHelmChart {
		return recorded, m.deleteUnrecorded(ctx, hr)
	}
	if former, _, known := inputs.Recorded(recorded); known && former != kind {
		if recorded, err = m.deleteRecorded(ctx, hr); err != nil {
			return recorded, err
		}
	}
	return inputs.RecordOf(kind, key), nil
}

// Delete deletes the sources that were made for hr, and returns the text for status.helmChart.
func (m *sourceMaker) Delete(ctx context.Context, hr *helmv2.HelmRelease) (recorded string, err error) {
	if recorded, err = m.deleteRecorded(ctx, hr); err != nil {
		return recorded, err
	}
	return recorded, m.deleteUnrecorded(ctx, hr)
}

// check returns an error if the source that spec.chart stands for would have to be written.
func (m *sourceMaker) check(ctx context.Context, hr *helmv2.HelmRelease) error {
	if !hr.HasChartTemplate() {
		return nil
	}
	if err := inputs.CheckNamespace(hr, m.NoCrossNamespaceRefs); err != nil {
		return err
	}
	source := inputs.TemplateSource(hr)
	applied, err := m.applied(ctx, source)
	switch {
	case err != nil:
		return err
	case applied == nil:
		return &release.Blocked{
			Reason: helmv2.ReasonArtifactFailed, Retry: release.Backoff(),
			Message: inputs.SourceName(source) + " does not exist, or is not as spec.chart requests it. It would be applied, and the release follows from its chart",
		}
	}
	return inputs.CheckObserved(applied)
}

// applied returns the source in the cache if it is as wanted, so that it need not be applied in each
// reconciliation; nil if it is not.
func (m *sourceMaker) applied(ctx context.Context, want client.Object) (client.Object, error) {
	have := emptySource(want.GetObjectKind().GroupVersionKind().Kind)
	if err := m.Client.Get(ctx, client.ObjectKeyFromObject(want), have); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // it must be applied
		}
		return nil, notApplied(want, err)
	}
	if !isApplied(have, want) {
		return nil, nil //nolint:nilnil // as above
	}
	return have, nil
}

// emptySource returns an empty object of a kind that a template can stand for.
func emptySource(kind string) client.Object {
	row, _ := inputs.SourceKindOf(kind)
	return row.New()
}

// put applies a source to the live one, and returns the answer. Writes of one source exclude each
// other: two HelmReleases whose HelmCharts have the same name must not both find that there is none.
// Writes of others do not wait for it: a webhook may answer slowly.
func (m *sourceMaker) put(ctx context.Context, hr *helmv2.HelmRelease, want client.Object) (client.Object, error) {
	kind, key := want.GetObjectKind().GroupVersionKind().Kind, client.ObjectKeyFromObject(want)
	unlock, err := m.writing.lock(ctx, key)
	if err != nil {
		return nil, notApplied(want, err)
	}
	defer unlock()
	have := emptySource(kind)
	err = m.Live.Get(ctx, key, have)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, notApplied(want, err)
	default:
		if err := m.checkOwner(ctx, hr, have); err != nil {
			return nil, err
		}
		// A change since this read is a conflict.
		want.SetResourceVersion(have.GetResourceVersion())
	}
	applied, err := m.apply(ctx, want)
	if err != nil {
		blocked := notApplied(want, err)
		if !apierrors.IsConflict(err) && !controller.IsTransient(err) {
			controller.Emit(m.Events, hr, status.SourceFailed(blocked.Message))
		}
		return nil, blocked
	}
	created := have.GetResourceVersion() == ""
	if created || applied.GetGeneration() != have.GetGeneration() || !isApplied(have, want) {
		controller.Emit(m.Events, hr, status.SourceApplied(kind, key, origin(hr), created))
	}
	return applied, nil
}

// isApplied reports whether a source has all that another sets.
func isApplied(have, want client.Object) bool {
	return covers(have.GetLabels(), want.GetLabels()) && covers(have.GetAnnotations(), want.GetAnnotations()) && inputs.HasTemplateSpec(have, want)
}

// origin names where the chart of a template comes from.
func origin(hr *helmv2.HelmRelease) string {
	spec := hr.Spec.Chart.Spec
	if spec.URL != "" {
		return fmt.Sprintf("URL '%s'", spec.URL)
	}
	return fmt.Sprintf("SourceRef '%s/%s/%s'", spec.SourceRef.Kind, hr.Spec.Chart.GetNamespace(hr.Namespace), spec.SourceRef.Name)
}

// apply sends the fields that a source sets, and returns the answer.
func (m *sourceMaker) apply(ctx context.Context, source client.Object) (client.Object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(source)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	if err := m.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), controller.FieldOwner, client.ForceOwnership); err != nil {
		return nil, err
	}
	applied := emptySource(u.GetKind())
	return applied, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, applied)
}

// checkOwner returns an error if the source belongs to another HelmRelease: a-b/c and a/b-c have
// HelmCharts of the same name. A source without an owner may be taken.
func (m *sourceMaker) checkOwner(ctx context.Context, hr *helmv2.HelmRelease, source client.Object) error {
	owner := ownerOf(source)
	if owner == (types.NamespacedName{}) || owner == client.ObjectKeyFromObject(hr) {
		return nil
	}
	other := &helmv2.HelmRelease{}
	err := m.Live.Get(ctx, owner, other)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return notApplied(source, fmt.Errorf("it belongs to HelmRelease '%s', which could not be read: %w", owner, err))
	}
	kind, key := inputs.SourceOf(hr)
	if inputs.RecordOf(kind, key) != other.Status.HelmChart && !hasTemplate(other, kind, key) {
		return nil
	}
	return &release.Blocked{
		// Its deletion enqueues hr; a change of its labels does not.
		Reason: helmv2.ReasonContested, Terminal: true, Retry: release.Interval(hr.Spec.Interval.Duration),
		Message: fmt.Sprintf("%s belongs to HelmRelease '%s', whose namespace and name make the same name", inputs.SourceName(source), owner),
		Todo:    "Rename one of the two HelmReleases, or use spec.chartRef",
	}
}

// hasTemplate reports whether spec.chart of a HelmRelease stands for a source.
func hasTemplate(hr *helmv2.HelmRelease, kind string, key types.NamespacedName) bool {
	if !hr.HasChartTemplate() {
		return false
	}
	own, ownKey := inputs.SourceOf(hr)
	return own == kind && ownKey == key
}

// ownerOf returns the HelmRelease that a source was made for; zero if its labels name none.
func ownerOf(source client.Object) types.NamespacedName {
	labels := source.GetLabels()
	owner := types.NamespacedName{Namespace: labels[helmv2.LabelNamespace], Name: labels[helmv2.LabelName]}
	if owner.Namespace == "" || owner.Name == "" {
		return types.NamespacedName{}
	}
	return owner
}

func notApplied(source client.Object, err error) *release.Blocked {
	return release.BlockedBy(helmv2.ReasonArtifactFailed, err, "could not apply %s", inputs.SourceName(source))
}

func covers(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// deleteRecorded deletes the source that status records, and returns the text to record from now on.
// A source that belongs to another HelmRelease by now stays. So does one in a namespace that hr may
// not refer to: it must not block the deletion of hr.
func (m *sourceMaker) deleteRecorded(ctx context.Context, hr *helmv2.HelmRelease) (recorded string, err error) {
	kind, key, ok := inputs.Recorded(hr.Status.HelmChart)
	if !ok {
		return hr.Status.HelmChart, nil
	}
	if m.NoCrossNamespaceRefs && key.Namespace != hr.Namespace {
		controller.Emit(m.Events, hr, status.SourceLeft(kind, key))
		return "", nil
	}
	if !mayBeMade(hr, kind, key) {
		return "", nil
	}
	source := emptySource(kind)
	err = m.Live.Get(ctx, key, source)
	owner := ownerOf(source)
	unowned := owner == types.NamespacedName{} && key.Namespace == hr.Namespace
	if err == nil && (unowned || owner == client.ObjectKeyFromObject(hr)) {
		err = m.delete(ctx, hr, source)
	}
	if client.IgnoreNotFound(err) != nil {
		return hr.Status.HelmChart, notDeleted(kind, key, err)
	}
	return "", nil
}

// mayBeMade reports whether a source can have been made for hr. Some users may write the status: it must
// not choose which object the controller deletes.
func mayBeMade(hr *helmv2.HelmRelease, kind string, key types.NamespacedName) bool {
	return key.Name == hr.GetHelmChartName() && (kind == helmv2.KindHelmChart || key.Namespace == hr.Namespace)
}

// deleteUnrecorded deletes an OCIRepository that was made for hr, and that status does not record
// since the template has changed its kind. An OCIRepository of a chart has the same labels: it stays.
func (m *sourceMaker) deleteUnrecorded(ctx context.Context, hr *helmv2.HelmRelease) error {
	kind, key := helmv2.KindOCIRepository, types.NamespacedName{Namespace: hr.Namespace, Name: hr.GetHelmChartName()}
	used, usedKey := inputs.SourceOf(hr)
	isUsed := used == kind && usedKey == key
	if inputs.RecordOf(kind, key) == hr.Status.HelmChart || isUsed && hr.HasChartRef() {
		return nil
	}
	source := emptySource(kind)
	var err error
	// The cache may not have an OCIRepository that was just made.
	if !isUsed {
		err = m.Client.Get(ctx, key, source)
	}
	if err == nil && (isUsed || isOwn(hr, source)) {
		err = m.Live.Get(ctx, key, source)
	}
	if err == nil && isOwn(hr, source) {
		err = m.delete(ctx, hr, source)
	}
	if client.IgnoreNotFound(err) != nil {
		return notDeleted(kind, key, err)
	}
	return nil
}

// isOwn reports whether a source was made for hr, and is neither being deleted nor part of a release.
func isOwn(hr *helmv2.HelmRelease, source client.Object) bool {
	return ownerOf(source) == client.ObjectKeyFromObject(hr) && source.GetDeletionTimestamp() == nil &&
		source.GetAnnotations()[helmv2.AnnotationHelmReleaseName] == ""
}

// delete deletes a source, unless it has changed since it was read.
func (m *sourceMaker) delete(ctx context.Context, hr *helmv2.HelmRelease, source client.Object) error {
	uid, version := source.GetUID(), source.GetResourceVersion()
	if err := m.Client.Delete(ctx, source, client.Preconditions{UID: &uid, ResourceVersion: &version}); err != nil {
		return err
	}
	controller.Emit(m.Events, hr, status.SourceDeleted(inputs.KindOf(source), client.ObjectKeyFromObject(source)))
	return nil
}

func notDeleted(kind string, key types.NamespacedName, err error) error {
	return release.BlockedBy(helmv2.ReasonArtifactFailed, err, "could not delete %s '%s'", kind, key)
}
