// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"regexp"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// maxReason is how long a reason may be that is told; metav1.Condition allows more.
	maxReason = 128
	// unobserved is kstatus's reason for a status that is of an older spec.
	unobserved = "LatestGenerationNotObserved"
)

// isCurrent judges an object as waits do. With ok false it says why, in words that do
// not count: a message that changes with every Pod would be an event for every Pod.
// Of what the object says of itself no more than a reason is told.
func isCurrent(object *unstructured.Unstructured) (why string, ok bool) {
	kind := object.GetKind()
	result, err := judge(object)
	switch {
	case err != nil:
		return "the status of the " + kind + " cannot be understood", false
	case result.Status == status.CurrentStatus:
		return "", true
	case result.Status == status.TerminatingStatus:
		return "the " + kind + " is being deleted", false
	}
	reason := ""
	if len(result.Conditions) > 0 {
		reason = result.Conditions[0].Reason
	}
	if reason == unobserved {
		return "the latest generation of the " + kind + " has not been observed", false
	}
	if ready, state := readyReason(object); state != "" {
		// That it tries again is what a condition Reconciling would say.
		return fmt.Sprintf("Ready of the %s is %s%s", kind, state, because(ready)), false
	}
	return fmt.Sprintf("the %s is %s%s", kind, result.Status, because(reason)), false
}

// because adds a reason, if it is one: an object may say anything.
func because(reason string) string {
	if len(reason) > maxReason || !regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`).MatchString(reason) {
		return ""
	}
	return " with reason " + reason
}

// readyReason returns the reason and status of a condition Ready that is not true;
// empty if there is none.
func readyReason(object *unstructured.Unstructured) (reason, state string) {
	with, err := status.GetObjectWithConditions(object.Object)
	if err != nil {
		return "", ""
	}
	for _, c := range with.Status.Conditions {
		if c.Type == "Ready" && (c.Status == corev1.ConditionFalse || c.Status == corev1.ConditionUnknown) {
			return c.Reason, string(c.Status)
		}
	}
	return "", ""
}

// judge is kstatus, but for what waits judge otherwise: a Job has to be done, not to
// have begun, and nobody but its owner can make a paused rollout go on.
func judge(object *unstructured.Unstructured) (*status.Result, error) {
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return judgeJob(object)
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		paused, _, _ := unstructured.NestedBool(object.Object, "spec", "paused")
		if paused && object.GetDeletionTimestamp() == nil {
			return &status.Result{Status: status.CurrentStatus}, nil
		}
	}
	return status.Compute(object)
}

func judgeJob(object *unstructured.Unstructured) (*status.Result, error) {
	result, err := status.Compute(object)
	if err != nil || result.Status != status.CurrentStatus {
		return result, err
	}
	with, err := status.GetObjectWithConditions(object.Object)
	if err != nil {
		return nil, err
	}
	for _, c := range with.Status.Conditions {
		if c.Type == "Complete" && c.Status == corev1.ConditionTrue {
			return result, nil
		}
	}
	return &status.Result{Status: status.InProgressStatus, Conditions: []status.Condition{{Reason: "JobNotComplete"}}}, nil
}
