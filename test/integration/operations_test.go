// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestOperation: a hook runs once, its result is recorded, and all is as before.
func TestOperation(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	w.publish("web", "1.0.0", hooked(t, "1.0.0", "pre-rollback"))
	hr := w.release("web", nil)
	w.untilReady(hr)
	jobs := w.countJobs()
	op := w.operate(hr, "once")
	job := w.theJob(op)
	pod := w.runPod(job)
	w.untilPhase(op, opsv1alpha1.PhaseRunning)
	w.untilSays(hr, helmv2.ConditionLocked, metav1.ConditionTrue, helmv2.ReasonOperationRunning, "Operation once")
	if hr.Annotations[opsv1alpha1.AnnotationHolder] != string(op.UID) {
		t.Errorf("the holder is %v, not %s", hr.Annotations, op.UID)
	}
	w.endPod(job, pod, 0)
	w.tidy(op)
	o := op.Status.Outputs
	if op.Status.Phase != opsv1alpha1.PhaseSucceeded || o == nil || o.ExitCode == nil || *o.ExitCode != 0 || o.LogsRef == nil || o.LogsRef.Name != pod.Name {
		t.Fatalf("status is %+v", op.Status)
	}
	if r := o.Release; r == nil || r.Name != "web" || r.Revision != 1 || r.Namespace != w.namespace {
		t.Errorf("the release is %+v", r)
	}
	w.until(hr, "to be free", func(hr *helmv2.HelmRelease) bool {
		return hr.Annotations[opsv1alpha1.AnnotationHolder] == "" && condition(hr, helmv2.ConditionLocked).Type == ""
	})
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(job), job))
	if ttl := job.Spec.TTLSecondsAfterFinished; ttl == nil || *ttl != opsv1alpha1.DefaultTTLSeconds {
		t.Errorf("the TTL is %v", ttl)
	}
	if made, ran := jobs.counts(); made != 1 || ran != 1 {
		t.Errorf("%d Jobs were made, and %d ran", made, ran)
	}
	if job.Labels[opsv1alpha1.LabelClusterID] != "it" {
		t.Errorf("labels are %v", job.Labels)
	}
	// A finished Operation no longer changes.
	w.must(suite.client.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	before := op.DeepCopy()
	w.quiet(hr)
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(op), op))
	if before.ResourceVersion != op.ResourceVersion {
		t.Errorf("it changed: %+v", op.Status)
	}
}

// TestOperationOfTests: an Operation of event test runs the tests of the chart, and is deleted when its
// TTL is over.
func TestOperationOfTests(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	w.publish("web", "1.0.0", hooked(t, "1.0.0", "test"))
	hr := w.release("web", nil)
	w.untilReady(hr)
	op := w.operate(hr, "tests", func(op *opsv1alpha1.Operation) {
		op.Spec.Parameters = &opsv1alpha1.Parameters{Event: "test"}
		op.Spec.TTLSecondsAfterFinished = new(int32(3600))
	})
	w.succeed(op)
	w.tidy(op)
	if o := op.Status.Outputs; op.Status.Phase != opsv1alpha1.PhaseSucceeded || len(o.Jobs) != 1 || o.Jobs[0].Hook != "web-migrate" {
		t.Errorf("status is %+v", op.Status)
	}
	op.Spec.TTLSecondsAfterFinished = new(int32)
	w.must(suite.client.Update(t.Context(), op))
	w.untilOperationGone(op)
}

