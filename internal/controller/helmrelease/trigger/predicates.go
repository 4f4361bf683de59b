// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// ConfigChanged passes all events of a ConfigMap or Secret except the initial list: every
// HelmRelease is reconciled at the start anyway.
type ConfigChanged struct {
	predicate.ResourceVersionChangedPredicate
}

// Create implements predicate.Predicate.
func (ConfigChanged) Create(e event.CreateEvent) bool { return !e.IsInInitialList }

// RequestChanged passes updates of the annotations by which users request a reconciliation, a
// rollback, tests or a plan, approve a plan, or suspend the release, and by which Operations hold it.
type RequestChanged struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (RequestChanged) Update(e event.UpdateEvent) bool {
	for _, key := range []string{
		helmv2.AnnotationReconcileRequest, helmv2.AnnotationSuspend, helmv2.AnnotationSuspendUntil, opsv1alpha1.AnnotationHolder,
		helmv2.AnnotationOrphan, helmv2.AnnotationUninstallDisableHooks,
		helmv2.AnnotationRollbackTo, helmv2.AnnotationRollbackUntil, helmv2.AnnotationRollbackReason, helmv2.AnnotationTestAt,
		v1alpha1.AnnotationPlan, v1alpha1.AnnotationApprove,
	} {
		before, was := e.ObjectOld.GetAnnotations()[key]
		if after, is := e.ObjectNew.GetAnnotations()[key]; before != after || was != is {
			return true
		}
	}
	return false
}

// SourceChanged passes updates after which a source has another artifact, or another reason for
// having none. A source that loses its artifact is not passed: the artifact is installed, and
// the source will have another.
type SourceChanged struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (SourceChanged) Update(e event.UpdateEvent) bool {
	before, offered := inputs.SourceState(e.ObjectOld)
	after, offers := inputs.SourceState(e.ObjectNew)
	return before != after && (offers || !offered)
}
