// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
)

// TestHookSurvivesKill: the controller is killed while containers of hooks run, and started again.
// Each container runs once and to its end, and its revision is deployed. Not parallel: it ends the
// controller of the other tests.
func TestHookSurvivesKill(t *testing.T) {
	w := newWorld(t)
	all := []*helmv2.HelmRelease{w.release("before-hook-creation", values{})}
	for _, policy := range []string{"hook-succeeded", "hook-failed"} {
		hr := w.Draft(policy, *all[0].Spec.DeepCopy(), values{})
		w.Create(hr)
		all = append(all, hr)
	}
	for _, hr := range all {
		w.UntilReady(hr)
		w.Edit(hr, func(hr *helmv2.HelmRelease) {
			hr.Spec.Values = w.Raw(values{"hook": values{"script": `printf "began\n"; sleep 8; printf "ended\n"`, "deletePolicy": hr.Name}})
		})
	}
	for _, hr := range all {
		w.untilLogged(hr.Name+"-pre-upgrade", "began\n")
	}
	w.Must(env.Controller.Kill(t.Context()))
	for _, hr := range all {
		if a := w.Attempt(hr, 2); a.Running != "Job/"+hr.Name+"-pre-upgrade" || a.Run != 1 {
			t.Errorf("%s: the hook does not run at the kill: %+v", hr.Name, a)
		}
	}
	w.Must(env.Controller.Start())

	for _, hr := range all {
		w.UntilRevision(hr, 2)
		w.revision(hr, 1, "superseded")
		w.revision(hr, 2, "deployed")
		if a := w.Attempt(hr, 2); a.Run != 2 || hr.Status.Failures != 0 {
			t.Errorf("%s: %d failures, and revision 2 was made by %+v, want 2 runs", hr.Name, hr.Status.Failures, a)
		}
		w.ranOnce(hr.Name+"-pre-upgrade", hr.Name == "hook-succeeded")
	}
}

// untilLogged waits until the only Pod of a Job has a log.
func (w world) untilLogged(job, text string) {
	w.Helper()
	ctx := w.Context()
	w.Must(env.Until(ctx, "Job "+job+" to log "+text, func() (string, bool) {
		var pods corev1.PodList
		if err := env.Client.List(ctx, &pods, client.InNamespace(w.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job}); err != nil {
			return err.Error(), false
		}
		if len(pods.Items) != 1 {
			return w.PodsText(ctx), false
		}
		log, err := env.pods.CoreV1().Pods(w.Namespace).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		if err != nil {
			return err.Error(), false
		}
		return string(log), string(log) == text
	}))
}

// ranOnce checks that a Job had one Pod whose container was started once. The Job is deleted, or has
// run to its end.
func (w world) ranOnce(job string, deleted bool) {
	w.Helper()
	var pods, started []string
	for _, e := range w.eventTexts(w.Context()) {
		switch object := e.InvolvedObject; {
		case object.Kind == "Job" && object.Name == job && e.Reason == "SuccessfulCreate":
			pods = append(pods, e.Message)
		case object.Kind == "Pod" && strings.HasPrefix(object.Name, job+"-") && e.Reason == "Started":
			started = append(started, slices.Repeat([]string{object.Name}, int(max(1, e.Count)))...)
		}
	}
	if len(pods) != 1 || len(started) != 1 {
		w.Errorf("Job %s: created Pods %q, started containers of %q, want one", job, pods, started)
	}
	live := &batchv1.Job{ObjectMeta: w.Meta(job)}
	err := env.Client.Get(w.Context(), client.ObjectKeyFromObject(live), live)
	if deleted {
		if !apierrors.IsNotFound(err) {
			w.Errorf("Job %s is left: %v", job, err)
		}
		return
	}
	w.Must(err)
	pod := w.podOf(job)
	if got := w.logs(pod, 10); live.Status.Succeeded != 1 || got != "began\nended\n" {
		w.Errorf("the Job is %+v, and its log %q", live.Status, got)
	}
	if got := w.terminated(pod); got.ExitCode != 0 || pod.Status.ContainerStatuses[0].RestartCount != 0 {
		w.Errorf("the container ended as %s", fixture.PodText(pod))
	}
}
