// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/release"
)

// Examiner finds the cause why objects are not ready. It limits its own duration, and ends when
// ctx does.
type Examiner interface {
	// Examine returns nil if it finds no cause.
	Examine(ctx context.Context, q release.DiagnosisRequest) *release.Diagnosis
}

const (
	// examineAfter is the time without a change after which a pending object is examined.
	examineAfter = 20 * time.Second
	// maxExaminePause is the longest pause between two examinations.
	maxExaminePause = 2 * time.Minute
)

// diagnosis is the state of a wait about objects that may never become ready.
type diagnosis struct {
	timer *time.Timer
	pause time.Duration
	// versions are the resourceVersions at the last examination.
	versions map[*object]string
	// fingerprint identifies a cause that is permanent if it stays, since is its start.
	fingerprint string
	since       time.Time
	// early is the diagnosis of a Job that was about to fail. Its Pods may be deleted once it
	// has failed.
	early *release.Diagnosis
}

// UnreadyObject describes an object for a diagnosis. live is its last known state; if it is nil,
// the object is described as it was applied.
func UnreadyObject(info *resource.Info, live *unstructured.Unstructured) release.UnreadyObject {
	gvk := info.Mapping.GroupVersionKind
	s := release.UnreadyObject{Object: release.Object{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: info.Namespace, Name: info.Name}}
	if live == nil {
		live, _ = info.Object.(*unstructured.Unstructured)
	}
	if live != nil {
		s.Content, s.UID = live.Object, string(live.GetUID())
	}
	return s
}

// unready describes objects, the failed ones first.
func (l *loop) unready(of []*object) []release.UnreadyObject {
	var all []release.UnreadyObject
	for _, o := range of {
		s := UnreadyObject(o.info, o.live)
		s.Role = l.role
		if o.err != nil {
			s.Status = o.err.Error()
		} else if o.result != nil {
			s.Status = fmt.Sprintf("%s: %s", o.result.Status, strings.TrimSpace(o.result.Message))
			s.Failed = o.result.Status == status.FailedStatus
		}
		s.HideLogs = l.role != "" && !showsLogs(o.info)
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b release.UnreadyObject) int {
		switch {
		case a.Failed && !b.Failed:
			return -1
		case b.Failed && !a.Failed:
			return 1
		}
		return 0
	})
	return all
}

// showsLogs reports whether the log of a failed hook may be shown. An output log policy in the
// chart excludes all events that it does not name.
func showsLogs(info *resource.Info) bool {
	object, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return true
	}
	policies, set := object.GetAnnotations()[helmrelease.HookOutputLogAnnotation]
	return !set || strings.Contains(policies, string(helmrelease.HookOutputOnFailed))
}

// examines reports whether the cause of a failure of this wait is examined.
func (l *loop) examines() bool { return l.diagnosed && l.waiter.Examiner != nil }

func (l *loop) examine(q release.DiagnosisRequest) *release.Diagnosis {
	return l.waiter.Examiner.Examine(l.waiter.ctx, q)
}

// beginDiagnosis returns a channel that triggers examinations; nil for none.
func (l *loop) beginDiagnosis() <-chan time.Time {
	if !l.examines() || l.waiter.Patient {
		return nil
	}
	l.diagnosis.pause = examineAfter
	l.diagnosis.timer = time.NewTimer(examineAfter)
	l.unchanged()
	return l.diagnosis.timer.C
}

func (l *loop) endDiagnosis() {
	if l.diagnosis.timer != nil {
		l.diagnosis.timer.Stop()
	}
}

// unchanged returns the objects that have not changed since the last call, and those whose
// status says that Pods cannot be created.
func (l *loop) unchanged() []*object {
	versions, before := map[*object]string{}, l.diagnosis.versions
	var all []*object
	for _, o := range l.pending {
		if o.live != nil {
			versions[o] = o.live.GetResourceVersion()
		}
		if last, known := before[o]; known && last == versions[o] || o.live == nil || conditionIsTrue(o.live, "ReplicaFailure") {
			all = append(all, o)
		}
	}
	l.diagnosis.versions = versions
	return all
}

// examineSilent examines the objects without changes. It returns an error if the cause is
// permanent, so that waiting is useless.
func (l *loop) examineSilent() error {
	s, now := &l.diagnosis, l.waiter.Now
	var d *release.Diagnosis
	unchanged := l.unchanged()
	if len(unchanged) > 0 {
		d = l.examine(release.DiagnosisRequest{Objects: l.unready(unchanged), Brief: true})
	}
	s.pause = min(s.pause*3/2, maxExaminePause)
	if d == nil || !d.Permanent {
		s.fingerprint = ""
	} else {
		if d.Fingerprint != s.fingerprint {
			s.fingerprint, s.since = d.Fingerprint, now()
		}
		if now().Sub(s.since) >= d.PermanentAfter {
			reasons, _ := reasonsOf(l.pending)
			return fmt.Errorf("failed early, since waiting does not help: [%s]", strings.Join(reasons, ", "))
		}
		s.pause = examineAfter
	}
	s.timer.Reset(s.pause)
	return nil
}

// examineFailing examines a Job that is about to fail, once: some of its Pods are deleted before
// it has the condition Failed.
func (l *loop) examineFailing() {
	if !l.examines() || l.diagnosis.early != nil {
		return
	}
	for _, o := range l.pending {
		if o.live != nil && o.live.GetKind() == "Job" && conditionIsTrue(o.live, "FailureTarget") && !conditionIsTrue(o.live, "Failed") {
			l.diagnosis.early = l.examine(release.DiagnosisRequest{
				Objects: l.unready([]*object{o}), Secrets: l.waiter.Secrets(),
			})
			return
		}
	}
}

func conditionIsTrue(object *unstructured.Unstructured, kind string) bool {
	found, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
	conditions, _ := found.([]any)
	return slices.ContainsFunc(conditions, func(entry any) bool {
		c, _ := entry.(map[string]any)
		return c["type"] == kind && c["status"] == "True"
	})
}

// explain adds the cause to the error of a wait. Helm deletes failed hooks only after that.
func (l *loop) explain(err error) error {
	w := l.waiter
	if err == nil || !l.examines() || errors.Is(err, ErrCancelled) {
		return err
	}
	if early := l.diagnosis.early; w.diagnosis == nil && early != nil && len(early.Logs) > 0 {
		w.diagnosis = early
	}
	if w.diagnosis == nil {
		w.diagnosis = l.examine(release.DiagnosisRequest{Objects: l.unready(l.pending), Secrets: w.Secrets()})
	}
	if w.diagnosis == nil {
		return err
	}
	return fmt.Errorf("%s: %w", w.diagnosis.Summary, err)
}
