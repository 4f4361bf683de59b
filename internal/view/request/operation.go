// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
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
	name := op.Namespace + "/" + op.Name
	message := OperationMessage(op)
	if message != "" {
		message = ": " + message
	}
	switch op.Status.Phase {
	case opsv1alpha1.PhaseSucceeded:
		return Progress{Done: true, Text: fmt.Sprintf("Operation %s succeeded%s", name, message)}
	case opsv1alpha1.PhaseFailed:
		return Progress{Done: true, Failed: true, Text: fmt.Sprintf("Operation %s failed%s", name, message)}
	case opsv1alpha1.PhaseCancelled:
		return Progress{Done: true, Failed: true, Text: fmt.Sprintf("Operation %s was cancelled%s", name, message)}
	case opsv1alpha1.PhasePending, opsv1alpha1.PhaseRunning:
	}
	return Progress{Text: fmt.Sprintf("Operation %s is %s%s", name, strings.ToLower(string(or(op.Status.Phase, opsv1alpha1.PhasePending))), message)}
}

// OperationMessage returns the message of the condition that matters most; empty without one.
func OperationMessage(op *opsv1alpha1.Operation) string {
	for _, kind := range []string{opsv1alpha1.ConditionFailed, opsv1alpha1.ConditionCancelled, opsv1alpha1.ConditionSucceeded, opsv1alpha1.ConditionBlocked, opsv1alpha1.ConditionRunning, opsv1alpha1.ConditionAccepted} {
		if c := apimeta.FindStatusCondition(op.Status.Conditions, kind); c != nil && (c.Status == metav1.ConditionTrue || kind == opsv1alpha1.ConditionAccepted) && c.Message != "" {
			return c.Message
		}
	}
	return ""
}

func or(phase, fallback opsv1alpha1.OperationPhase) opsv1alpha1.OperationPhase {
	if phase == "" {
		return fallback
	}
	return phase
}
