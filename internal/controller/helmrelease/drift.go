// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/metadata"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/watch"
)

// comparer compares live objects with the newest revision, and watches them.
type comparer struct {
	*environment
	detector driftDetector
	objects  follower
	inputs   *inputReader
	// overriddenManagers are field managers whose fields are compared and corrected.
	overriddenManagers []string
}

// driftDetector compares live objects with a revision, and corrects them.
type driftDetector interface {
	Detect(ctx context.Context, look drift.Request) (*release.Drift, error)
	Correct(ctx context.Context, look drift.Request, onlyRemoved bool) ([]release.DriftedObject, []release.ObjectError)
	Record(key types.NamespacedName, revision string, r *drift.Recorder, inventory []release.Object) (exact bool)
	Resources(key types.NamespacedName) []schema.GroupVersionResource
	Forget(key types.NamespacedName)
}

// follower enqueues releases whose live objects change.
type follower interface {
	WatchKinds(key types.NamespacedName, c watch.Cluster, kinds []schema.GroupVersionResource)
	Forbidden(key types.NamespacedName) (kinds []schema.GroupVersionResource, settled bool)
	Observed(cluster string, resource schema.GroupVersionResource, namespace, name string) watch.Observation
	Forget(key types.NamespacedName)
}

// compare returns how live objects differ from the newest revision, and watches them from now on.
func (c *comparer) compare(ctx context.Context, rec reconciliation, newest *release.Revision) (*release.Drift, error) {
	look, err := c.request(rec, newest)
	if err != nil {
		return nil, &release.Blocked{
			Reason: helmv2.ReasonStateError, Terminal: true, Retry: release.Never(), Err: err,
			Message: err.Error(),
		}
	}
	found, err := c.detector.Detect(ctx, look)
	if err != nil {
		return nil, release.BlockedBy(helmv2.ReasonStateError, err, "Could not compare the objects of revision %d", newest.Version)
	}
	c.follow(rec.key(), rec.conn)
	result := c.withRendering(ctx, rec, newest, *found)
	kinds, settled := c.objects.Forbidden(rec.key())
	result.WatchUnknown = !settled
	for _, kind := range kinds {
		result.Unwatched = append(result.Unwatched, kind.GroupResource().String())
	}
	c.memory.With(rec.key(), func(m *memory) { result = m.comparison.Filter(result, c.now()) })
	return &result, nil
}

// follow watches the kinds of the objects of a release.
func (c *comparer) follow(key types.NamespacedName, conn *cluster.Connection) {
	c.followKinds(key, conn, c.detector.Resources(key))
}

func (c *comparer) followKinds(key types.NamespacedName, conn *cluster.Connection, kinds []schema.GroupVersionResource) {
	c.objects.WatchKinds(key, watch.Cluster{
		ID:     conn.Cluster(),
		Client: func() (metadata.Interface, error) { return metadata.NewForConfig(conn.Unimpersonated()) },
	}, kinds)
}

// follows ends the watches of a release whose objects are no longer compared.
func (c *comparer) follows(key types.NamespacedName, want release.Desired) {
	switch {
	case !compares(want) || want.Deleted:
		c.forget(key)
	case want.Suspension.Active:
		c.objects.Forget(key)
		c.attempts.EndAside(key)
	}
}

// forget drops the state of the objects of a release.
func (c *comparer) forget(key types.NamespacedName) {
	c.objects.Forget(key)
	c.detector.Forget(key)
	c.attempts.EndAside(key)
	c.memory.Update(key, func(m *memory) {
		m.comparison.End()
		m.renderings, m.readsCluster = release.Renderings{}, false
	})
}

// compares reports whether live objects are compared.
func compares(want release.Desired) bool {
	return want.Policy.Drift == helmv2.DriftDetectionEnabled || want.Policy.Drift == helmv2.DriftDetectionWarn
}

// record stores the objects that an action has applied, so that they need no comparison. It returns
// the outcome with Exact, which is true if the API server stored the objects as they were sent.
func (c *comparer) record(ctx context.Context, rec reconciliation, job helm.Job, o release.Outcome, applied *drift.Recorder) release.Outcome {
	switch o.Action.(type) {
	case release.Install, release.Upgrade:
	case release.Test, release.Rollback, release.Uninstall, release.Unlock, release.Recheck, release.FailBake, release.CorrectDrift:
		return o
	}
	if o.Err != nil || len(o.Revisions) == 0 || o.Inventory == nil {
		return o
	}
	c.renderedBy(ctx, rec, job, &o.Revisions[0])
	o.Exact = c.detector.Record(rec.key(), comparedRevision(rec.hr, rec.conn, &o.Revisions[0]), applied, o.Inventory)
	c.follow(rec.key(), rec.conn)
	return o
}

// request returns the request to compare the objects of a revision.
func (c *comparer) request(rec reconciliation, newest *release.Revision) (drift.Request, error) {
	look, err := drift.RequestFor(rec.hr, c.overriddenManagers, rec.want.Secrets)
	if err != nil {
		return look, err
	}
	in := rec.conn.Cluster()
	look.Revision = comparedRevision(rec.hr, rec.conn, newest)
	look.Objects = func(ctx context.Context) ([]*resource.Info, []release.Object, error) {
		return c.helm.Objects(ctx, rec.conn, c.readRequest(rec, newest.Version))
	}
	look.Watch = func(kinds []schema.GroupVersionResource) { c.followKinds(rec.key(), rec.conn, kinds) }
	look.Changed = func(resource schema.GroupVersionResource, namespace, name, uid, version string) drift.Change {
		switch seen := c.objects.Observed(in, resource, namespace, name); {
		case !seen.Known:
			return drift.Unknown
		case seen.ChangedSince(uid, version):
			return drift.Changed
		}
		return drift.Unchanged
	}
	return look, nil
}

// comparedRevision returns a key of comparisons. It differs between revisions, one that was made
// again under an old number included, between rules of ignored fields, and between identities:
// a comparison contains the client to correct by, and another identity may not be allowed to read
// its result.
func comparedRevision(hr *helmv2.HelmRelease, conn *cluster.Connection, newest *release.Revision) string {
	// The rules were decoded from JSON.
	rules, _ := json.Marshal(drift.IgnoreRules(hr))
	return fmt.Sprintf("%q %s %s/%s.v%d %d %x", conn.Identity(), hr.UID, newest.Namespace, newest.Name, newest.Version, newest.LastDeployed.Unix(), sha256.Sum256(rules))
}

// correct makes live objects equal to the newest revision.
func (c *comparer) correct(ctx context.Context, look drift.Request, want release.Desired, a release.CorrectDrift, retries apiretry.Options) release.Outcome {
	out := release.Outcome{Action: a, Desired: want, Started: c.now()}
	within, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	look.Retrier = apiretry.New(within, retries)
	defer look.Retrier.End()
	out.Corrected, out.Failed = c.detector.Correct(within, look, a.OnlyRemoved)
	outage := look.Retrier.Outage()
	switch {
	case ctx.Err() != nil:
		out.Err, out.Cancelled = context.Cause(ctx), true
	case outage != nil:
		out.Err = outage
		out.Interrupted = &release.Outage{Server: outage.Server, Since: outage.Since, Cause: outage.Cause, Webhook: outage.Webhook}
	}
	out.Ended = c.now()
	return out
}