// TestOperationStops: cancelled or deleted, its pods go first.
func TestOperationStops(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	w.publish("web", "1.0.0", hooked(t, "1.0.0", "pre-rollback"))
	hr := w.release("web", nil)
	w.untilReady(hr)
	for _, how := range []string{"cancelled", "deleted"} {
		t.Run(how, func(t *testing.T) {
			op := w.operate(hr, how)
			job := w.theJob(op)
			pod := w.runPod(job)
			w.untilPhase(op, opsv1alpha1.PhaseRunning)
			if how == "cancelled" {
				before := op.DeepCopy()
				op.Spec.Cancel = true
				w.must(suite.client.Patch(t.Context(), op, client.MergeFrom(before)))
			} else {
				w.must(suite.client.Delete(t.Context(), op))
			}
			w.untilOperation(op, "Cancelling", func(op *opsv1alpha1.Operation) bool {
				c := apimeta.FindStatusCondition(op.Status.Conditions, opsv1alpha1.ConditionCancelled)
				return c != nil && c.Reason == opsv1alpha1.ReasonCancelling
			})
			untilTrue(w, "the Job to go", func() bool { return len(w.jobs(op)) == 0 })
			w.quiet(hr)
			if hr.Annotations[opsv1alpha1.AnnotationHolder] == "" {
				t.Error("the release is free although a pod runs")
			}
			// The garbage collector does not run here.
			w.must(suite.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
			if how == "cancelled" {
				w.untilPhase(op, opsv1alpha1.PhaseCancelled)
				w.tidy(op)
			} else {
				w.untilOperationGone(op)
			}
			w.until(hr, "to be free", func(hr *helmv2.HelmRelease) bool { return hr.Annotations[opsv1alpha1.AnnotationHolder] == "" })
		})
	}
}

// companions are hooks that Helm deletes after use, and that a migration needs.
const companions = `---
apiVersion: v1
kind: ServiceAccount
metadata: {name: migrator, annotations: {helm.sh/hook: pre-rollback, helm.sh/hook-weight: "-5"}}
---
apiVersion: v1
kind: Secret
metadata: {name: migrator, annotations: {helm.sh/hook: pre-rollback, helm.sh/hook-weight: "-5"}}
stringData: {password: hunter22}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: migrator, annotations: {helm.sh/hook: pre-rollback, helm.sh/hook-weight: "-5"}}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: migrator, annotations: {helm.sh/hook: pre-rollback, helm.sh/hook-weight: "-5"}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: migrator}
subjects: [{kind: ServiceAccount, name: migrator}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: needy, annotations: {helm.sh/hook: pre-rollback}}
spec:
  template:
    spec:
      restartPolicy: Never
      serviceAccountName: migrator
      containers:
      - name: migrate
        image: example.com/migrate:1
        envFrom: [{secretRef: {name: migrator}}, {configMapRef: {name: late}}]
`

// TestOperationNeeds: objects that Helm has deleted are created for the Job and deleted afterwards.
// Missing objects of others are named and waited for.
func TestOperationNeeds(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	w.publish("web", "1.0.0", hooked(t, "1.0.0", "pre-rollback", companions))
	hr := w.release("web", nil)
	w.untilReady(hr)
	op := w.operate(hr, "needy", func(op *opsv1alpha1.Operation) { op.Spec.Parameters.HookName = "needy" })
	w.untilBlocked(op, opsv1alpha1.ReasonMissingDependencies, "ConfigMap late")
	if jobs := w.jobs(op); len(jobs) > 0 {
		t.Errorf("there is a Job: %+v", jobs[0].ObjectMeta)
	}
	if hr.Annotations[opsv1alpha1.AnnotationHolder] != "" {
		t.Error("it holds the release while it waits")
	}
	w.must(suite.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "late"}}))
	job := w.theJob(op)
	kinds := []client.ObjectList{&corev1.ServiceAccountList{}, &corev1.SecretList{}, roles(), roleBindings()}
	mine := []client.ListOption{client.InNamespace(w.namespace), client.MatchingLabels{opsv1alpha1.LabelOperation: string(op.UID)}}
	for _, list := range kinds {
		w.must(suite.client.List(t.Context(), list, mine...))
		if n := apimeta.LenList(list); n != 1 {
			t.Errorf("%d of %T", n, list)
		}
	}
	w.endPod(job, w.runPod(job), 0)
	w.tidy(op)
	for _, list := range kinds {
		w.must(suite.client.List(t.Context(), list, mine...))
		if n := apimeta.LenList(list); n != 0 {
			t.Errorf("%d of %T are left", n, list)
		}
	}
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(job), &batchv1.Job{}))
}

// TestOperationTargets: none, one by ownership, and several.
func TestOperationTargets(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	w.publish("web", "1.0.0", hooked(t, "1.0.0", "pre-rollback"))
	owner := func(controller bool) func(*helmv2.HelmRelease) {
		return func(hr *helmv2.HelmRelease) {
			hr.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.vworkspace.io/v1", Kind: "ApplicationInstance", Name: "mine", UID: "1-2-3", Controller: &controller}}
		}
	}
	owned := func(op *opsv1alpha1.Operation) {
		op.Spec.TargetRef = opsv1alpha1.TargetReference{APIVersion: "apps.vworkspace.io/v1alpha1", Kind: "ApplicationInstance", Name: "mine"}
	}
	source := func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "web" }
	other := w.release("other", nil, source, owner(false))
	w.untilReady(other)
	op := w.operate(other, "owned", owned)
	w.untilBlocked(op, opsv1alpha1.ReasonTargetNotFound, "ApplicationInstance mine")
	hr := w.release("web", nil, source)
	w.untilReady(hr)
	w.edit(hr, owner(true))
	w.untilOperation(op, "the hook of another not to be found", func(op *opsv1alpha1.Operation) bool { return op.Status.Phase == opsv1alpha1.PhaseFailed })
	if c := apimeta.FindStatusCondition(op.Status.Conditions, opsv1alpha1.ConditionAccepted); c.Reason != opsv1alpha1.ReasonHookNotFound || len(op.Status.Hooks) != 1 || op.Status.Hooks[0].Name != "web-migrate" {
		t.Errorf("status is %+v", op.Status)
	}
	second := w.operate(hr, "by-owner", owned)
	w.succeed(second)
	w.untilPhase(second, opsv1alpha1.PhaseSucceeded)
	w.untilReady(w.release("web-2", nil, source, owner(true)))
	third := w.operate(hr, "ambiguous", owned)
	w.untilBlocked(third, opsv1alpha1.ReasonTargetAmbiguous, "2 HelmReleases")
}
