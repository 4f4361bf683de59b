// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/metadata"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/diagnosis"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
	"github.com/pintle-dev/pintle/internal/watch"
)

// driftDetector compares live objects with a revision, and corrects them.
type driftDetector interface {
	Detect(ctx context.Context, look drift.Request) (*release.Drift, error)
	Correct(ctx context.Context, look drift.Request, onlyRemoved bool) ([]release.DriftedObject, []release.ObjectError)
	Record(key types.NamespacedName, revision string, r *drift.Recorder, inventory []release.Object) (exact bool)
	Resources(key types.NamespacedName) []schema.GroupVersionResource
	Forget(key types.NamespacedName)
}

// follower wakes releases whose live objects change.
type follower interface {
	WatchKinds(key types.NamespacedName, c watch.Cluster, kinds []schema.GroupVersionResource)
	Observed(cluster string, resource schema.GroupVersionResource, namespace, name string) watch.Observation
	Forget(key types.NamespacedName)
}

// compare finds out how live objects differ from the newest revision, and from now
// on hears of changes to them.
func (r *HelmReleaseReconciler) compare(ctx context.Context, hr *helmv2.HelmRelease, way *cluster.Connection, want inputs.Want, newest *release.Revision) (*release.Drift, error) {
	look, err := r.look(hr, way, want, newest)
	if err != nil {
		return nil, &release.Blocked{
			Reason: helmv2.ReasonStateError, Terminal: true, Retry: release.Never(), Err: err,
			Message: "spec.driftDetection: " + err.Error(),
		}
	}
	found, err := r.drift.Detect(ctx, look)
	if err != nil {
		return nil, release.BlockedBy(helmv2.ReasonStateError, err, "Could not compare the objects of revision %d", newest.Version)
	}
	r.follow(look.Release, way, r.drift.Resources(look.Release))
	r.rerender(ctx, hr, way, want, newest, found)
	r.unread.ride(look.Release, found, r.now())
	return found, nil
}

// follow hears of changes to the objects of a release.
func (r *HelmReleaseReconciler) follow(key types.NamespacedName, way *cluster.Connection, kinds []schema.GroupVersionResource) {
	r.objects.WatchKinds(key, watch.Cluster{
		ID:     way.Cluster(),
		Client: func() (metadata.Interface, error) { return metadata.NewForConfig(way.Unimpersonated()) },
	}, kinds)
}

// uncompare forgets what is known of the objects of a release that nobody compares.
func (r *HelmReleaseReconciler) uncompare(key types.NamespacedName) {
	r.objects.Forget(key)
	r.drift.Forget(key)
	r.unread.over(key)
	r.rendered.forget(key)
}

// record notes what an action applied, so that it need not be looked at to know that
// it is as it should be.
func (r *HelmReleaseReconciler) record(ctx context.Context, hr *helmv2.HelmRelease, way *cluster.Connection, job helm.Job, o *release.Outcome, applied *drift.Recorder) {
	switch o.Action.(type) {
	case release.Install, release.Upgrade:
	case release.Test, release.Rollback, release.Uninstall, release.Unlock, release.Recheck, release.CorrectDrift,
		release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
		return
	}
	if o.Err != nil || len(o.Revisions) == 0 || o.Inventory == nil {
		return
	}
	key := client.ObjectKeyFromObject(hr)
	r.renderedWith(ctx, hr, way, job, &o.Revisions[0])
	o.Exact = r.drift.Record(key, comparedRevision(hr, way, &o.Revisions[0]), applied, o.Inventory)
	r.follow(key, way, r.drift.Resources(key))
}

// attend forgets what is known of live objects where nobody compares them.
func (r *HelmReleaseReconciler) attend(key types.NamespacedName, want release.Desired) {
	switch {
	case !compares(want) || want.Deleted:
		r.uncompare(key)
	case want.Suspended:
		r.objects.Forget(key)
	}
}

