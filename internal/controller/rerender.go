// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// maxRerendered is how many upgrades in a row, each within rerenderedWithin of the
	// one before, a chart may cause by being rendered otherwise. More mean that it
	// never comes to an end.
	maxRerendered    = 3
	rerenderedWithin = time.Hour
	// definitionsSettling is how long new definitions wait for others: an operator
	// brings many, and each changes what charts are told.
	definitionsSettling = 2 * time.Second

	renderedOtherwise = "the chart reads the cluster, and is rendered otherwise now"
	rendersUnstable   = "The chart is rendered otherwise each time, so that nobody can tell whether the cluster has changed what it reads there."
)

// renderings remembers what charts that read the cluster were rendered with, so
// that they are rendered again only if that may make a difference. The zero value
// is ready for use.
type renderings struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*rendering
	// reads has the releases whose charts are known to depend on what the API server
	// offers.
	reads map[types.NamespacedName]struct{}
	timer *time.Timer
}

// rendering is what is known of one release. It belongs to whoever visits it.
type rendering struct {
	// revision is the one that was rendered, inputs what it was made of.
	revision, inputs string
	// offers is a digest of that at the last rendering; empty if it is not known.
	offers string
	// at is when it was rendered last, or first met.
	at   time.Time
	last release.Rerendering
	// otherwise are the times at which it was rendered otherwise in a row.
	otherwise []time.Time
	// over is true if nothing is to be learned from rendering it again, unstable if
	// the reason is that the chart never renders the same.
	over, unstable bool
}

func (r *renderings) of(key types.NamespacedName) *rendering {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[types.NamespacedName]*rendering{}
	}
	if r.known[key] == nil {
		r.known[key] = &rendering{}
	}
	return r.known[key]
}

func (r *renderings) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
	delete(r.reads, key)
}

func (r *renderings) setReads(key types.NamespacedName, reads bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !reads {
		delete(r.reads, key)
		return
	}
	if r.reads == nil {
		r.reads = map[types.NamespacedName]struct{}{}
	}
	r.reads[key] = struct{}{}
}

// whenSettled calls wake for every release whose chart depends on what the API
// server offers, once that has not changed for a while.
func (r *renderings) whenSettled(wake func(types.NamespacedName)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	r.timer = time.AfterFunc(definitionsSettling, func() {
		r.mu.Lock()
		all := slices.Collect(maps.Keys(r.reads))
		r.mu.Unlock()
		for _, key := range all {
			wake(key)
		}
	})
}

// due reports whether a rendering may come out otherwise than the last one did: what
// the API server offers has changed; or somebody asks, or half an interval has
// passed, where only rendering can tell.
func (one *rendering) due(offers string, interval time.Duration, asked bool, now time.Time) bool {
	waited := asked || now.Sub(one.at) >= interval/2
	switch {
	case one.over:
		return false
	case one.offers == "":
		return waited
	case one.offers != offers:
		return true
	}
	return one.last.Lookup && waited
}

// begin makes the memory that of a revision. How often one of the same inputs was
// rendered otherwise stays.
func (one *rendering) begin(revision, inputs string, now time.Time) {
	if one.inputs != inputs {
		*one = rendering{inputs: inputs}
	}
	if one.revision != revision {
		one.revision, one.offers, one.at, one.last = revision, "", now, release.Rerendering{}
	}
}

// learn notes how a rendering came out. What nobody upgrades comes out otherwise
// each time, of course.
func (one *rendering) learn(result release.Rerendering, upgrades bool, now time.Time) {
	one.last, one.offers, one.at = result, result.Capabilities, now
	if result.Changed && upgrades {
		one.otherwise = slices.DeleteFunc(one.otherwise, func(t time.Time) bool { return now.Sub(t) >= rerenderedWithin })
		one.otherwise = append(one.otherwise, now)
	}
	one.unstable = result.Unstable || len(one.otherwise) > maxRerendered
	one.over = one.unstable || !result.Reads
}

// rerender adds to what is known of drift whether the chart would be rendered
// otherwise now than it was for the newest revision.
func (r *HelmReleaseReconciler) rerender(ctx context.Context, hr *helmv2.HelmRelease, way *cluster.Connection, want inputs.Want, newest *release.Revision, found *release.Drift) {
	one := r.rendering(hr, way, newest)
	if one.over && !one.unstable {
		return
	}
	offers, err := r.helm.Offers(way)
	if err == nil && one.due(offers, want.Policy.Interval, askedFor(hr), r.now()) {
		err = r.renderOnce(ctx, hr, way, want, newest, one)
	}
	switch {
	case err != nil:
		why, transient := apiretry.Describe(err)
		found.Errors = append(found.Errors, release.ObjectError{Err: why, Transient: transient})
	case one.unstable:
		found.Note = rendersUnstable
	case one.last.Changed:
		found.Rendering = renderedOtherwise
	}
}

// rendering is what is known of how the newest revision of hr was rendered, by
// whoever renders it now: templates read what their identity may.
func (r *HelmReleaseReconciler) rendering(hr *helmv2.HelmRelease, way *cluster.Connection, newest *release.Revision) *rendering {
	one := r.rendered.of(client.ObjectKeyFromObject(hr))
	one.begin(comparedRevision(hr, way, newest), newest.ChartName+"@"+newest.ChartVersion+" "+newest.ConfigDigest, r.now())
	return one
}

func askedFor(hr *helmv2.HelmRelease) bool {
	token, asked := hr.Annotations[helmv2.AnnotationReconcileRequest]
	return asked && token != hr.Status.LastHandledReconcileAt
}

// renderOnce renders the chart, unless it has to be downloaded first: the end of the
// download wakes the release.
func (r *HelmReleaseReconciler) renderOnce(ctx context.Context, hr *helmv2.HelmRelease, way *cluster.Connection, want inputs.Want, newest *release.Revision, one *rendering) error {
	want, err := r.hold(ctx, hr, want, release.Upgrade{})
	var blocked *release.Blocked
	if errors.As(err, &blocked) && blocked.Progressing {
		r.rest.wake(client.ObjectKeyFromObject(hr))
		return nil
	}
	if err != nil {
		return err
	}
	result, err := r.helm.Rerender(ctx, way, r.job(hr, want, release.Settle{}), newest.Version)
	if err != nil {
		return err
	}
	one.learn(result, want.Policy.Drift == helmv2.DriftDetectionEnabled, r.now())
	r.rendered.setReads(client.ObjectKeyFromObject(hr), result.Reads)
	ctrl.LoggerFrom(ctx).Info("rendered once more", "reads", result.Reads, "changed", result.Changed, "unstable", one.unstable)
	return nil
}

// renderedWith notes with what an action rendered the revision it made.
func (r *HelmReleaseReconciler) renderedWith(ctx context.Context, hr *helmv2.HelmRelease, way *cluster.Connection, job helm.Job, newest *release.Revision) {
	reads, err := r.helm.Reads(ctx, way, job)
	if err != nil {
		// It is found out by rendering, in a while.
		return
	}
	one := r.rendering(hr, way, newest)
	one.last, one.offers, one.over = reads, reads.Capabilities, one.unstable || !reads.Reads
	r.rendered.setReads(client.ObjectKeyFromObject(hr), reads.Reads)
}
