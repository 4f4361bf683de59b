// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// noMissedDeletion is the time after which a wait reads an object of which no event came: a wait
// that misses a deletion takes longer.
const noMissedDeletion = 30 * time.Second

// hookChart has a Pod and a Job as hooks of upgrades, with one delete policy.
func hookChart(t *testing.T, policy string) []byte {
	t.Helper()
	meta := func(name string) string {
		return fmt.Sprintf("metadata:\n  name: %s\n  annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-delete-policy: %q}\n", name, policy)
	}
	const pod = "restartPolicy: Never, containers: [{name: main, image: example.com/none}]"
	return pack(t, "note", "1.0.0", map[string]string{
		"templates/pod.yaml": "apiVersion: v1\nkind: Pod\n" + meta("pod") + "spec: {" + pod + "}\n",
		"templates/job.yaml": "apiVersion: batch/v1\nkind: Job\n" + meta("job") + "spec: {backoffLimit: 0, template: {spec: {" + pod + "}}}\n",
	})
}

// endHooks lets the hooks end soon after they were created. The Pod fails if fails is true.
func (b *bench) endHooks(ctx context.Context, fails bool) {
	for ctx.Err() == nil {
		pod := &corev1.Pod{}
		if err := suite.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: "pod"}, pod); err == nil && pod.Status.Phase == corev1.PodPending {
			pod.Status.Phase = corev1.PodSucceeded
			if fails {
				pod.Status.Phase = corev1.PodFailed
			}
			_ = suite.client.Status().Update(ctx, pod)
		}
		job := &batchv1.Job{}
		if err := suite.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: "job"}, job); err == nil && job.Status.CompletionTime == nil {
			now := metav1.Now()
			job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &now, &now, 1
			for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
				job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
			}
			_ = suite.client.Status().Update(ctx, job)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestHooksThatAreGone: upgrades with Pods and Jobs as hooks do not wait for hooks that are gone,
// with any delete policy. Each needs at most one read per answer to a delete that leaves open
// whether the hook is gone.
func TestHooksThatAreGone(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		fails bool
		// left are the hooks that exist in the end.
		left []string
	}{
		"before-hook-creation":                            {false, []string{"job", "pod"}},
		"hook-succeeded":                                  {false, nil},
		"hook-failed,before-hook-creation":                {true, []string{"job"}},
		"before-hook-creation,hook-succeeded,hook-failed": {false, nil},
	}
	for policy, tc := range cases {
		t.Run(policy, func(t *testing.T) {
			if testing.Short() && (policy == "hook-succeeded" || tc.fails) {
				t.Skip("long")
			}
			t.Parallel()
			b := newBench(t)
			archive := hookChart(t, policy)
			b.mustRun(release.Install{Timeout: patience}, archive, nil, helmv2.HelmReleaseSpec{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go b.endHooks(ctx, tc.fails)
			upgrades := 5
			if testing.Short() {
				upgrades = 2
			}
			for range upgrades {
				begun := time.Now()
				out := b.run(release.Upgrade{Timeout: patience}, archive, nil, helmv2.HelmReleaseSpec{})
				if (out.Err != nil) != tc.fails {
					t.Fatalf("the upgrade ended with %v", out.Err)
				}
				if tc.fails && !strings.Contains(out.Err.Error(), "Pod failed") {
					t.Errorf("the hook ended with %v", out.Err)
				}
				took := time.Since(begun)
				for _, path := range []string{"/pods/pod", "/jobs/job"} {
					reads, deletes := b.asked("GET", path+"?"), b.asked("DELETE", path+"?")
					// One is of a wait for completion that joined a watch late.
					if reads > deletes+1 || reads > deletes && took > noMissedDeletion {
						t.Errorf("%s was read %d times, and deleted %d times, in %s", path, reads, deletes, took)
					}
				}
			}
			cancel()
			if left := b.hooksLeft(); !slices.Equal(left, tc.left) {
				t.Errorf("%q are left, want %q", left, tc.left)
			}
		})
	}
}

func (b *bench) hooksLeft() (names []string) {
	b.t.Helper()
	jobs, pods := &batchv1.JobList{}, &corev1.PodList{}
	b.must(suite.client.List(b.t.Context(), jobs, client.InNamespace(b.namespace)))
	b.must(suite.client.List(b.t.Context(), pods, client.InNamespace(b.namespace)))
	for _, j := range jobs.Items {
		names = append(names, j.Name)
	}
	for _, p := range pods.Items {
		names = append(names, p.Name)
	}
	return names
}

// TestUninstallWaitsForPods: an uninstall waits for Pods, also with finalizers and foreground
// deletion, no longer than they exist.
func TestUninstallWaitsForPods(t *testing.T) {
	t.Parallel()
	for _, policy := range []helmv2.DeletionPropagation{"background", "foreground"} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s%s}\nspec: {restartPolicy: Never, containers: [{name: main, image: example.com/none}]}\n"
			archive := pack(t, "note", "1.0.0", map[string]string{
				"templates/gone.yaml": fmt.Sprintf(pod, "gone", ""),
				"templates/held.yaml": fmt.Sprintf(pod, "held", ", finalizers: [example.com/slow]"),
			})
			b.mustRun(release.Install{Timeout: patience}, archive, nil, helmv2.HelmReleaseSpec{Install: &helmv2.Install{DisableWait: true}})
			done := make(chan error, 1)
			go func() { done <- b.letGo() }()
			begun := time.Now()
			target := release.Target{Name: "app", Namespace: b.namespace, StorageNamespace: b.namespace}
			b.mustRun(release.Uninstall{Timeout: patience, Target: target}, archive, nil, helmv2.HelmReleaseSpec{
				Uninstall: &helmv2.Uninstall{DeletionPropagation: policy},
			})
			took := time.Since(begun)
			for _, path := range []string{"/pods/gone?", "/pods/held?"} {
				if reads, deletes := b.asked("GET", path), b.asked("DELETE", path); reads > deletes && took > noMissedDeletion {
					t.Errorf("%s was read %d times, and deleted %d times, in %s", path, reads, deletes, took)
				}
			}
			b.must(<-done)
			if left := b.hooksLeft(); len(left) > 0 {
				t.Errorf("%q are left", left)
			}
		})
	}
}

// letGo removes the finalizers of Pods a moment after they were deleted, those of deletion
// in the foreground too, and returns once no Pod is left. No garbage collector runs here.
func (b *bench) letGo() error {
	ctx := b.t.Context()
	for {
		time.Sleep(300 * time.Millisecond)
		pods := &corev1.PodList{}
		if err := suite.client.List(ctx, pods, client.InNamespace(b.namespace)); err != nil || len(pods.Items) == 0 {
			return err
		}
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp == nil {
				continue
			}
			before := pod.DeepCopy()
			pod.Finalizers = nil
			if err := suite.client.Patch(ctx, &pod, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
}
