// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/release"
)

// Examiner finds out why objects are not as wanted, and reads logs. It knows how
// long it may take, and ends when ctx does.
type Examiner interface {
	// Examine returns nil if there is nothing to say.
	Examine(ctx context.Context, q release.DiagnosisRequest) *release.Diagnosis
	// Refused says why an object was refused, in the words of who refused it.
	Refused(suspect release.UnreadyObject, secrets []string) *release.Diagnosis
	// HookLogs returns the ends of the logs of the newest Pod that options select.
	HookLogs(ctx context.Context, namespace string, options metav1.ListOptions, secrets []string) ([]release.ContainerLog, error)
}

const (
	// suspectAfter is how long an object that is waited for may be silent before it
	// is suspected of not becoming ready, ever.
	suspectAfter = 20 * time.Second
	// maxSuspicion is the longest pause between two looks at suspects.
	maxSuspicion = 2 * time.Minute
)

// inquest is what a job finds out about its failure.
type inquest struct {
	Examiner
	now func() time.Time
	// patient is true if waits last as long as they may, hopeless or not.
	patient bool
	// role is that of the hooks of the job.
	role release.Role
	// given are texts that are secret.
	given []string
	// newest is the newest revision that was read or made; own is told of it.
	newest *helmrelease.Release
	own    *ownSecrets

	// diagnosis is of the first wait that failed, and refusal of the first object that
	// was refused.
	diagnosis, refusal *release.Diagnosis
	hookFailed         bool
	hookLogs           []release.ContainerLog
}

func newInquest(job Job, now func() time.Time) *inquest {
	q := &inquest{Examiner: job.Examiner, now: now, patient: job.Patient, role: release.RoleHook, given: job.Secrets}
	if _, tests := job.Action.(release.Test); tests {
		q.role = release.RoleTest
	}
	return q
}

// on reports whether anything can be found out.
func (q *inquest) on() bool { return q != nil && q.Examiner != nil }

// meet takes note of a revision.
func (q *inquest) meet(all ...*helmrelease.Release) {
	if q == nil {
		return
	}
	for _, rls := range all {
		if q.newest == nil || rls.Version >= q.newest.Version {
			q.newest = rls
			q.own.meet(rls)
		}
	}
}

// secrets are the texts that nobody is to see: those that were given, and those in
// the Secrets of the newest revision.
func (q *inquest) secrets() []string {
	all := slices.Clone(q.given)
	if q.newest != nil {
		var s Stored
		s.read(q.newest)
		all = append(all, s.Secrets...)
	}
	return all
}

// found is the diagnosis of what failed; nil if there is none.
func (q *inquest) found(err error) *release.Diagnosis {
	if err == nil || q == nil {
		return nil
	}
	if q.diagnosis != nil {
		return q.diagnosis
	}
	return q.refusal
}

// refuse takes note of the first object that the API server refused for whose it
// is or what it is, not for what it lacks.
func (q *inquest) refuse(info *resource.Info, err error) {
	if !q.on() || q.refusal != nil || !apierrors.IsForbidden(err) && !apiretry.WebhookDenied(apiretry.AnswerOf(err)) {
		return
	}
	s := suspectOf(info, nil)
	s.Status = err.Error()
	q.refusal = q.Refused(s, q.secrets())
}

