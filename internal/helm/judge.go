// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/internal/cel"
)

// look judges one live object; nil stands for an object that does not exist.
type look func(object *unstructured.Unstructured) (*status.Result, error)

func current() *status.Result { return &status.Result{Status: status.CurrentStatus} }

func inProgress(message string) *status.Result {
	return &status.Result{Status: status.InProgressStatus, Message: message}
}

// checked judges by the user's rules where there are any for the object. If one of
// them cannot be evaluated that is no verdict: the object may still get what the
// rule takes for granted.
func checked(checks *cel.ReadinessChecks, judge look) look {
	return func(object *unstructured.Unstructured) (*status.Result, error) {
		if object == nil {
			return judge(nil)
		}
		verdict, err := checks.Evaluate(object)
		switch {
		case err != nil:
			return nil, err
		case verdict == cel.Current:
			return current(), nil
		case verdict == cel.Failed:
			return &status.Result{Status: status.FailedStatus, Message: "failed by healthCheckExprs"}, nil
		case verdict == cel.InProgress:
			return inProgress("not current by healthCheckExprs"), nil
		}
		return judge(object)
	}
}

func gone(object *unstructured.Unstructured) (*status.Result, error) {
	if object == nil {
		return current(), nil
	}
	return inProgress("still exists"), nil
}

func ready(object *unstructured.Unstructured) (*status.Result, error) {
	if object == nil {
		return inProgress("not found"), nil
	}
	if paused, _, _ := unstructured.NestedBool(object.Object, "spec", "paused"); paused && object.GetKind() == "Deployment" {
		// Nobody but its owner can make a paused rollout go on.
		return current(), nil
	}
	return status.Compute(object)
}

func readyWithJobs(object *unstructured.Unstructured) (*status.Result, error) {
	if object != nil && object.GetKind() == "Job" {
		return jobDone(object)
	}
	return ready(object)
}

func hookDone(object *unstructured.Unstructured) (*status.Result, error) {
	if object == nil {
		return inProgress("not found"), nil
	}
	switch object.GetKind() {
	case "Job":
		return jobDone(object)
	case "Pod":
		return podDone(object)
	}
	return current(), nil
}

func jobDone(object *unstructured.Unstructured) (*status.Result, error) {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return nil, err
	}
	for _, entry := range conditions {
		condition, _ := entry.(map[string]any)
		if condition["status"] != string(corev1.ConditionTrue) {
			continue
		}
		switch condition["type"] {
		case "Complete":
			return current(), nil
		case "Failed":
			return &status.Result{
				Status:  status.FailedStatus,
				Message: fmt.Sprintf("%v: %v", condition["reason"], condition["message"]),
			}, nil
		}
	}
	return inProgress("Job has not completed"), nil
}

func podDone(object *unstructured.Unstructured) (*status.Result, error) {
	phase, _, err := unstructured.NestedString(object.Object, "status", "phase")
	if err != nil {
		return nil, err
	}
	switch corev1.PodPhase(phase) {
	case corev1.PodSucceeded:
		return current(), nil
	case corev1.PodFailed:
		message, _, _ := unstructured.NestedString(object.Object, "status", "message")
		return &status.Result{Status: status.FailedStatus, Message: "Pod failed. " + message}, nil
	case corev1.PodPending, corev1.PodRunning, corev1.PodUnknown:
	}
	return inProgress("Pod has not completed"), nil
}
