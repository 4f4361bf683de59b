// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"helm.sh/helm/v3/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
)

// errCancelled ends a wait whose action is no longer wanted.
var errCancelled = errors.New("the wait was cancelled")

// look judges one live object; nil stands for an object that does not exist.
type look func(object *unstructured.Unstructured) (*status.Result, error)

// Wait waits until all objects are ready. A Job counts once it has started.
func (c *client) Wait(list kube.ResourceList, timeout time.Duration) error {
	return c.wait(list, timeout, ready)
}

// WaitWithJobs waits until all objects are ready and all Jobs have completed.
func (c *client) WaitWithJobs(list kube.ResourceList, timeout time.Duration) error {
	return c.wait(list, timeout, readyWithJobs)
}

// WatchUntilReady waits for hooks: Jobs and Pods have to run to their end,
// anything else is ready once it exists. A Job whose Pods fail gets all its time,
// since it is going to try again; one that has failed for good ends the wait.
func (c *client) WatchUntilReady(list kube.ResourceList, timeout time.Duration) error {
	return c.wait(list, timeout, hookDone)
}

// WaitForDelete waits until all objects are gone.
func (c *client) WaitForDelete(list kube.ResourceList, timeout time.Duration) error {
	return c.wait(list, timeout, gone)
}

// wait looks at every object until each has been judged current once. Objects
// that will certainly never get there end it early.
func (c *client) wait(list kube.ResourceList, timeout time.Duration, judge look) error {
	if c.idle != nil {
		resume := c.idle()
		defer resume()
	}
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	defer cancel()
	pending := list
	var waited time.Duration
	for {
		var reasons, failures []string
		pending, reasons, failures = survey(pending, judge)
		if len(pending) == 0 {
			return nil
		}
		if len(failures) > 0 {
			return fmt.Errorf("failed early due to stalled resources: [%s]", strings.Join(failures, ", "))
		}
		pause := pollEvery(waited)
		select {
		case <-time.After(pause):
			waited += pause
		case <-ctx.Done():
			if c.ctx.Err() != nil {
				return errCancelled
			}
			return fmt.Errorf("timeout waiting for: [%s]", strings.Join(reasons, ", "))
		}
	}
}

// survey looks once at each object and returns those that are not ready, with
// the reasons, and separately of those that will certainly never be.
func survey(list kube.ResourceList, judge look) (pending kube.ResourceList, reasons, failures []string) {
	for _, info := range list {
		result, err := inspect(info, judge)
		switch {
		case err != nil:
			reasons = append(reasons, fmt.Sprintf("%s: %s", subject(info), err))
		case result.Status == status.CurrentStatus:
			continue
		case result.Status == status.FailedStatus:
			failures = append(failures, describe(info, result))
		default:
			reasons = append(reasons, describe(info, result))
		}
		pending = append(pending, info)
	}
	return pending, reasons, failures
}

func inspect(info *resource.Info, judge look) (*status.Result, error) {
	object, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		if expires(info.Object) {
			return current(), nil
		}
		return judge(nil)
	}
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	return judge(&unstructured.Unstructured{Object: content})
}

// expires reports whether an object is a Job that the cluster removes once it
// has ended, which may be between two looks: if it is gone it has ended.
func expires(object runtime.Object) bool {
	u, ok := object.(*unstructured.Unstructured)
	if !ok || u.GetKind() != "Job" {
		return false
	}
	_, found, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "ttlSecondsAfterFinished")
	return found
}

func subject(info *resource.Info) string {
	return fmt.Sprintf("%s/%s/%s", info.Mapping.GroupVersionKind.Kind, info.Namespace, info.Name)
}

func describe(info *resource.Info, r *status.Result) string {
	return fmt.Sprintf("%s status: '%s': %s", subject(info), r.Status, strings.TrimSpace(r.Message))
}

func current() *status.Result { return &status.Result{Status: status.CurrentStatus} }

func inProgress(message string) *status.Result {
	return &status.Result{Status: status.InProgressStatus, Message: message}
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
