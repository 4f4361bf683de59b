// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"strings"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// maxHelmChartName is the longest name the API server takes.
const maxHelmChartName = 253

// ensureHelmChart makes the HelmChart that spec.chart stands for and removes the
// one it no longer stands for. It notes the name in hr's status, which the visit
// writes when it ends. There is no owner reference, which could not cross
// namespaces: labels say whose the object is.
func (r *HelmReleaseReconciler) ensureHelmChart(ctx context.Context, hr *helmv2.HelmRelease) error {
	var name string
	if hr.HasChartTemplate() {
		name = inputs.HelmChartKey(hr).String()
	}
	if hr.Status.HelmChart != "" && hr.Status.HelmChart != name {
		if err := r.deleteHelmChart(ctx, hr); err != nil {
			return err
		}
	}
	if name == "" {
		return nil
	}
	if err := inputs.CheckNamespace(hr, r.noCrossNamespaceRefs); err != nil {
		return err
	}
	if n := len(inputs.HelmChartKey(hr).Name); n > maxHelmChartName {
		return &release.Blocked{
			Reason: helmv2.ReasonArtifactFailed, Terminal: true, Retry: release.Never(),
			Message: fmt.Sprintf("HelmChart '%s' cannot be made: its name has %d characters, and %d are possible. Use spec.chartRef", name, n, maxHelmChartName),
		}
	}
	chart := helmChart(hr)
	applied, err := r.helmChartApplied(ctx, chart)
	// What the template says no more is not missed in it: each generation is applied
	// until it has been attempted.
	if err == nil && (!applied || hr.Status.LastAttemptedGeneration != hr.Generation) {
		err = r.putHelmChart(ctx, hr, chart)
	}
	if err != nil {
		return err
	}
	hr.Status.HelmChart = name
	return r.observedHelmChart(chart)
}

// helmChartApplied reports whether the cache shows the HelmChart as it should
// be, which saves applying it on every visit.
func (r *HelmReleaseReconciler) helmChartApplied(ctx context.Context, want *sourcev1.HelmChart) (bool, error) {
	have := &sourcev1.HelmChart{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(want), have); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, unapplied(want, err)
	}
	// People may suspend a HelmChart, and that is theirs.
	have.Spec.Suspend = want.Spec.Suspend
	if !covers(have.Labels, want.Labels) || !covers(have.Annotations, want.Annotations) ||
		!equality.Semantic.DeepEqual(have.Spec, want.Spec) {
		return false, nil
	}
	want.Generation, want.Status = have.Generation, have.Status
	return true, nil
}

// putHelmChart applies the HelmChart to what the API server has, one at a time:
// two HelmReleases whose HelmCharts are called the same must not both find that
// there is none. It fills in what came of it.
func (r *HelmReleaseReconciler) putHelmChart(ctx context.Context, hr *helmv2.HelmRelease, want *sourcev1.HelmChart) error {
	r.helmCharts.Lock()
	defer r.helmCharts.Unlock()
	have, reason, verb := &sourcev1.HelmChart{}, helmv2.EventReasonHelmChartConfigured, "Configured"
	err := r.live.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsNotFound(err):
		reason, verb = helmv2.EventReasonHelmChartCreated, "Created"
	case err != nil:
		return unapplied(want, err)
	default:
		if err := r.checkOwner(ctx, hr, have); err != nil {
			return err
		}
		// Whoever changed it since must not be overwritten unseen.
		want.ResourceVersion = have.ResourceVersion
	}
	if err := r.applyHelmChart(ctx, want); err != nil {
		blocked := unapplied(want, err)
		if _, stale := conflict(err); !stale && !isTransient(err) {
			r.tell(hr, helmv2.EventReasonHelmChartSyncError, blocked.Message)
		}
		return blocked
	}
	if want.ResourceVersion != have.ResourceVersion {
		ref := hr.Spec.Chart.Spec.SourceRef
		r.tell(hr, reason, fmt.Sprintf("%s %s with SourceRef '%s/%s/%s'", verb, subject(want), ref.Kind, want.Namespace, ref.Name))
	}
	return nil
}

// applyHelmChart applies what we have an opinion on and nothing else, and fills
// in the rest.
func (r *HelmReleaseReconciler) applyHelmChart(ctx context.Context, chart *sourcev1.HelmChart) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(chart)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	if err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), fieldOwner, client.ForceOwnership); err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, chart)
}

// observedHelmChart sees to it that no artifact is taken for what was asked for
// just now. The cache may go on showing the HelmChart as it was before.
func (r *HelmReleaseReconciler) observedHelmChart(chart *sourcev1.HelmChart) error {
	if chart.Generation == chart.Status.ObservedGeneration {
		return nil
	}
	return inputs.CheckSource(chart)
}