// look says how the objects of a revision are compared.
func (r *HelmReleaseReconciler) look(hr *helmv2.HelmRelease, way *cluster.Connection, want inputs.Want, newest *release.Revision) (drift.Request, error) {
	rules, err := drift.CompileRules(ignored(hr))
	if err != nil {
		return drift.Request{}, err
	}
	at := way.Cluster()
	return drift.Request{
		Release:  client.ObjectKeyFromObject(hr),
		Revision: comparedRevision(hr, way, newest),
		Rules:    rules,
		Override: r.overriddenManagers,
		Redact:   redactLater(want.Secrets),
		Objects: func(ctx context.Context) ([]*resource.Info, error) {
			return r.helm.Objects(ctx, way, r.job(hr, want, release.Settle{}), newest.Version)
		},
		Watch: func(kinds []schema.GroupVersionResource) { r.follow(client.ObjectKeyFromObject(hr), way, kinds) },
		Changed: func(resource schema.GroupVersionResource, namespace, name, uid, version string) drift.Change {
			switch seen := r.objects.Observed(at, resource, namespace, name); {
			case !seen.Known:
				return drift.Unknown
			case seen.ChangedSince(uid, version):
				return drift.Changed
			}
			return drift.Unchanged
		},
	}, nil
}

// redactLater returns what takes secrets out of texts. Most looks find nothing to say.
func redactLater(secrets []string) func(string) string {
	redactor := sync.OnceValue(func() diagnosis.Redactor { return diagnosis.NewRedactor(secrets) })
	return func(text string) string { return redactor().Text(text) }
}

func ignored(hr *helmv2.HelmRelease) []helmv2.IgnoreRule {
	if hr.Spec.DriftDetection == nil {
		return nil
	}
	return hr.Spec.DriftDetection.Ignore
}

// comparedRevision differs between revisions of a release, one that was made anew
// under an old number included, between rules of what is ignored, and between
// those who look: what one identity has found holds the client to correct it by, and
// another may not even be allowed to know it.
func comparedRevision(hr *helmv2.HelmRelease, way *cluster.Connection, newest *release.Revision) string {
	// What came as JSON can become JSON again.
	rules, _ := json.Marshal(ignored(hr))
	return fmt.Sprintf("%q %s %s/%s.v%d %d %x", way.Identity(), hr.UID, newest.Namespace, newest.Name, newest.Version, newest.LastDeployed.Unix(), sha256.Sum256(rules))
}

// correct makes live objects what the newest revision has them be.
func (r *HelmReleaseReconciler) correct(ctx context.Context, look drift.Request, want release.Desired, a release.CorrectDrift, retries apiretry.Options) release.Outcome {
	out := release.Outcome{Action: a, Desired: want, Started: r.now()}
	within, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	look.Retrier = apiretry.New(within, retries)
	defer look.Retrier.End()
	out.Corrected, out.Failed = r.drift.Correct(within, look, a.OnlyRemoved)
	outage := look.Retrier.Outage()
	switch {
	case ctx.Err() != nil:
		out.Err, out.Cancelled = context.Cause(ctx), true
	case outage != nil:
		out.Err = outage
		out.Interrupted = &release.Outage{Server: outage.Server, Since: outage.Since, Cause: outage.Cause}
	}
	out.Ended = r.now()
	return out
}

// compares reports whether anybody wants to know how live objects differ.
func compares(want release.Desired) bool {
	return want.Policy.Drift == helmv2.DriftDetectionEnabled || want.Policy.Drift == helmv2.DriftDetectionWarn
}

// noteDrift counts releases that drift, and counts and logs objects whenever that
// they do is news.
func (r *HelmReleaseReconciler) noteDrift(ctx context.Context, hr *helmv2.HelmRelease, d release.Decision, in release.Input, rep status.Report) {
	r.metrics.Drifted(client.ObjectKeyFromObject(hr).String(), d.State == release.StateDrifted)
	for _, e := range rep.Events {
		if e.Reason == helmv2.ReasonDriftDetected {
			r.metrics.DriftDetected(in.Observed.Drift.Objects)
			logDrift(ctx, in.Observed.Drift.Objects)
		}
	}
}

// maxLogged is how many fields of a release that drifts are logged at a time, more or
// less.
const maxLogged = 100

func logDrift(ctx context.Context, objects []release.DriftedObject) {
	log, logged := ctrl.LoggerFrom(ctx), 0
	for _, o := range objects {
		log := log.WithValues("object", o.Kind+"/"+o.Namespace+"/"+o.Name)
		if o.Removed {
			log.Info("drift", "difference", "removed")
		}
		for _, f := range o.Fields {
			log.Info("drift", "difference", f.Kind, "field", f.Path, "manager", f.Manager, "operation", f.Operation,
				"subresource", f.Subresource, "at", f.Time, "wanted", f.Want, "found", f.Have)
		}
		if logged += 1 + len(o.Fields); logged >= maxLogged {
			return
		}
	}
}
