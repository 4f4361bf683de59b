// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// reconciliation is one run of Reconcile. The steps fill it in from the top: each takes a
// reconciliation and returns one with more.
type reconciliation struct {
	// read is the HelmRelease as it was read. hr differs from it by status.helmChart only.
	read, hr *helmv2.HelmRelease
	// running is the action that runs in the background; nil if there is none.
	running *release.Running
	// want has the inputs of the HelmRelease. It may be incomplete while an action runs.
	want inputs.Want
	// in is the input of the decision.
	in release.Input
	// conn is the connection to read and to act by; nil if nothing must be read.
	conn *cluster.Connection
	// plan is the ReleasePlan as it was read or written last; nil if there is none, or the decision
	// depends on no plan.
	plan     *v1alpha1.ReleasePlan
	decision release.Decision
	// skips are the hooks that the upgrade may leave out.
	skips []release.Skip
}

func (rec reconciliation) key() types.NamespacedName { return client.ObjectKeyFromObject(rec.read) }

// withHelmChart returns rec with another status.helmChart.
func (rec reconciliation) withHelmChart(name string) reconciliation {
	if rec.hr.Status.HelmChart != name {
		rec.hr = rec.hr.DeepCopy()
		rec.hr.Status.HelmChart = name
	}
	return rec
}

// withoutDigest returns rec without status.lastAttemptedRevisionDigest.
func (rec reconciliation) withoutDigest() reconciliation {
	if rec.hr.Status.LastAttemptedRevisionDigest != "" {
		rec.hr = rec.hr.DeepCopy()
		rec.hr.Status.LastAttemptedRevisionDigest = ""
	}
	return rec
}

// markHandled records a request by annotation as handled, and returns rec with the HelmRelease as
// written.
func (e *environment) markHandled(ctx context.Context, rec reconciliation, annotation, token string) (reconciliation, error) {
	written := rec.read.DeepCopy()
	written.Annotations[helmv2.AnnotationHandled] = release.WithHandled(rec.read.Annotations, annotation, token)
	patch := client.MergeFromWithOptions(rec.read, client.MergeFromWithOptimisticLock{})
	if err := e.client.Patch(ctx, written, patch, controller.FieldOwner); err != nil {
		return rec, err
	}
	chart := rec.hr.Status.HelmChart
	rec.read, rec.hr = written, written
	return rec.withHelmChart(chart), nil
}

// subject returns the release of rec with its inputs.
func (e *environment) subject(rec reconciliation) helm.Subject {
	return helm.Subject{
		HelmRelease: rec.hr, Want: rec.want, Defaults: e.defaults, AllowDNS: e.allowDNS,
		OwnerCandidates: owners{client: e.client, live: e.live}.ofObjects(rec.hr),
	}
}

// job returns the job of an action of rec.
func (e *environment) job(rec reconciliation, action release.HelmAction) helm.Job {
	job := e.subject(rec).Job(action)
	job.Skips = rec.skips
	return job
}

// readRequest returns the request to read a stored revision of rec.
func (e *environment) readRequest(rec reconciliation, version int) helm.ReadRequest {
	return e.subject(rec).ReadRequest(rec.want.Target, version)
}
