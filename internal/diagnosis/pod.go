// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// symptom is the state of one Pod, or of one attempt to create it, that may be the cause.
type symptom struct {
	// code is empty if no failure is visible.
	code string
	// text describes the symptom; said is the message from the cluster about it.
	text, said string
	// written is true if said was written by the container.
	written bool
	// atEnd is true if the end of said is the relevant part.
	atEnd     bool
	container string
	// crashing is true if the container waits to be restarted.
	crashing bool
	hopeless bool
	patience time.Duration
}

// IsImagePullError reports whether the waiting reason of a container is a failed image pull.
func IsImagePullError(reason string) bool {
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", invalidImageName, "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
		return true
	}
	return false
}

const (
	invalidImageName = "InvalidImageName"
	oomKilled        = "OOMKilled"
)

// RelevantPod returns the Pod that most likely shows why its owner failed. It is the newest of
// those with a symptom, or else the newest of those that are not ready. It returns nil if there is
// none.
func RelevantPod(pods []corev1.Pod) *corev1.Pod {
	var best *corev1.Pod
	for i := range pods {
		p := &pods[i]
		if !healthy(p) && (best == nil || moreRelevant(p, best)) {
			best = p
		}
	}
	return best
}

func moreRelevant(a, b *corev1.Pod) bool {
	if shows, other := statusSymptom(a).code != "", statusSymptom(b).code != ""; shows != other {
		return shows
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	return a.Name > b.Name
}

// healthy reports whether a Pod has succeeded or is ready. A Pod that should run to completion is
// not healthy merely because it is ready.
func healthy(p *corev1.Pod) bool {
	if p.Status.Phase == corev1.PodSucceeded {
		return true
	}
	ends := p.Spec.RestartPolicy == corev1.RestartPolicyNever || p.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
	return !ends && podCondition(p, corev1.PodReady).Status == corev1.ConditionTrue
}

func podCondition(p *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

// OrderedStatuses returns the container statuses of a Pod with sidecars last. A sidecar ends
// because the other containers have ended, so its exit code matters least.
func OrderedStatuses(p *corev1.Pod) []corev1.ContainerStatus {
	sidecar := func(c corev1.ContainerStatus) bool {
		return slices.ContainsFunc(p.Spec.InitContainers, func(s corev1.Container) bool {
			return s.Name == c.Name && s.RestartPolicy != nil && *s.RestartPolicy == corev1.ContainerRestartPolicyAlways
		})
	}
	var first, last []corev1.ContainerStatus
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if sidecar(c) {
			last = append(last, c)
			continue
		}
		first = append(first, c)
	}
	return append(first, last...)
}

// statusSymptom returns the symptom in the status of a Pod. The first container with a symptom
// takes precedence.
func statusSymptom(p *corev1.Pod) symptom {
	for _, c := range OrderedStatuses(p) {
		if s := containerSymptom(c, memoryLimit(p, c.Name)); s.code != "" {
			s.container = c.Name
			return s
		}
	}
	if p.Status.Reason != "" {
		code := helmv2.FailurePod
		if p.Status.Reason == "Evicted" {
			code = helmv2.FailureEvicted
		}
		return symptom{code: code, text: "Pod " + p.Status.Reason, said: p.Status.Message}
	}
	if c := podCondition(p, corev1.PodScheduled); c.Status == corev1.ConditionFalse {
		return schedulingSymptom(c.Message)
	}
	return symptom{}
}

// schedulingSymptom returns the symptom of a Pod that cannot be scheduled.
func schedulingSymptom(message string) symptom {
	code := helmv2.FailureUnschedulable
	if strings.Contains(strings.ToLower(message), "persistentvolumeclaim") {
		code = helmv2.FailureVolumeNotBound
	}
	// What preemption would do is no cause.
	message, _, _ = strings.Cut(message, " preemption: ")
	return symptom{code: code, said: message}
}

// memoryLimit returns the memory limit of a container; empty if it has none.
func memoryLimit(p *corev1.Pod, container string) string {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if limit, set := c.Resources.Limits[corev1.ResourceMemory]; set && c.Name == container {
			return limit.String()
		}
	}
	return ""
}

// containerSymptom returns the symptom in the status of a container with a memory limit, which may be empty.
func containerSymptom(c corev1.ContainerStatus, limit string) symptom {
	if w := c.State.Waiting; w != nil {
		if s := waitingSymptom(c, w, limit); s.code != "" {
			return s
		}
	}
	if end := c.State.Terminated; end != nil && failed(end) {
		return terminationSymptom(end, limit)
	}
	if end := c.LastTerminationState.Terminated; end != nil && failed(end) && !c.Ready {
		return terminationSymptom(end, limit)
	}
	return symptom{}
}

func failed(end *corev1.ContainerStateTerminated) bool {
	return end.ExitCode != 0 || end.Reason == oomKilled
}

