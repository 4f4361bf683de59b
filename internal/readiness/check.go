// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Check returns the readiness of a live object. A nil object does not exist.
type Check func(object *unstructured.Unstructured) (*status.Result, error)

// Current returns the result for an object that is ready.
func Current() *status.Result { return &status.Result{Status: status.CurrentStatus} }

// InProgress returns the result for an object that is not ready yet.
func InProgress(message string) *status.Result {
	return &status.Result{Status: status.InProgressStatus, Message: message}
}

// Rules are the readiness checks of a user. They return nil for an object without a rule. An
// error is no result: the object may still get the fields that the rule expects.
type Rules func(object *unstructured.Unstructured) (*status.Result, error)

// WithRules returns a check that applies the user's rules before another check. Rules do not
// apply to an object that does not exist.
func WithRules(rules Rules, check Check) Check {
	return func(object *unstructured.Unstructured) (*status.Result, error) {
		if object == nil {
			return check(nil)
		}
		if result, err := rules(object); err != nil || result != nil {
			return result, err
		}
		return check(object)
	}
}

// Gone is the check of a deletion.
func Gone(object *unstructured.Unstructured) (*status.Result, error) {
	if object == nil {
		return Current(), nil
	}
	return InProgress("still exists"), nil
}

// Ready is the check of an object. A Job is ready once it has started, and a paused Deployment
// is ready, because only its owner can resume the rollout.
func Ready(object *unstructured.Unstructured) (*status.Result, error) {
	if object == nil {
		return InProgress("not found"), nil
	}
	if paused, _, _ := unstructured.NestedBool(object.Object, "spec", "paused"); paused && object.GetKind() == "Deployment" {
		return Current(), nil
	}
	return status.Compute(object)
}

// ReadyWithJobs is Ready for objects whose Jobs must complete.
func ReadyWithJobs(object *unstructured.Unstructured) (*status.Result, error) {
	if object != nil && object.GetKind() == "Job" {
		return jobDone(object)
	}
	return Ready(object)
}

// HookDone is the check of a hook: Jobs and Pods must end with success, and other objects must
// exist.
func HookDone(object *unstructured.Unstructured) (*status.Result, error) {
	if object == nil {
		return InProgress("not found"), nil
	}
	switch object.GetKind() {
	case "Job":
		return jobDone(object)
	case "Pod":
		return podDone(object)
	}
	return Current(), nil
}

func jobDone(object *unstructured.Unstructured) (*status.Result, error) {
	if _, _, err := unstructured.NestedSlice(object.Object, "status", "conditions"); err != nil {
		return nil, err
	}
	switch JobStateOfObject(object) {
	case JobComplete:
		return Current(), nil
	case JobFailed:
		c := trueCondition(object, string(batchv1.JobFailed))
		return &status.Result{Status: status.FailedStatus, Message: fmt.Sprintf("%v: %v", c["reason"], c["message"])}, nil
	case JobUnfinished, JobFailing:
	}
	return InProgress("Job has not completed"), nil
}

func podDone(object *unstructured.Unstructured) (*status.Result, error) {
	phase, _, err := unstructured.NestedString(object.Object, "status", "phase")
	if err != nil {
		return nil, err
	}
	switch corev1.PodPhase(phase) {
	case corev1.PodSucceeded:
		return Current(), nil
	case corev1.PodFailed:
		message, _, _ := unstructured.NestedString(object.Object, "status", "message")
		return &status.Result{Status: status.FailedStatus, Message: "Pod failed. " + message}, nil
	case corev1.PodPending, corev1.PodRunning, corev1.PodUnknown:
	}
	return InProgress("Pod has not completed"), nil
}
