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

	"github.com/pintle-dev/pintle/internal/readiness"
)

const (
	// maxReason is the longest reason that is quoted, in bytes. metav1.Condition allows more.
	maxReason = 128
	// reasonUnobserved is the reason of kstatus for a status that describes an older spec.
	reasonUnobserved = "LatestGenerationNotObserved"
)

// objectReady reports whether an object is ready, by the same rules as the wait of an action. If
// it is not, why is the reason. It contains no counts: a message that changes with every Pod would
// be an event for every Pod. Of the object's own conditions it quotes reasons, not messages.
func objectReady(object *unstructured.Unstructured) (why string, ready bool) {
	kind := object.GetKind()
	result, err := objectStatus(object)
	switch {
	case err != nil:
		return "the status of the " + kind + " cannot be evaluated", false
	case result.Status == status.CurrentStatus:
		return "", true
	case result.Status == status.TerminatingStatus:
		return "the " + kind + " is being deleted", false
	}
	reason := ""
	if len(result.Conditions) > 0 {
		reason = result.Conditions[0].Reason
	}
	if reason == reasonUnobserved {
		return "the latest generation of the " + kind + " has not been observed", false
	}
	if ready, state := readyReason(object); state != "" {
		// A failed object that is retried has a condition Reconciling too, with a less specific reason.
		return fmt.Sprintf("Ready of the %s is %s%s", kind, state, withReason(ready)), false
	}
	return fmt.Sprintf("the %s is %s%s", kind, result.Status, withReason(reason)), false
}

// withReason returns a phrase that adds a reason, empty if the text does not have the form of one.
func withReason(reason string) string {
	if len(reason) > maxReason || !regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`).MatchString(reason) {
		return ""
	}
	return " with reason " + reason
}

// readyReason returns the reason and status of a Ready condition that is not true. Both are empty
// if there is none.
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

// objectStatus returns the status by kstatus, with two exceptions that waits make too. A Job has
// to be complete, not just started. A paused Deployment is current, since only its owner can
// resume its rollout.
func objectStatus(object *unstructured.Unstructured) (*status.Result, error) {
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return jobStatus(object)
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		paused, _, _ := unstructured.NestedBool(object.Object, "spec", "paused")
		if paused && object.GetDeletionTimestamp() == nil {
			return &status.Result{Status: status.CurrentStatus}, nil
		}
	}
	return status.Compute(object)
}

func jobStatus(object *unstructured.Unstructured) (*status.Result, error) {
	result, err := status.Compute(object)
	if err != nil || result.Status != status.CurrentStatus {
		return result, err
	}
	if readiness.JobStateOfObject(object) == readiness.JobComplete {
		return result, nil
	}
	return &status.Result{Status: status.InProgressStatus, Conditions: []status.Condition{{Reason: "JobNotComplete"}}}, nil
}