func waitingSymptom(c corev1.ContainerStatus, w *corev1.ContainerStateWaiting, limit string) symptom {
	s := symptom{text: "waits: " + w.Reason, said: w.Message}
	if IsImagePullError(w.Reason) {
		s.text, s.atEnd = fmt.Sprintf("cannot pull image %s (%s)", c.Image, w.Reason), true
	}
	switch {
	case w.Reason == invalidImageName:
		s.code, s.hopeless, s.patience = helmv2.FailureImageNameInvalid, true, imagePatience
	case IsImagePullError(w.Reason) && missing(w.Message):
		s = symptom{code: helmv2.FailureImageNotFound, text: fmt.Sprintf("cannot pull image %s: not found", c.Image), hopeless: true, patience: imagePatience}
	case IsImagePullError(w.Reason):
		s.code = helmv2.FailureImagePull
	case w.Reason == "CreateContainerConfigError":
		s.code, s.text = helmv2.FailureConfigMissing, "cannot be created"
	case w.Reason == "CrashLoopBackOff":
		s = crashLoopSymptom(c, limit)
	case strings.HasSuffix(w.Reason, "Error"):
		s.code = helmv2.FailureNotStarted
	}
	return s
}

// missing reports whether a registry has answered that the image does not exist. An unreachable
// registry or missing credentials may be temporary.
func missing(message string) bool {
	message = strings.ToLower(message)
	for _, network := range []string{"no such host", "dial tcp", "lookup ", "timeout", "refused", "unauthorized", "denied", "forbidden"} {
		if strings.Contains(message, network) {
			return false
		}
	}
	for _, answer := range []string{": not found", "manifest unknown", "name unknown", "name_unknown", "manifest_unknown"} {
		if strings.Contains(message, answer) {
			return true
		}
	}
	return false
}

// crashLoopSymptom returns the symptom of a container that is restarted with a back-off.
func crashLoopSymptom(c corev1.ContainerStatus, limit string) symptom {
	s := symptom{code: helmv2.FailureCrashLoop, text: "keeps ending"}
	if end := c.LastTerminationState.Terminated; end != nil {
		s = terminationSymptom(end, limit)
		if s.code == helmv2.FailureContainer {
			s.code = helmv2.FailureCrashLoop
		}
	}
	if s.crashing = true; c.RestartCount >= crashes {
		s.hopeless, s.patience = true, crashPatience
	}
	return s
}

func terminationSymptom(end *corev1.ContainerStateTerminated, limit string) symptom {
	s := symptom{code: helmv2.FailureContainer, said: end.Message, written: true, text: fmt.Sprintf("exited with code %d", end.ExitCode)}
	switch end.Reason {
	case "", "Error", "Completed":
	case oomKilled:
		s.code = helmv2.FailureOOMKilled
		s.text = "was killed, out of memory"
		if limit != "" {
			s.text += " (limit " + limit + ")"
		}
	case "StartError", "ContainerCannotRun":
		// The message comes from the container runtime.
		s.code, s.text, s.written = helmv2.FailureNotStarted, fmt.Sprintf("%s, exit code %d", end.Reason, end.ExitCode), false
	default:
		s.text += ", " + end.Reason
	}
	return s
}

func times(n int32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// describePod returns the state of a Pod and its containers, line by line.
func describePod(p *corev1.Pod, quote func(text string, written bool) string) []string {
	first := fmt.Sprintf("Pod %s: %s", p.Name, cmp.Or(string(p.Status.Phase), "Unknown"))
	if p.Status.Reason != "" {
		first += " " + p.Status.Reason
	}
	if p.Spec.NodeName != "" {
		first += " on node " + p.Spec.NodeName
	}
	lines := []string{withText(first, quote(p.Status.Message, false))}
	for _, c := range OrderedStatuses(p) {
		lines = append(lines, "  "+describeContainer(c, quote))
	}
	return lines
}

func describeContainer(c corev1.ContainerStatus, quote func(text string, written bool) string) string {
	text := fmt.Sprintf("container %s: ", c.Name)
	switch {
	case c.State.Waiting != nil:
		text = withText(text+"waits: "+c.State.Waiting.Reason, quote(c.State.Waiting.Message, false))
	case c.State.Terminated != nil:
		text += describeEnd(c.State.Terminated, quote)
	case c.State.Running != nil && c.Ready:
		text += "runs, ready"
	case c.State.Running != nil:
		text += "runs, not ready"
	default:
		text += "no state reported"
	}
	if c.RestartCount > 0 {
		text += "; restarted " + times(c.RestartCount)
	}
	if end := c.LastTerminationState.Terminated; end != nil {
		text += "; before that " + describeEnd(end, quote)
	}
	return text
}

func describeEnd(end *corev1.ContainerStateTerminated, quote func(text string, written bool) string) string {
	return withText(fmt.Sprintf("ended: %s, exit code %d", cmp.Or(end.Reason, "Unknown"), end.ExitCode), quote(end.Message, true))
}

func withText(head, text string) string {
	if text == "" {
		return head
	}
	return head + ": " + text
}
