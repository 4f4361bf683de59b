// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/diagnosis"
	"github.com/pintle-dev/pintle/internal/release"
)

// How long an answer may take: what keeps somebody who waits is short.
const (
	patience      = 15 * time.Second
	briefPatience = 5 * time.Second
)

// Examine answers an inquiry; nil if there is nothing to say. It stops at the first
// object that shows a cause, and looks at maxSuspects at most.
func (e *Examiner) Examine(ctx context.Context, q release.DiagnosisRequest) *release.Diagnosis {
	limit := patience
	if q.Brief {
		limit = briefPatience
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	suspects := telling(q.Objects)
	var best *release.Diagnosis
	for i := range suspects[:min(len(suspects), maxSuspects)] {
		x := &examination{examiner: e, suspect: &suspects[i], brief: q.Brief, secrets: slices.Clone(q.Secrets)}
		found := x.run(ctx)
		d := x.diagnosis(found)
		if best == nil || found.Sure {
			best = d
		}
		if found.Sure && found.Code != helmv2.FailureNotReady && (!q.Brief || found.Hopeless) {
			break
		}
	}
	return best
}

// Refused implements the wish to know why an object was refused: Status has the
// words of who refused it.
func (e *Examiner) Refused(suspect release.UnreadyObject, secrets []string) *release.Diagnosis {
	x := &examination{examiner: e, suspect: &suspect, facts: diagnosis.Facts{
		Kind: suspect.Object.Kind, Namespace: suspect.Object.Namespace, Name: suspect.Object.Name,
		Status: suspect.Status, Refused: true, Secrets: secrets,
	}}
	return x.diagnosis(diagnosis.Find(x.facts))
}

// telling puts first what has failed for good, and then what has pods.
func telling(all []release.UnreadyObject) []release.UnreadyObject {
	rank := func(s release.UnreadyObject) int {
		switch {
		case s.Failed:
			return 0
		case hasPods(s.Object):
			return 1
		case s.Object.Kind == claim:
			return 2
		}
		return 3
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b release.UnreadyObject) int { return rank(a) - rank(b) })
	return all
}

const claim = "PersistentVolumeClaim"

func hasPods(o release.Object) bool {
	switch o.Group + "/" + o.Kind {
	case "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet", "batch/Job", "/Pod":
		return true
	}
	return false
}

// examination is of one object.
type examination struct {
	examiner *Examiner
	suspect  *release.UnreadyObject
	brief    bool
	secrets  []string
	facts    diagnosis.Facts
}

func (x *examination) run(ctx context.Context) diagnosis.Finding {
	s := x.suspect
	x.facts = diagnosis.Facts{
		Kind: s.Object.Kind, Namespace: s.Object.Namespace, Name: s.Object.Name, Role: string(s.Role),
		Status: s.Status, Failed: s.Failed, Conditions: conditions(s.Content), Secrets: x.secrets,
	}
	if hasPods(s.Object) {
		x.readPods(ctx)
	}
	pod := diagnosis.Telling(x.facts.Pods)
	// What a pod shows itself needs no event, if there is no more to know than that.
	if found := diagnosis.Find(x.facts); x.brief && (found.Sure || s.Object.Kind == "Deployment" || s.Object.Kind == "Pod") {
		return found
	}
	if pod != nil && !x.brief {
		// Logs go first: a pod may be on its way out.
		x.readLogs(ctx, pod)
	}
	if s.Object.Kind != "Deployment" && s.Object.Kind != "Pod" {
		// What keeps pods of a Deployment from being created is in its status.
		x.readEvents(ctx, s.UID)
	}
	if x.brief {
		return diagnosis.Find(x.facts)
	}
	if pod != nil {
		x.readEvents(ctx, string(pod.UID))
	}
	return diagnosis.Find(x.facts)
}

func (x *examination) diagnosis(found diagnosis.Finding) *release.Diagnosis {
	d := &release.Diagnosis{
		Code: found.Code, Object: x.suspect.Object, Role: x.suspect.Role, Summary: found.Summary, Details: found.Details,
		Permanent: found.Hopeless, PermanentAfter: found.Patience, Fingerprint: found.Mark,
	}
	pod := diagnosis.Telling(x.facts.Pods)
	for _, l := range found.Logs {
		d.Logs = append(d.Logs, release.ContainerLog{Pod: pod.Name, Container: l.Container, Text: l.Text})
	}
	return d
}

func (x *examination) unread(what string, err error) {
	x.facts.Unread = append(x.facts.Unread, what+": "+err.Error())
}

func (x *examination) readPods(ctx context.Context) {
	options, ok := selection(x.suspect)
	if !ok {
		return
	}
	pods, err := x.examiner.from.pods(ctx, x.suspect.Object.Namespace, options)
	if err != nil {
		x.unread("pods", err)
		return
	}
	x.facts.Pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !ofSuspect(&p, x.suspect) })
}

