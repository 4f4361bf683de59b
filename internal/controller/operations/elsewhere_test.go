// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/test/controllertest"
)

// far is the namespace of a release that is not in the namespace of its Operation.
const far = "prod"

// newFarBench returns a bench whose release is in another namespace, or in another cluster too.
func newFarBench(t *testing.T, remote bool, objects ...client.Object) *bench {
	t.Helper()
	b := newBench(t, append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: far}})...)
	b.stored.Release.Namespace = far
	if remote {
		hr := &helmv2.HelmRelease{}
		b.must(b.c.Get(t.Context(), client.ObjectKey{Namespace: "apps", Name: "web"}, hr))
		hr.Spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: "far"}}
		b.must(b.c.Update(t.Context(), hr))
	}
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// endJob ends a Job, as Kubernetes does.
func (b *bench) endJob(job *batchv1.Job) {
	b.t.Helper()
	now := metav1.NewTime(b.now)
	job.Status.StartTime, job.Status.CompletionTime = &now, &now
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	b.must(b.c.Status().Update(b.t.Context(), job))
}

// settle reconciles a few times.
func (b *bench) settle() {
	b.t.Helper()
	for range 8 {
		b.reconcile()
	}
}

// deleted deletes the Operation and reconciles. It returns whether the Operation is gone.
func (b *bench) deleted() bool {
	b.t.Helper()
	op := &opsv1alpha1.Operation{}
	err := b.c.Get(b.t.Context(), client.ObjectKey{Namespace: "apps", Name: "op"}, op)
	if err == nil && op.DeletionTimestamp.IsZero() {
		b.must(b.c.Delete(b.t.Context(), op, client.Preconditions{UID: &op.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	}
	b.settle()
	return apierrors.IsNotFound(b.c.Get(b.t.Context(), client.ObjectKey{Namespace: "apps", Name: "op"}, op))
}

// emitted returns the messages of the events with a reason.
func (b *bench) emitted(reason string) (messages []string) {
	b.t.Helper()
	all, _ := b.r.events.(controllertest.Events)
	for {
		select {
		case e := <-all:
			if text := string(e); strings.Contains(text, reason) {
				messages = append(messages, text)
			}
		default:
			return messages
		}
	}
}

func (b *bench) blocked() metav1.Condition {
	b.t.Helper()
	if c := apimeta.FindStatusCondition(b.operation().Status.Conditions, opsv1alpha1.ConditionBlocked); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// TestOperationElsewhereSteps: the placement is recorded before the Job is created, and with the
// Operation the Job is deleted. Nothing is done as the controller.
func TestOperationElsewhereSteps(t *testing.T) {
	for name, remote := range map[string]bool{"namespace": false, "cluster": true} {
		t.Run(name, func(t *testing.T) {
			b := newFarBench(t, remote)
			var all [][]string
			for range 5 {
				all = append(all, slices.Clone(b.reconcile()))
			}
			job := b.operation().Status.Outputs.JobName
			for i, want := range [][]string{
				{"try Job" + job, "status op", "patch op"},         // the finalizer
				{"try Job" + job, "patch web"},                     // the lock
				{"try Job" + job, "status op", "create Job" + job}, // the placement, and the Job
				{"status op"},    // its UID
				{"patch " + job}, // and off it goes
			} {
				if !slices.Equal(all[i], want) {
					t.Errorf("reconciliation %d: %q, want %q", i, all[i], want)
				}
			}
			made := b.untilJob()
			if made.Namespace != far || len(made.OwnerReferences) > 0 || made.Annotations[opsv1alpha1.AnnotationOperation] != "apps/op" {
				t.Errorf("the Job is %+v", made.ObjectMeta)
			}
			b.reconcile()
			if len(b.watched) != 1 || b.watched[0].Namespace != far || b.watched[0].Name != made.Name {
				t.Errorf("the watches are %+v", b.watched)
			}
			b.endJob(made)
			b.settle()
			if op := b.operation(); op.Status.Phase != opsv1alpha1.PhaseSucceeded || len(op.Finalizers) == 0 {
				t.Fatalf("%s, finalizers %v", op.Status.Phase, op.Finalizers)
			}
			if !b.deleted() {
				t.Errorf("the Operation stays: %+v", b.operation().Status)
			}
			if err := b.c.Get(t.Context(), client.ObjectKeyFromObject(made), made); !apierrors.IsNotFound(err) {
				t.Errorf("the Job stays: %v", err)
			}
			if b.asController || len(b.watched) > 0 {
				t.Errorf("as the controller: %v, watched %v", b.asController, b.watched)
			}
		})
	}
}

// TestOperationElsewhereWithoutRelease: the HelmRelease is removed by force. The Job is stopped with
// the recorded identity.
func TestOperationElsewhereWithoutRelease(t *testing.T) {
	b := newFarBench(t, false)
	job := b.untilJob()
	b.must(b.c.Delete(t.Context(), &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}},
		client.Preconditions{UID: new(job.UID)}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	if !b.deleted() {
		t.Errorf("the Operation stays: %+v", b.operation().Status)
	}
	if err := b.c.Get(t.Context(), client.ObjectKeyFromObject(job), job); !apierrors.IsNotFound(err) {
		t.Errorf("the Job stays: %v", err)
	}
	if b.asController {
		t.Error("it is stopped as the controller")
	}
}

// TestOperationElsewhereTrustsNoLabel: Jobs and Pods that only have the label are neither deleted nor
// counted, nor is a Job that was there before.
func TestOperationElsewhereTrustsNoLabel(t *testing.T) {
	labels := map[string]string{opsv1alpha1.LabelOperation: "op-1"}
	foreign := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: far, Name: "foreign", UID: "f", Labels: labels}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: far, Name: "foreign", Labels: labels}}
	b := newFarBench(t, false, foreign, pod)
	for range 5 {
		b.reconcile()
	}
	if !b.deleted() {
		t.Fatalf("the Operation waits for a foreign Pod: %+v", b.operation().Status)
	}
	var left batchv1.JobList
	b.must(b.c.List(t.Context(), &left))
	if len(left.Items) != 1 || left.Items[0].Name != "foreign" {
		t.Errorf("%d Jobs are left", len(left.Items))
	}

	// The name is known before. A Job of the name is not adopted.
	first := newFarBench(t, false)
	job := first.untilJob()
	second := newFarBench(t, false, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: far, Name: job.Name, UID: "before", Labels: labels, Annotations: job.Annotations,
	}})
	second.settle()
	if op := second.operation(); op.Status.Phase != opsv1alpha1.PhaseFailed || op.Status.Placement != nil ||
		!apimeta.IsStatusConditionFalse(op.Status.Conditions, opsv1alpha1.ConditionAccepted) {
		t.Errorf("status is %+v", op.Status)
	}
}

