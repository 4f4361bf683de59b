// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestFindFailing: a container that has failed twice is a cause, even if it runs, and one failure is not,
// unless memory is its cause. What was before the time does not count, and the container's own words, which
// may have Secrets, are not repeated.
func TestFindFailing(t *testing.T) {
	t.Parallel()
	since := time.Unix(1000, 0)
	ended := func(code int32, reason string, after time.Duration) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: "password", FinishedAt: metav1.NewTime(since.Add(after))}
	}
	for name, tc := range map[string]struct {
		restarts  int32
		last, now *corev1.ContainerStateTerminated
		code      string
		text      string
	}{
		"Sound":      {},
		"Once":       {1, ended(1, "Error", time.Second), nil, "", ""},
		"Twice":      {2, ended(1, "Error", time.Second), nil, helmv2.FailureCrashLoop, "Deployment web: container app exited with code 1"},
		"Ended":      {2, ended(1, "Error", -time.Second), ended(4, "Error", time.Second), helmv2.FailureCrashLoop, "exited with code 4"},
		"Before":     {5, ended(1, "Error", -time.Second), nil, "", ""},
		"Memory":     {1, ended(137, "OOMKilled", time.Second), nil, helmv2.FailureOOMKilled, "out of memory"},
		"Successful": {3, ended(0, "Completed", time.Second), nil, "", ""},
		"Unstarted":  {2, ended(128, "StartError", time.Second), nil, helmv2.FailureNotStarted, "StartError"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := corev1.ContainerStatus{Name: "app", Ready: true, RestartCount: tc.restarts}
			status.LastTerminationState.Terminated, status.State.Terminated = tc.last, tc.now
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}}}
			found := FindFailing(Facts{Kind: "Deployment", Name: "web", Pods: []corev1.Pod{{}, pod}}, since)
			if tc.code == "" {
				if found != nil {
					t.Errorf("%+v", found)
				}
				return
			}
			if found == nil || found.Code != tc.code || !strings.Contains(found.Summary, tc.text) {
				t.Fatalf("%+v", found)
			}
			if all := found.Summary + strings.Join(found.Details, ""); strings.Contains(all, "password") {
				t.Errorf("it repeats what the container has written: %q", all)
			}
		})
	}
}
