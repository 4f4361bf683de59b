// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pintle-dev/pintle/internal/diagnosis"
	"github.com/pintle-dev/pintle/internal/release"
)

// crash returns the diagnosis of a Deployment whose container logs a line and exits, and Helm's
// log. The times, the name, UID and address of the Pod, and the number of restarts depend on now.
func crash(line string, now time.Time) (d *release.Diagnosis, logs []string) {
	object := release.Object{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: namespace, Name: name}
	pod, at := fmt.Sprintf("%s-6f-%d", name, now.Unix()), now.Format(time.RFC3339Nano)
	found := diagnosis.Find(diagnosis.Facts{
		Kind: object.Kind, Namespace: object.Namespace, Name: object.Name, Status: "InProgress: Available: 0/1",
		Pods: []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Name: pod, UID: types.UID("uid-of-" + pod), CreationTimestamp: metav1.NewTime(now)},
			Status: corev1.PodStatus{PodIP: "10.244.0." + now.Format("5"), ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", RestartCount: int32(now.Second()),
				State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}},
			}}},
		}},
		Logs: []diagnosis.Log{{Container: "main", Text: at + " " + pod + ": " + line + "\n"}},
	})
	d = &release.Diagnosis{Code: found.Code, Object: object, Summary: found.Summary, Details: found.Details}
	for _, l := range found.Logs {
		d.Logs = append(d.Logs, release.ContainerLog{Pod: pod, Container: l.Container, Text: l.Text})
	}
	return d, []string{at + " Deployment is not ready: " + strings.Join([]string{namespace, name}, "/")}
}