// TestOperationElsewhereUnreachable: a cluster that does not answer is reported at creation, during
// the run and at the deletion, and at last an event names what is left.
func TestOperationElsewhereUnreachable(t *testing.T) {
	silent := &cluster.Unreachable{Host: "https://far.example", Since: benchNow(), Cause: "no route"}
	b := newFarBench(t, true)
	b.unreachable = silent
	b.settle()
	if c := b.blocked(); c.Reason != opsv1alpha1.ReasonClusterUnreachable || !strings.Contains(c.Message, "far.example") {
		t.Errorf("at creation: %+v", c)
	}
	b.unreachable = nil
	job := b.untilJob()
	b.reconcile()
	b.unreachable = silent
	b.settle()
	if c := b.blocked(); c.Reason != opsv1alpha1.ReasonClusterUnreachable || b.operation().Status.Phase != opsv1alpha1.PhaseRunning {
		t.Errorf("during the run: %+v", c)
	}
	b.unreachable = nil
	b.settle()
	if c := b.blocked(); c.Type != "" {
		t.Errorf("it answers again: %+v", c)
	}
	b.unreachable = silent
	if b.deleted() {
		t.Fatal("the Operation is gone, and its Job is not")
	}
	// The fake client sets the real time.
	b.now = b.operation().DeletionTimestamp.Add(time.Hour - time.Second)
	if b.deleted() {
		t.Fatal("the Operation is gone too early")
	}
	b.emitted("")
	b.now = b.now.Add(time.Second)
	if !b.deleted() {
		t.Errorf("the Operation stays: %+v", b.operation().Status)
	}
	if left := b.emitted(opsv1alpha1.ReasonObjectsLeft); len(left) != 1 || !strings.Contains(left[0], "Job "+job.Name) || !strings.Contains(left[0], "Secret far") {
		t.Errorf("events: %q", left)
	}
}

// TestOperationElsewhereWithoutRights: what the identity of the release may not do is not done with
// another one.
func TestOperationElsewhereWithoutRights(t *testing.T) {
	forbidden := apierrors.NewForbidden(batchv1.Resource("jobs"), "", errors.New("no"))
	t.Run("denied", func(t *testing.T) {
		b := newFarBench(t, false)
		b.untilJob()
		b.denyList = forbidden
		b.settle()
		if c := b.blocked(); c.Reason != opsv1alpha1.ReasonAccessDenied {
			t.Errorf("Blocked is %+v", c)
		}
		if b.deleted() {
			t.Error("the Operation is gone, and its Job is not")
		}
	})
	t.Run("namespace gone", func(t *testing.T) {
		b := newFarBench(t, false)
		job := b.untilJob()
		b.denyList = forbidden
		b.must(b.c.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: far}},
			client.Preconditions{UID: new(job.UID)}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
		if !b.deleted() {
			t.Errorf("the Operation stays: %+v", b.operation().Status)
		}
	})
	t.Run("account gone", func(t *testing.T) {
		b := newFarBench(t, false)
		b.untilJob()
		b.denyList, b.noAccount = forbidden, true
		if !b.deleted() {
			t.Errorf("the Operation stays: %+v", b.operation().Status)
		}
		if left := b.emitted(opsv1alpha1.ReasonObjectsLeft); len(left) != 1 {
			t.Errorf("events: %q", left)
		}
	})
}