func suspectOf(info *resource.Info, live *unstructured.Unstructured) release.UnreadyObject {
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

// suspects are objects that are waited for, those that have failed first.
func (v *vigil) suspects(of []*opinion) []release.UnreadyObject {
	var all []release.UnreadyObject
	for _, o := range of {
		s := suspectOf(o.info, o.live)
		s.Role = v.role
		if o.err != nil {
			s.Status = o.err.Error()
		} else if o.result != nil {
			s.Status = fmt.Sprintf("%s: %s", o.result.Status, strings.TrimSpace(o.result.Message))
			s.Failed = o.result.Status == status.FailedStatus
		}
		s.HideLogs = v.role != "" && !wantsLogs(o.info)
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

// wantsLogs reports whether the log of a hook that failed may be shown: a chart
// that says when to show it does not mean other times.
func wantsLogs(info *resource.Info) bool {
	object, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return true
	}
	policies, set := object.GetAnnotations()[helmrelease.HookOutputLogAnnotation]
	return !set || strings.Contains(policies, string(helmrelease.HookOutputOnFailed))
}

// suspicion is what a wait knows of those that may never be ready.
type suspicion struct {
	timer *time.Timer
	pause time.Duration
	// versions are those of the objects at the last look.
	versions map[*opinion]string
	// mark is of what would be hopeless if it stayed, and since when it has.
	mark  string
	since time.Time
	// early is what was found out of a Job that was about to fail, whose Pods may be
	// gone once it has.
	early *release.Diagnosis
}

// beginSuspicion returns when to look at suspects; nil for never.
func (v *vigil) beginSuspicion() <-chan time.Time {
	q := v.client.inquest
	if !v.explained || !q.on() || q.patient {
		return nil
	}
	v.suspicion.pause = suspectAfter
	v.suspicion.timer = time.NewTimer(suspectAfter)
	v.silent()
	return v.suspicion.timer.C
}

func (v *vigil) endSuspicion() {
	if v.suspicion.timer != nil {
		v.suspicion.timer.Stop()
	}
}

// silent returns the objects of which nothing new is known since it was called
// last, and those that say themselves that pods cannot be created.
func (v *vigil) silent() []*opinion {
	versions, before := map[*opinion]string{}, v.suspicion.versions
	var all []*opinion
	for _, o := range v.pending {
		if o.live != nil {
			versions[o] = o.live.GetResourceVersion()
		}
		if last, known := before[o]; known && last == versions[o] || o.live == nil || conditionIsTrue(o.live, "ReplicaFailure") {
			all = append(all, o)
		}
	}
	v.suspicion.versions = versions
	return all
}

// suspect looks at suspects, and returns an error if there is no use in waiting on.
func (v *vigil) suspect() error {
	q, s := v.client.inquest, &v.suspicion
	var d *release.Diagnosis
	silent := v.silent()
	if len(silent) > 0 {
		d = q.Examine(v.client.ctx, release.DiagnosisRequest{Objects: v.suspects(silent), Brief: true})
	}
	s.pause = min(s.pause*3/2, maxSuspicion)
	if d == nil || !d.Permanent {
		s.mark = ""
	} else {
		if d.Fingerprint != s.mark {
			s.mark, s.since = d.Fingerprint, q.now()
		}
		if q.now().Sub(s.since) >= d.PermanentAfter {
			reasons, _ := said(v.pending)
			return fmt.Errorf("failed early, since waiting does not help: [%s]", strings.Join(reasons, ", "))
		}
		s.pause = suspectAfter
	}
	s.timer.Reset(s.pause)
	return nil
}

// lookEarly finds out about a Job that is about to fail, once: some of its Pods are
// removed before it says that it has failed.
func (v *vigil) lookEarly() {
	if !v.explained || !v.client.inquest.on() || v.suspicion.early != nil {
		return
	}
	for _, o := range v.pending {
		if o.live != nil && o.live.GetKind() == "Job" && conditionIsTrue(o.live, "FailureTarget") && !conditionIsTrue(o.live, "Failed") {
			v.suspicion.early = v.client.inquest.Examine(v.client.ctx, release.DiagnosisRequest{
				Objects: v.suspects([]*opinion{o}), Secrets: v.client.inquest.secrets(),
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

// explain adds to the error of a wait why it failed. This is before Helm deletes
// anything that could tell.
func (v *vigil) explain(err error) error {
	q := v.client.inquest
	if err == nil || !v.explained || !q.on() || errors.Is(err, errCancelled) {
		return err
	}
	if early := v.suspicion.early; q.diagnosis == nil && early != nil && len(early.Logs) > 0 {
		q.diagnosis = early
	}
	if q.diagnosis == nil {
		q.diagnosis = q.Examine(v.client.ctx, release.DiagnosisRequest{Objects: v.suspects(v.pending), Secrets: q.secrets()})
	}
	if q.diagnosis == nil {
		return err
	}
	return fmt.Errorf("%s: %w", q.diagnosis.Summary, err)
}

// diagnosis returns d without what a redactor takes out.
func (r redactor) diagnosis(d *release.Diagnosis) *release.Diagnosis {
	if d == nil {
		return nil
	}
	clean := *d
	clean.Summary, clean.Details, clean.Logs = r.text(d.Summary), slices.Clone(d.Details), r.logs(d.Logs)
	for i, line := range clean.Details {
		clean.Details[i] = r.text(line)
	}
	return &clean
}

func (r redactor) logs(all []release.ContainerLog) []release.ContainerLog {
	all = slices.Clone(all)
	for i := range all {
		all[i].Text = r.text(all[i].Text)
	}
	return all
}
