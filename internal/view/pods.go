// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// maxPods is the maximum number of Pods that are shown.
const maxPods = 50

// Pod is a Pod of an Operation.
type Pod struct {
	Name string
	// Job is the name of its Job.
	Job   string
	State string
	// Line is what is wrong, or what its containers do.
	Line    string
	Created Age
}

// podsOf returns the Pods, the newest first.
func podsOf(all []corev1.Pod, now time.Time) Limited[Pod] {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	pods := make([]Pod, 0, len(all))
	for i := range all {
		p := &all[i]
		pods = append(pods, Pod{
			Name: p.Name, Job: p.Labels["batch.kubernetes.io/job-name"], State: string(cmp.Or(p.Status.Phase, corev1.PodPending)),
			Line: podLine(p), Created: AgeOf(p.CreationTimestamp.UTC(), now),
		})
	}
	return First(pods, maxPods)
}

// podLine returns the states of the containers, and the reason of the Pod, in one line.
func podLine(p *corev1.Pod) string {
	var parts []string
	if p.Status.Reason != "" || p.Status.Message != "" {
		parts = append(parts, strings.TrimSuffix(p.Status.Reason+": "+p.Status.Message, ": "))
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		parts = append(parts, c.Name+" "+containerState(c.State))
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			parts = append(parts, strings.TrimSuffix(c.Reason+": "+c.Message, ": "))
		}
	}
	return Line(strings.Join(parts, "; "))
}

// containerState returns the state of a container in a few words.
func containerState(s corev1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "runs"
	case s.Terminated != nil && s.Terminated.Reason != "":
		return fmt.Sprintf("has ended with exit code %d, %s", s.Terminated.ExitCode, s.Terminated.Reason)
	case s.Terminated != nil:
		return fmt.Sprintf("has ended with exit code %d", s.Terminated.ExitCode)
	case s.Waiting != nil && s.Waiting.Reason != "":
		return "waits: " + s.Waiting.Reason
	}
	return "waits"
}