// selection says how to ask for the pods of an object.
func selection(s *release.UnreadyObject) (metav1.ListOptions, bool) {
	if s.Object.Kind == "Pod" {
		return metav1.ListOptions{FieldSelector: "metadata.name=" + s.Object.Name}, true
	}
	labels, _, _ := unstructured.NestedStringMap(s.Content, "spec", "selector", "matchLabels")
	if s.Object.Kind == "Job" && len(labels) == 0 {
		labels = map[string]string{"job-name": s.Object.Name}
	}
	selector := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})
	return metav1.ListOptions{LabelSelector: selector}, len(labels) > 0
}

// ofSuspect reports whether a pod that was selected belongs to the object.
func ofSuspect(p *corev1.Pod, s *release.UnreadyObject) bool {
	if s.Object.Kind == "Pod" {
		return s.UID == "" || string(p.UID) == s.UID
	}
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return false
	}
	if s.Object.Kind == "Deployment" {
		return owner.Kind == "ReplicaSet" && strings.HasPrefix(owner.Name, s.Object.Name+"-")
	}
	return s.UID == "" || string(owner.UID) == s.UID
}

func (x *examination) readEvents(ctx context.Context, uid string) {
	if uid == "" {
		return
	}
	events, err := x.examiner.from.warnings(ctx, x.suspect.Object.Namespace, uid)
	if err != nil {
		x.unread("events", err)
		return
	}
	x.facts.Events = append(x.facts.Events, events...)
}

// readLogs reads what the containers of a pod have written, if any has run.
func (x *examination) readLogs(ctx context.Context, pod *corev1.Pod) {
	all := ran(pod)
	if len(all) == 0 {
		return
	}
	if x.suspect.HideLogs {
		x.facts.Withheld = "the hook's annotation helm.sh/hook-output-log-policy does not ask for it"
		return
	}
	if x.facts.Withheld = x.readSecrets(ctx, pod); x.facts.Withheld != "" {
		return
	}
	for _, c := range all {
		text, err := ReadLog(ctx, x.examiner.from.logs, pod, c)
		if err != nil {
			x.unread("log of container "+c.Name, err)
			continue
		}
		x.facts.Logs = append(x.facts.Logs, diagnosis.Log{Container: c.Name, Text: text})
	}
}

// ran returns the containers that have written something, as far as can be known,
// those first that have failed.
func ran(pod *corev1.Pod) []corev1.ContainerStatus {
	all := slices.DeleteFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(c corev1.ContainerStatus) bool {
		return c.State.Running == nil && c.State.Terminated == nil && c.LastTerminationState.Terminated == nil
	})
	well := func(c corev1.ContainerStatus) int {
		if c.Ready || c.State.Terminated != nil && c.State.Terminated.ExitCode == 0 {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b corev1.ContainerStatus) int { return well(a) - well(b) })
	return all[:min(len(all), diagnosis.MaxLogs)]
}

// readSecrets adds what is in the Secrets that a pod refers to, and says why not if
// it cannot.
func (x *examination) readSecrets(ctx context.Context, pod *corev1.Pod) (withheld string) {
	values, err := x.examiner.secretsOf(ctx, pod)
	if err != nil {
		return "what is secret in it is not known: " + err.Error()
	}
	x.facts.Secrets = append(x.facts.Secrets, values...)
	return ""
}

func (e *Examiner) secretsOf(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	names := diagnosis.SecretNames(pod.Spec)
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > maxSecrets {
		return nil, fmt.Errorf("pod %s refers to %d Secrets", pod.Name, len(names))
	}
	var all []string
	for _, name := range names {
		secret, err := e.from.secret(ctx, pod.Namespace, name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, value := range secret.Data {
			all = append(all, string(value))
		}
	}
	return all, nil
}

// HookLogs returns the ends of the logs of a hook's pods, which options select.
func (e *Examiner) HookLogs(ctx context.Context, namespace string, options metav1.ListOptions, secrets []string) ([]release.ContainerLog, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pods, err := e.from.pods(ctx, namespace, options)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	var all []release.ContainerLog
	for i := range pods[:min(len(pods), 1)] {
		own, err := e.secretsOf(ctx, &pods[i])
		if err != nil {
			return nil, err
		}
		own = append(own, secrets...)
		for _, c := range ran(&pods[i]) {
			text, err := ReadLog(ctx, e.from.logs, &pods[i], c)
			if err != nil {
				return all, err
			}
			text = diagnosis.Cut(diagnosis.Redact(text, own), diagnosis.MaxLogBytes, diagnosis.MaxLogBytes)
			all = append(all, release.ContainerLog{Pod: pods[i].Name, Container: c.Name, Text: text})
		}
	}
	return all, nil
}

func conditions(content map[string]any) []diagnosis.Condition {
	entries, _, _ := unstructured.NestedSlice(content, "status", "conditions")
	var all []diagnosis.Condition
	for _, entry := range entries {
		c, _ := entry.(map[string]any)
		text := func(key string) string { s, _ := c[key].(string); return s }
		all = append(all, diagnosis.Condition{Type: text("type"), Status: text("status"), Reason: text("reason"), Message: text("message")})
	}
	return all
}
