// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/status"
	"github.com/pintle-dev/pintle/test/harness"
)

// rounds returns the number of repetitions of each order.
func rounds() int {
	if testing.Short() {
		return 1
	}
	return harness.Repetitions(10)
}

// noOverlap checks every version of the HelmReleases of a namespace. The lock and the announcement
// are on one object, so no overlap can be missed. The lock is held until all Jobs are deleted.
func (w *world) noOverlap() {
	w.t.Helper()
	watching, err := client.NewWithWatch(suite.config, client.Options{Scheme: controller.Scheme()})
	w.must(err)
	seen := 0
	releases, err := watching.Watch(w.t.Context(), &helmv2.HelmReleaseList{}, client.InNamespace(w.namespace))
	w.must(err)
	var ended sync.WaitGroup
	ended.Go(func() {
		for e := range releases.ResultChan() {
			if hr, ok := e.Object.(*helmv2.HelmRelease); ok {
				seen++
				if a, by := status.Announced(hr.Status), hr.Annotations[opsv1alpha1.AnnotationHolder]; a != "" && by != "" {
					w.t.Errorf("%s in version %s, while Operation %s has the release", a, hr.ResourceVersion, by)
				}
			}
		}
	})
	w.t.Cleanup(func() {
		releases.Stop()
		ended.Wait()
		if seen < rounds() {
			w.t.Errorf("only %d versions were seen", seen)
		}
	})
}

// helmsJob waits for the Job that Helm creates of the hook, or until want returns that there is
// none.
func (w *world) helmsJob(name string) *batchv1.Job {
	w.t.Helper()
	job := &batchv1.Job{}
	untilTrue(w, "Helm to make a Job", func() bool {
		err := suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, job)
		w.must(client.IgnoreNotFound(err))
		return err == nil && job.DeletionTimestamp.IsZero() && job.Status.CompletionTime == nil
	}, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}})
	return job
}

func (w *world) noJob(name string) {
	w.t.Helper()
	err := suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &batchv1.Job{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		w.t.Errorf("there is Job %s: %v", name, err)
	}
}

func (w *world) upgrade(hr *helmv2.HelmRelease, message string) {
	w.t.Helper()
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(w.t, map[string]any{"message": message}) })
}

// TestUpgradeWaitsForOperation: an upgrade that is requested while a hook runs starts after it.
func TestUpgradeWaitsForOperation(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	w.noOverlap()
	w.publish("web", "1.0.0", hooked(t, "1.0.0", "pre-upgrade"))
	hr := w.release("web", nil)
	w.untilReady(hr)
	for i := range rounds() {
		op := w.operate(hr, fmt.Sprintf("r%d", i))
		job := w.theJob(op)
		pod := w.runPod(job)
		w.upgrade(hr, fmt.Sprint(i))
		w.until(hr, "the upgrade to wait", func(hr *helmv2.HelmRelease) bool {
			c := condition(hr, helmv2.ConditionReconciling)
			return c.Reason == helmv2.ReasonProgressingWithRetry && c.ObservedGeneration == hr.Generation
		})
		w.untilSays(hr, helmv2.ConditionLocked, metav1.ConditionTrue, helmv2.ReasonOperationRunning, "Operation "+op.Name)
		w.noJob("web-migrate")
		w.endPod(job, pod, 0)
		w.endJob(w.helmsJob("web-migrate"), true)
		w.untilReady(hr)
		w.untilPhase(op, opsv1alpha1.PhaseSucceeded)
		if newest(hr) != i+2 {
			t.Fatalf("round %d: revision %d", i, newest(hr))
		}
	}
}

// TestOperationWaitsForUpgrade: an Operation that is created during an upgrade starts after it.
func TestOperationWaitsForUpgrade(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	w.noOverlap()
	w.publish("web", "1.0.0", hooked(t, "1.0.0", "pre-upgrade"))
	hr := w.release("web", nil)
	w.untilReady(hr)
	for i := range rounds() {
		w.upgrade(hr, fmt.Sprint(i))
		helms := w.helmsJob("web-migrate")
		op := w.operate(hr, fmt.Sprintf("r%d", i))
		w.untilBlocked(op, opsv1alpha1.ReasonReleaseBusy, "HelmRelease web", "Running 'upgrade' action")
		if jobs := w.jobs(op); len(jobs) > 0 {
			t.Fatalf("round %d: there is a Job: %+v", i, jobs[0].ObjectMeta)
		}
		w.endJob(helms, true)
		w.succeed(op)
		w.untilPhase(op, opsv1alpha1.PhaseSucceeded)
		if got := op.Status.Outputs.Release.Revision; got != i+2 {
			t.Fatalf("round %d: the hook is of revision %d", i, got)
		}
		w.untilReady(hr)
		w.tidy(op)
	}
}

// TestOperationAndUpgradeAtOnce: a concurrent Operation and upgrade run one after the other, in any
// order.
func TestOperationAndUpgradeAtOnce(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	w.noOverlap()
	w.publish("web", "1.0.0", hooked(t, "1.0.0", "pre-upgrade"))
	hr := w.release("web", nil)
	w.untilReady(hr)
	for i := range rounds() {
		op := &opsv1alpha1.Operation{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("r%d", i)},
			Spec: opsv1alpha1.OperationSpec{
				TargetRef: opsv1alpha1.TargetReference{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: hr.Name},
				Type:      opsv1alpha1.TypeMigration, Engine: opsv1alpha1.EngineHelmHookJob,
				Parameters: &opsv1alpha1.Parameters{HookName: "web-migrate"},
			},
		}
		created := make(chan error)
		go func() { created <- suite.client.Create(t.Context(), op) }()
		w.upgrade(hr, fmt.Sprint(i))
		w.must(<-created)
		done := map[string]bool{}
		untilTrue(w, "both Jobs", func() bool {
			for _, job := range w.jobs(op) {
				if !done[job.Name] && (job.Spec.Suspend == nil || !*job.Spec.Suspend) {
					w.endPod(&job, w.runPod(&job), 0)
					done[job.Name] = true
				}
			}
			helms := &batchv1.Job{}
			err := suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "web-migrate"}, helms)
			w.must(client.IgnoreNotFound(err))
			if err == nil && !done[helms.Name] && helms.DeletionTimestamp.IsZero() && helms.Status.CompletionTime == nil {
				w.endJob(helms, true)
				done[helms.Name] = true
			}
			return len(done) == 2
		}, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace}})
		w.untilPhase(op, opsv1alpha1.PhaseSucceeded)
		w.untilReady(hr)
	}
}
