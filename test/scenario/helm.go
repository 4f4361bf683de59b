// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pintle-dev/pintle/internal/diagnosis"
	"github.com/pintle-dev/pintle/internal/release"
)

// helmResult is the result of Helm in one line.
type helmResult struct {
	kind string // ok, fail, timeout, crash, refuse, deny, large, running, void, outage, outage-refused, outage-lost
	text string
	// server is the server that does not answer in an outage; empty is the API server.
	server string
	// percent is the size of the new record relative to a Secret. Zero stands for a small record.
	percent int
}

// ending returns the end of a started action.
func (h helmResult) ending(now time.Time) ending {
	e := ending{cause: h.err(), waiting: h.kind == "timeout", unanswered: h.kind == "outage-lost"}
	if h.outage() {
		e.outage, e.server = h.text, h.server
	}
	if h.kind == "crash" {
		e.diagnosis, e.logs = crash(h.text, now)
		e.waiting, e.cause = true, errors.New(e.diagnosis.Summary+": timed out waiting")
	}
	return e
}

// outage reports whether the API server does not answer.
func (h helmResult) outage() bool { return strings.HasPrefix(h.kind, "outage") }

// refuses reports whether the action ends before a revision is stored.
func (h helmResult) refuses() bool {
	return h.kind == "refuse" || h.kind == "deny" || h.kind == "void" || h.kind == "outage-refused" || h.size() != nil && h.size().TooLarge()
}

// size returns the size of the new record; nil if it is small.
func (h helmResult) size() *release.RecordSize {
	if h.percent == 0 {
		return nil
	}
	const limit = 1 << 20
	bytes := (limit*h.percent + 99) / 100
	return &release.RecordSize{Bytes: bytes, Limit: limit, Reserved: limit / 128, Parts: []release.RecordPart{
		{Kind: release.PartCRDs, Bytes: bytes * 3 / 4, Largest: "crds/large.yaml"},
		{Kind: release.PartTemplates, Bytes: bytes - bytes*3/4, Largest: "templates/web.yaml"},
	}}
}

// err returns the error of the action; nil on success.
func (h helmResult) err() error {
	if h.size() != nil && h.size().TooLarge() {
		return errors.New("the record of the revision would be too large")
	}
	if h.kind == "ok" || h.kind == "large" || h.kind == "running" {
		return nil
	}
	if h.kind == "void" {
		return release.ErrPlanVoid
	}
	if h.outage() {
		return errors.New("the API server does not answer: " + h.text)
	}
	if h.kind == "deny" {
		return denial{h.text}
	}
	return errors.New(h.text)
}

// denial is the error of dry runs that deny objects for reasons that may depend on others.
type denial struct{ text string }

func (d denial) Error() string { return d.text }

// against returns the result of an action. Only dry runs deny objects: an action that insists, or
// sends none, succeeds.
func (h helmResult) against(a release.HelmAction) helmResult {
	if h.kind == "deny" && (!isRelease(a) || insists(a) || release.Resumed(a) > 0) {
		h.kind = "ok"
	}
	return h
}

// insists reports whether an action goes ahead if dry runs deny objects.
func insists(a release.HelmAction) bool {
	install, _ := a.(release.Install)
	upgrade, _ := a.(release.Upgrade)
	return install.Insist || upgrade.Insist
}

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
