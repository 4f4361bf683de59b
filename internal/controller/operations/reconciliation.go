// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/operation"
)

// reconciliation is one run of Reconcile. The steps of observe fill it in: each takes a
// reconciliation and returns one with more.
type reconciliation struct {
	op *opsv1alpha1.Operation
	in operation.Input
	// hr is the target; nil if it is not known. held are the HelmReleases whose annotation
	// names the Operation as the holder.
	hr   *helmv2.HelmRelease
	held []*helmv2.HelmRelease
	// identity returns the identity that reads and acts. It is made at the first call.
	identity func(ctx context.Context) (*identity, error)

	jobs []batchv1.Job
	pods []corev1.Pod
	plan hookjob.Plan
	// clones are the objects that a plan needs and that do not exist.
	clones []*unstructured.Unstructured
	// secrets are values that must not be in messages.
	secrets    []string
	companions []metav1.PartialObjectMetadata
}

// withoutJob reports whether a Job was created and no longer exists.
func withoutJob(rec reconciliation) bool {
	return running(rec.op) != nil && !slices.ContainsFunc(rec.in.Jobs, func(j operation.Job) bool { return j.Ours })
}

// endedWithoutPod reports whether the running Job has ended, and none of its Pods was read.
func endedWithoutPod(rec reconciliation) bool {
	run := running(rec.op)
	return run != nil && slices.ContainsFunc(rec.jobs, func(job batchv1.Job) bool {
		j := operation.JobOf(string(rec.op.UID), job, rec.pods)
		return j.UID == run.UID && j.Finished() && j.Result.Pod == ""
	})
}

func (rec reconciliation) withJob(job batchv1.Job) reconciliation {
	j := operation.JobOf(string(rec.op.UID), job, rec.pods)
	if rec.namespace() != rec.op.Namespace || rec.isRemote() {
		// Nothing was created elsewhere before the placement was recorded.
		j.Ours = rec.op.Status.Placement != nil && placed(rec.op, &job)
	}
	rec.in.Jobs = append(slices.Clip(rec.in.Jobs), j)
	return rec
}

// namespace returns the namespace of the Jobs: the recorded one, or the one of the plan.
func (rec reconciliation) namespace() string {
	switch {
	case rec.op.Status.Placement != nil:
		return rec.op.Status.Placement.Namespace
	case rec.plan.Release.Namespace != "":
		return rec.plan.Release.Namespace
	}
	return rec.op.Namespace
}

// isRemote reports whether the Jobs are in another cluster.
func (rec reconciliation) isRemote() bool {
	if to := rec.op.Status.Placement; to != nil {
		return to.KubeConfig != nil
	}
	return rec.hr != nil && rec.hr.Spec.KubeConfig != nil
}

// running returns the Job whose end is not recorded; nil if there is none.
func running(op *opsv1alpha1.Operation) *opsv1alpha1.JobResult {
	if op.Status.Outputs == nil || len(op.Status.Outputs.Jobs) == 0 {
		return nil
	}
	last := &op.Status.Outputs.Jobs[len(op.Status.Outputs.Jobs)-1]
	if last.Phase.Final() {
		return nil
	}
	return last
}
