// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// JobState is the state of a Job according to its conditions.
type JobState int

const (
	// JobUnfinished means that the Job has not ended. It may not have started.
	JobUnfinished JobState = iota
	// JobFailing means that the Job will fail once its Pods have terminated.
	JobFailing
	// JobFailed means that the Job has failed.
	JobFailed
	// JobComplete means that the Job has succeeded.
	JobComplete
)

// JobStateOf returns the state of a Job. isTrue reports whether the Job has a condition with status
// True.
func JobStateOf(isTrue func(kind batchv1.JobConditionType) bool) JobState {
	switch {
	case isTrue(batchv1.JobComplete):
		return JobComplete
	case isTrue(batchv1.JobFailed):
		return JobFailed
	case isTrue(batchv1.JobFailureTarget):
		return JobFailing
	}
	return JobUnfinished
}

// JobStateOfObject returns the state of a Job that was read as an unstructured object.
func JobStateOfObject(job *unstructured.Unstructured) JobState {
	return JobStateOf(func(kind batchv1.JobConditionType) bool { return IsTrue(job, string(kind)) })
}

// IsTrue reports whether an object has a condition with status True.
func IsTrue(object *unstructured.Unstructured, kind string) bool {
	return trueCondition(object, kind) != nil
}

// trueCondition returns the condition of a type if its status is True; nil otherwise.
func trueCondition(object *unstructured.Unstructured, kind string) map[string]any {
	found, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
	conditions, _ := found.([]any)
	for _, entry := range conditions {
		if c, _ := entry.(map[string]any); c["type"] == kind && c["status"] == string(corev1.ConditionTrue) {
			return c
		}
	}
	return nil
}

// Expires reports whether an object is a Job that the cluster deletes some time after its end, maybe
// between two reads. If such a Job is gone, it has ended.
func Expires(u *unstructured.Unstructured) bool {
	if u.GetKind() != "Job" || u.GroupVersionKind().Group != batchv1.GroupName {
		return false
	}
	seconds, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "ttlSecondsAfterFinished")
	return seconds != nil
}