// checkOwner stops a HelmRelease whose HelmChart is another one's: the names
// a-b/c and a/b-c make the same. What belongs to nobody any more may be taken, and
// so may what a person made.
func (r *HelmReleaseReconciler) checkOwner(ctx context.Context, hr *helmv2.HelmRelease, chart *sourcev1.HelmChart) error {
	owner := ownerOf(chart)
	if owner == (types.NamespacedName{}) || owner == client.ObjectKeyFromObject(hr) {
		return nil
	}
	other := &helmv2.HelmRelease{}
	err := r.live.Get(ctx, owner, other)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return unapplied(chart, fmt.Errorf("it belongs to HelmRelease '%s', which could not be read: %w", owner, err))
	}
	key := client.ObjectKeyFromObject(chart)
	if other.Status.HelmChart != key.String() && (!other.HasChartTemplate() || inputs.HelmChartKey(other) != key) {
		return nil
	}
	return &release.Blocked{
		// Its deletion wakes us; a change of labels would not.
		Reason: helmv2.ReasonContested, Terminal: true, Retry: release.Interval(hr.Spec.Interval.Duration),
		Message: fmt.Sprintf("HelmChart '%s' belongs to HelmRelease '%s', whose namespace and name make the same name. Rename one of them, or use spec.chartRef", key, owner),
	}
}

// ownerOf returns the HelmRelease that a HelmChart was made for, nothing if it
// does not say.
func ownerOf(chart *sourcev1.HelmChart) types.NamespacedName {
	owner := types.NamespacedName{Namespace: chart.Labels[helmv2.LabelNamespace], Name: chart.Labels[helmv2.LabelName]}
	if owner.Namespace == "" || owner.Name == "" {
		return types.NamespacedName{}
	}
	return owner
}

func unapplied(chart *sourcev1.HelmChart, err error) *release.Blocked {
	return release.BlockedBy(helmv2.ReasonArtifactFailed, err, "could not apply HelmChart '%s'", client.ObjectKeyFromObject(chart))
}

func subject(chart *sourcev1.HelmChart) string {
	return sourcev1.HelmChartKind + "/" + client.ObjectKeyFromObject(chart).String()
}

// tell emits an event about the HelmChart of hr, which is nobody's news but that of
// who looks at hr.
func (r *HelmReleaseReconciler) tell(hr *helmv2.HelmRelease, reason, message string) {
	r.events.Event(hr, events.TypeTrace, reason, message)
}

func covers(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// helmChart describes the HelmChart of a HelmRelease.
func helmChart(hr *helmv2.HelmRelease) *sourcev1.HelmChart {
	key, tmpl := inputs.HelmChartKey(hr), hr.Spec.Chart
	labels := map[string]string{}
	var annotations map[string]string
	if tmpl.ObjectMeta != nil {
		annotations = tmpl.ObjectMeta.Annotations
		maps.Copy(labels, tmpl.ObjectMeta.Labels)
	}
	labels[helmv2.LabelName], labels[helmv2.LabelNamespace] = hr.Name, hr.Namespace
	chart := &sourcev1.HelmChart{
		TypeMeta: metav1.TypeMeta{
			APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.HelmChartKind,
		},
		ObjectMeta: metav1.ObjectMeta{
			Name: key.Name, Namespace: key.Namespace, Labels: labels, Annotations: annotations,
		},
		Spec: sourcev1.HelmChartSpec{
			Chart:   tmpl.Spec.Chart,
			Version: tmpl.Spec.Version,
			SourceRef: sourcev1.LocalHelmChartSourceReference{
				Kind: tmpl.Spec.SourceRef.Kind, Name: tmpl.Spec.SourceRef.Name,
			},
			Interval:                 metav1.Duration{Duration: tmpl.GetInterval(hr.Spec.Interval.Duration)},
			ReconcileStrategy:        string(tmpl.Spec.ReconcileStrategy),
			ValuesFiles:              tmpl.Spec.ValuesFiles,
			IgnoreMissingValuesFiles: tmpl.Spec.IgnoreMissingValuesFiles,
		},
	}
	if v := tmpl.Spec.Verify; v != nil {
		chart.Spec.Verify = &sourcev1.HelmChartVerification{Provider: string(v.Provider)}
		if v.SecretRef != nil {
			chart.Spec.Verify.SecretRef = &fluxmeta.LocalObjectReference{Name: v.SecretRef.Name}
		}
	}
	return chart
}

// deleteHelmChart removes the HelmChart noted in hr's status and clears the note.
// One that belongs to another HelmRelease by now stays, and so does one in a
// namespace that hr may not reach: nobody must be kept from being deleted by that.
func (r *HelmReleaseReconciler) deleteHelmChart(ctx context.Context, hr *helmv2.HelmRelease) error {
	namespace, name, ok := strings.Cut(hr.Status.HelmChart, "/")
	if !ok {
		return nil
	}
	chart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if r.noCrossNamespaceRefs && namespace != hr.Namespace {
		r.events.Event(hr, corev1.EventTypeWarning, helmv2.ReasonAccessDenied,
			"cross-namespace references are not allowed: left behind "+subject(chart))
		hr.Status.HelmChart = ""
		return nil
	}
	err := r.live.Get(ctx, client.ObjectKeyFromObject(chart), chart)
	if owner := ownerOf(chart); err == nil && (owner == types.NamespacedName{} || owner == client.ObjectKeyFromObject(hr)) {
		// What was looked at is what is deleted.
		err = r.client.Delete(ctx, chart, client.Preconditions{UID: &chart.UID, ResourceVersion: &chart.ResourceVersion})
		if err == nil {
			r.tell(hr, helmv2.EventReasonHelmChartDeleted, "Deleted "+subject(chart))
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return release.BlockedBy(helmv2.ReasonArtifactFailed, err, "could not delete HelmChart '%s'", hr.Status.HelmChart)
	}
	hr.Status.HelmChart = ""
	return nil
}
