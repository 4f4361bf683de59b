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

	"github.com/pintle-dev/pintle/internal/readiness"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// examineAfter is the time without a change after which a pending object is examined.
	examineAfter = 20 * time.Second
	// maxExaminePause is the longest pause between two examinations.
	maxExaminePause = 2 * time.Minute
)

// diagnosis finds the cause of a failed wait.
type diagnosis struct {
	ctx     context.Context //nolint:containedctx // as long as a wait
	options *Options
	// cause is the diagnosis of the first wait of the action that failed.
	cause **release.Diagnosis
	// diagnosed and role are the fields of the condition.
	diagnosed bool
	role      release.Role

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
func (d *diagnosis) unready(of []*object) []release.UnreadyObject {
	var all []release.UnreadyObject
	for _, o := range of {
		s := UnreadyObject(o.info, o.live)
		s.Role = d.role
		if o.err != nil {
			s.Status = o.err.Error()
		} else if o.result != nil {
			s.Status = fmt.Sprintf("%s: %s", o.result.Status, strings.TrimSpace(o.result.Message))
			s.Failed = o.result.Status == status.FailedStatus
		}
		s.HideLogs = d.role != "" && !showsLogs(o.info)
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
func (d *diagnosis) examines() bool { return d.diagnosed && d.options.Examiner != nil }

func (d *diagnosis) examine(q release.DiagnosisRequest) *release.Diagnosis {
	q.Namespace = d.options.Namespace
	return d.options.Examiner.Examine(d.ctx, q)
}

// start returns a channel that triggers examinations of pending objects; nil for none.
func (d *diagnosis) start(pending []*object) <-chan time.Time {
	if !d.examines() || d.options.Patient {
		return nil
	}
	d.pause = examineAfter
	d.timer = time.NewTimer(examineAfter)
	d.unchangedObjects(pending)
	return d.timer.C
}

func (d *diagnosis) end() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

// unchangedObjects returns the objects that have not changed since the last call, and those whose
// status says that Pods cannot be created.
func (d *diagnosis) unchangedObjects(pending []*object) []*object {
	versions, before := map[*object]string{}, d.versions
	var all []*object
	for _, o := range pending {
		if o.live != nil {
			versions[o] = o.live.GetResourceVersion()
		}
		if last, known := before[o]; known && last == versions[o] || o.live == nil || readiness.IsTrue(o.live, "ReplicaFailure") {
			all = append(all, o)
		}
	}
	d.versions = versions
	return all
}

// examineSilent examines the objects without changes. It returns an error if the cause is
// permanent, so that waiting is useless.
func (d *diagnosis) examineSilent(pending []*object) error {
	var found *release.Diagnosis
	unchanged := d.unchangedObjects(pending)
	if len(unchanged) > 0 {
		found = d.examine(release.DiagnosisRequest{Objects: d.unready(unchanged), Brief: true})
	}
	d.pause = min(d.pause*3/2, maxExaminePause)
	if found == nil || !found.Permanent {
		d.fingerprint = ""
	} else {
		if found.Fingerprint != d.fingerprint {
			d.fingerprint, d.since = found.Fingerprint, d.options.Now()
		}
		if d.options.Now().Sub(d.since) >= found.PermanentAfter {
			reasons, _ := reasonsOf(pending)
			return fmt.Errorf("failed early, since waiting does not help: [%s]", strings.Join(reasons, ", "))
		}
		d.pause = examineAfter
	}
	d.timer.Reset(d.pause)
	return nil
}

// examineFailing examines a Job that is about to fail, once: some of its Pods are deleted before
// it has the condition Failed.
func (d *diagnosis) examineFailing(pending []*object) {
	if !d.examines() || d.early != nil {
		return
	}
	for _, o := range pending {
		if o.live != nil && o.live.GetKind() == "Job" && readiness.JobStateOfObject(o.live) == readiness.JobFailing {
			d.early = d.examine(release.DiagnosisRequest{Objects: d.unready([]*object{o}), Secrets: d.options.Secrets()})
			return
		}
	}
}

// explain adds the cause to the error of a wait. waited is the timeout if it has ended the wait. Helm deletes failed hooks only after that.
func (d *diagnosis) explain(err error, pending []*object, waited time.Duration) error {
	if err == nil || !d.examines() || errors.Is(err, ErrCancelled) {
		return err
	}
	if *d.cause == nil && d.early != nil && len(d.early.Logs) > 0 {
		*d.cause = d.early
	}
	if *d.cause == nil {
		*d.cause = d.examine(release.DiagnosisRequest{Objects: d.unready(pending), Secrets: d.options.Secrets(), Waited: waited})
	}
	if *d.cause == nil {
		return err
	}
	return fmt.Errorf("%s: %w", (*d.cause).Summary, err)
}
