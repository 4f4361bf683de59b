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
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// Examiner finds the cause why objects are not ready, and reads logs. It limits its own duration,
// and ends when ctx does.
type Examiner interface {
	// Examine returns nil if it finds no cause.
	Examine(ctx context.Context, q release.DiagnosisRequest) *release.Diagnosis
	// Refused returns the diagnosis of an object that the API server refused.
	Refused(suspect release.UnreadyObject, namespace string, secrets []string) *release.Diagnosis
	// HookLogs returns the ends of the logs of the newest Pod that options select.
	HookLogs(ctx context.Context, namespace string, options metav1.ListOptions, secrets []string) ([]release.ContainerLog, error)
}

// findings are facts about the end of one job. It implements apply.Findings.
type findings struct {
	// examiner, if set, turns facts into diagnoses.
	examiner Examiner
	redact   redact.Redactor
	// namespace is the namespace of the release.
	namespace string
	// given are the secrets of the job.
	given []string

	// newest is the newest revision that was read or created.
	newest *helmrelease.Release
	// read are the revisions that were read in full, by number.
	read map[int]*helmrelease.Release
	// refusal is the diagnosis of the first object that was refused, and refusals are all.
	refusal    *release.Diagnosis
	refusals   []refusal
	hookFailed bool
	hookLogs   []release.ContainerLog
}

// addRevisions adds revisions that were read or created.
func (f *findings) addRevisions(all ...*helmrelease.Release) {
	for _, rls := range all {
		if rls.Manifest != "" {
			if f.read == nil {
				f.read = map[int]*helmrelease.Release{}
			}
			f.read[rls.Version] = rls
		}
		if f.newest == nil || rls.Version >= f.newest.Version {
			f.newest = rls
			f.redact.SetRevision(rls)
		}
	}
}

// changes returns changes without secrets. If the action was resumed, an earlier process may have
// created and changed objects, which therefore are not counted.
func (f *findings) changes(all release.Changes, resumed bool) release.Changes {
	var previous []*helmrelease.Release
	for version, rls := range f.read {
		if f.newest == nil || version < f.newest.Version {
			previous = append(previous, rls)
		}
	}
	if resumed {
		all.Objects = nil
	}
	return f.redact.Changes(all, previous...)
}

// secrets returns the texts that diagnoses must not contain: the secrets of the job, and the values
// of the Secrets of the newest revision.
func (f *findings) secrets() []string {
	all := slices.Clone(f.given)
	if f.newest != nil {
		all = append(all, redact.SecretsOf(f.newest).Values...)
	}
	return all
}

// Refused stores why the API server refused an object. It also stores the diagnosis of the first object
// that it refused for its owner or by admission.
func (f *findings) Refused(info *resource.Info, err error) {
	f.addRefusal(info, err)
	if f.examiner == nil || f.refusal != nil || !apierrors.IsForbidden(err) && !apiretry.WebhookDenied(apiretry.AnswerOf(err)) {
		return
	}
	s := wait.UnreadyObject(info, nil)
	s.Status = err.Error()
	f.refusal = f.examiner.Refused(s, f.namespace, f.secrets())
}

// HookFailed stores that a hook has failed. Its logs are in the diagnosis then.
func (f *findings) HookFailed() { f.hookFailed = true }

// ReadHookLogs reads and stores the logs of a hook that has not failed.
func (f *findings) ReadHookLogs(ctx context.Context, namespace string, options metav1.ListOptions) error {
	if f.examiner == nil || f.hookFailed {
		return nil
	}
	logs, err := f.examiner.HookLogs(ctx, namespace, options, f.secrets())
	f.hookLogs = append(f.hookLogs, logs...)
	return err
}

// diagnosis returns the cause of a failed action; nil if none is known. The waited argument is the
// diagnosis of a wait.
func (f *findings) diagnosis(err error, waited *release.Diagnosis) *release.Diagnosis {
	switch {
	case err == nil:
		return nil
	case waited != nil:
		return waited
	}
	return f.refusal
}
