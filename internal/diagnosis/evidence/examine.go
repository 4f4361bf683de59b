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
	"github.com/pintle-dev/pintle/internal/redaction"
	"github.com/pintle-dev/pintle/internal/release"
)

// patience limits one diagnosis. briefPatience limits one that delays a wait.
const (
	patience      = 15 * time.Second
	briefPatience = 5 * time.Second
)

// Examine returns the diagnosis of an inquiry; nil without suspects. It stops at the first object
// with a known cause, and examines at most maxSuspects objects.
func (e *Reader) Examine(ctx context.Context, q release.DiagnosisRequest) *release.Diagnosis {
	limit := patience
	if q.Brief {
		limit = briefPatience
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	suspects := byRelevance(q.Objects)
	var best *release.Diagnosis
	for i := range suspects[:min(len(suspects), maxSuspects)] {
		x := &inspection{reader: e, suspect: &suspects[i], request: q, secrets: slices.Clone(q.Secrets)}
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

// Refused returns the diagnosis of an object that the API server rejected with the message in
// Status. namespace is the namespace of the release.
func (e *Reader) Refused(suspect release.UnreadyObject, namespace string, secrets []string) *release.Diagnosis {
	x := &inspection{reader: e, suspect: &suspect, facts: diagnosis.Facts{
		Kind: suspect.Object.Kind, Namespace: suspect.Object.Namespace, Name: suspect.Object.Name, Home: namespace,
		Status: suspect.Status, Refused: true, Secrets: secrets,
	}}
	return x.diagnosis(diagnosis.Find(x.facts))
}

// byRelevance returns failed objects first, then objects with Pods, then claims.
func byRelevance(all []release.UnreadyObject) []release.UnreadyObject {
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

// inspection is the diagnosis of one object.
type inspection struct {
	reader  *Reader
	suspect *release.UnreadyObject
	request release.DiagnosisRequest
	secrets []string
	facts   diagnosis.Facts
}

func (x *inspection) run(ctx context.Context) diagnosis.Finding {
	s := x.suspect
	x.facts = diagnosis.Facts{
		Kind: s.Object.Kind, Namespace: s.Object.Namespace, Name: s.Object.Name, Role: string(s.Role),
		Home: x.request.Namespace, Waited: x.request.Waited,
		Status: s.Status, Failed: s.Failed, Conditions: conditions(s.Content), Secrets: x.secrets,
	}
	if hasPods(s.Object) {
		x.readPods(ctx)
	}
	pod := diagnosis.RelevantPod(x.facts.Pods)
	// A sure symptom of a Pod needs no events.
	if found := diagnosis.Find(x.facts); x.request.Brief && (found.Sure || s.Object.Kind == "Deployment" || s.Object.Kind == "Pod") {
		return found
	}
	if pod != nil && !x.request.Brief {
		// Logs are read first, because the Pod may be terminating.
		x.readLogs(ctx, pod)
	}
	if s.Object.Kind != "Deployment" && s.Object.Kind != "Pod" {
		// The reason why a Deployment's Pods cannot be created is in its status.
		x.readEvents(ctx, s.UID)
	}
	if x.request.Brief {
		return diagnosis.Find(x.facts)
	}
	if pod != nil {
		x.readEvents(ctx, string(pod.UID))
	}
	return diagnosis.Find(x.facts)
}

func (x *inspection) diagnosis(found diagnosis.Finding) *release.Diagnosis {
	d := &release.Diagnosis{
		Code: found.Code, Object: x.suspect.Object, Role: x.suspect.Role, Summary: found.Summary, Details: found.Details,
		Permanent: found.Hopeless, PermanentAfter: found.Patience, Fingerprint: found.Mark,
	}
	pod := diagnosis.RelevantPod(x.facts.Pods)
	for _, l := range found.Logs {
		d.Logs = append(d.Logs, release.ContainerLog{Pod: pod.Name, Container: l.Container, Text: l.Text})
	}
	return d
}

func (x *inspection) addUnread(what string, err error) {
	x.facts.Unread = append(x.facts.Unread, what+": "+err.Error())
}

func (x *inspection) readPods(ctx context.Context) {
	options, ok := selection(x.suspect)
	if !ok {
		return
	}
	pods, err := x.reader.from.pods(ctx, x.suspect.Object.Namespace, options)
	if err != nil {
		x.addUnread("pods", err)
		return
	}
	x.facts.Pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !belongsTo(&p, x.suspect) })
}

// selection returns the list options for the Pods of an object, and false if it has none.
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

// belongsTo reports whether a selected Pod belongs to the object.
func belongsTo(p *corev1.Pod, s *release.UnreadyObject) bool {
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

func (x *inspection) readEvents(ctx context.Context, uid string) {
	if uid == "" {
		return
	}
	events, err := x.reader.from.warnings(ctx, x.suspect.Object.Namespace, uid)
	if err != nil {
		x.addUnread("events", err)
		return
	}
	x.facts.Events = append(x.facts.Events, events...)
}

// readLogs reads the logs of those containers of a Pod that have run.
func (x *inspection) readLogs(ctx context.Context, pod *corev1.Pod) {
	all := withLogs(pod)
	if len(all) == 0 {
		return
	}
	if x.suspect.HideLogs {
		x.facts.Withheld = "the hook's annotation helm.sh/hook-output-log-policy does not include it"
		return
	}
	if x.facts.Withheld = x.readSecrets(ctx, pod); x.facts.Withheld != "" {
		return
	}
	for _, c := range all {
		text, err := ReadLog(ctx, x.reader.from.logs, pod, c)
		if err != nil {
			x.addUnread("log of container "+c.Name, err)
			continue
		}
		x.facts.Logs = append(x.facts.Logs, diagnosis.Log{Container: c.Name, Text: text})
	}
}

// withLogs returns the containers that have run and so may have logs, failed ones first.
func withLogs(pod *corev1.Pod) []corev1.ContainerStatus {
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

// readSecrets adds the values of the Secrets that a Pod refers to. If they cannot be read, it
// returns the reason to withhold logs.
func (x *inspection) readSecrets(ctx context.Context, pod *corev1.Pod) (withheld string) {
	values, err := x.reader.secretsOf(ctx, pod)
	if err != nil {
		return "the Secrets of the Pod could not be read: " + err.Error()
	}
	x.facts.Secrets = append(x.facts.Secrets, values...)
	return ""
}

func (e *Reader) secretsOf(ctx context.Context, pod *corev1.Pod) ([]string, error) {
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

// HookLogs returns the redacted ends of the logs of the newest Pod that options select.
func (e *Reader) HookLogs(ctx context.Context, namespace string, options metav1.ListOptions, secrets []string) ([]release.ContainerLog, error) {
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
		redactor := redaction.New(append(own, secrets...))
		for _, c := range withLogs(&pods[i]) {
			text, err := ReadLog(ctx, e.from.logs, &pods[i], c)
			if err != nil {
				return all, err
			}
			text = diagnosis.Cut(redactor.Text(text), diagnosis.MaxLogBytes, diagnosis.MaxLogBytes)
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
