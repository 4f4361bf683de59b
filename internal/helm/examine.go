// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"slices"

	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/helm/wait"
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

// inquest is what a job finds out about its failure.
type inquest struct {
	Examiner
	// given are texts that are secret.
	given []string
	// newest is the newest revision that was read or made; own is told of it.
	newest *helmrelease.Release
	own    *ownSecrets

	// refusal is the diagnosis of the first object that was refused.
	refusal    *release.Diagnosis
	hookFailed bool
	hookLogs   []release.ContainerLog
}

func newInquest(job Job) *inquest { return &inquest{Examiner: job.Examiner, given: job.Secrets} }

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

// secrets returns the texts to redact: the given ones, and the values of the Secrets of the
// newest revision.
func (q *inquest) secrets() []string {
	all := slices.Clone(q.given)
	if q.newest != nil {
		var s Stored
		s.read(q.newest)
		all = append(all, s.Secrets...)
	}
	return all
}

// refuse takes note of the first object that the API server refused for whose it
// is or what it is, not for what it lacks.
func (q *inquest) refuse(info *resource.Info, err error) {
	if !q.on() || q.refusal != nil || !apierrors.IsForbidden(err) && !apiretry.WebhookDenied(apiretry.AnswerOf(err)) {
		return
	}
	s := wait.UnreadyObject(info, nil)
	s.Status = err.Error()
	q.refusal = q.Refused(s, q.secrets())
}

// diagnosis returns the cause of a failed action; nil if none is known.
func (c *client) diagnosis(err error) *release.Diagnosis {
	if err == nil {
		return nil
	}
	if d := c.waiter.Diagnosis(); d != nil {
		return d
	}
	return c.inquest.refusal
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
