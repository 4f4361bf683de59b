// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
)

// HookEvents returns the events whose hooks an Operation can run.
func HookEvents() []string {
	return []string{
		"pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback", "pre-delete", "post-delete", "test",
	}
}

// maxName is the maximum length of the name of an Operation: it is a label of its Jobs.
const maxName = 63

// Hook returns an Operation that runs a hook of a HelmRelease: the one of that name, or all of an
// event. Its name depends on the time only, so that a repeated request creates no other one.
func Hook(namespace, name, hook string, now time.Time) *opsv1alpha1.Operation {
	parameters := &opsv1alpha1.Parameters{HookName: hook}
	if slices.Contains(HookEvents(), hook) {
		parameters = &opsv1alpha1.Parameters{Event: opsv1alpha1.HookEvent(hook)}
	}
	suffix := "-" + strconv.FormatInt(now.UnixMilli(), 36)
	base := strings.TrimPrefix(hook, name+"-")
	base = name + "-" + base
	base = strings.TrimRight(base[:min(len(base), maxName-len(suffix))], "-.")
	return &opsv1alpha1.Operation{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: base + suffix},
		Spec: opsv1alpha1.OperationSpec{
			TargetRef: opsv1alpha1.TargetReference{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: name},
			Type:      opsv1alpha1.TypeRunCommand, Engine: opsv1alpha1.EngineHelmHookJob, Parameters: parameters,
		},
	}
}

// OperationProgress returns how far an Operation is.
func OperationProgress(op *opsv1alpha1.Operation) Progress {
	p := Progress{Text: view.OperationText(op), Unanswered: len(op.Status.Conditions) == 0}
	switch op.Status.Phase {
	case opsv1alpha1.PhaseSucceeded:
		p.Done = true
	case opsv1alpha1.PhaseFailed, opsv1alpha1.PhaseCancelled:
		p.Done, p.Failed = true, true
		if o := op.Status.Outputs; o != nil && o.ExitCode != nil && op.Status.Phase == opsv1alpha1.PhaseFailed {
			// Shells know one byte.
			p.ExitCode = int(*o.ExitCode) & 0xff
		}
	case opsv1alpha1.PhasePending, opsv1alpha1.PhaseRunning:
	}
	return p
}
