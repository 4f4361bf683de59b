// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/state"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// maxRerendered is how many upgrades in a row, each within rerenderedWithin of the one
	// before, a chart may cause by rendering differently. After more, the renderings count as
	// unstable.
	maxRerendered    = 3
	rerenderedWithin = time.Hour
	// capabilitiesDelay is how long a change of the capabilities waits for others: an operator
	// installs many CRDs, and each changes the capabilities.
	capabilitiesDelay = 2 * time.Second

	renderedOtherwise = "the chart reads the cluster, and is rendered otherwise now"
	rendersUnstable   = "The chart renders another manifest each time, so a change of what it reads from the cluster cannot be detected."
)

// withRendering returns the result of a comparison with whether the chart renders differently now
// than it did for the newest revision.
func (c *comparer) withRendering(ctx context.Context, rec reconciliation, newest *release.Revision, found release.Drift) release.Drift {
	one := c.rendering(rec, newest)
	if one.over && !one.unstable {
		return found
	}
	capabilities, err := c.helm.Capabilities(rec.conn)
	if err == nil && one.isDue(capabilities, rec.want.Policy.Interval, isRequested(rec.hr), c.now()) {
		one, err = c.render(ctx, rec, newest, one)
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
	return found
}

// rendering returns what is known of the rendering of the newest revision with the present
// identity: templates read what the identity may.
func (c *comparer) rendering(rec reconciliation, newest *release.Revision) (one rendering) {
	revision := comparedRevision(rec.hr, rec.conn, newest)
	made := newest.ChartName + "@" + newest.ChartVersion + " " + newest.ConfigDigest
	c.memory.With(rec.key(), func(m *memory) {
		m.rendering.begin(revision, made, c.now())
		one = m.rendering
	})
	return one
}

// isRequested reports whether a reconciliation is requested by annotation.
func isRequested(hr *helmv2.HelmRelease) bool {
	token, asked := hr.Annotations[helmv2.AnnotationReconcileRequest]
	return asked && token != hr.Status.LastHandledReconcileAt
}

// render renders the chart, unless it has to be downloaded first. The end of the download triggers
// another reconciliation.
func (c *comparer) render(ctx context.Context, rec reconciliation, newest *release.Revision, one rendering) (rendering, error) {
	want, err := c.inputs.withChart(ctx, rec.hr, rec.want, release.Upgrade{})
	var blocked *release.Blocked
	if errors.As(err, &blocked) && blocked.Progressing {
		c.memory.With(rec.key(), func(m *memory) { m.sync.changed = true })
		return one, nil
	}
	if err != nil {
		return one, err
	}
	rec.want = want
	result, err := c.helm.Rerender(ctx, rec.conn, c.job(rec, release.Settle{}), newest.Version)
	if err != nil {
		return one, err
	}
	c.memory.With(rec.key(), func(m *memory) {
		m.rendering.learn(result, want.Policy.Drift == helmv2.DriftDetectionEnabled, c.now())
		m.readsCluster = result.Reads
		one = m.rendering
	})
	ctrl.LoggerFrom(ctx).Info("rendered once more", "reads", result.Reads, "changed", result.Changed, "unstable", one.unstable)
	return one, nil
}

// renderedBy remembers the capabilities with which an action rendered the revision that it made.
func (c *comparer) renderedBy(ctx context.Context, rec reconciliation, job helm.Job, newest *release.Revision) {
	reads, err := c.helm.Reads(ctx, rec.conn, job)
	if err != nil {
		// A later rendering finds out.
		return
	}
	_ = c.rendering(rec, newest)
	c.memory.With(rec.key(), func(m *memory) {
		one := &m.rendering
		one.last, one.capabilities, one.over = reads, reads.Capabilities, one.unstable || !reads.Reads
		m.readsCluster = reads.Reads
	})
}

// rendering is what is known of how the chart of one revision renders, so that it is rendered again
// only if the result may differ.
type rendering struct {
	// revision is the one that was rendered, inputs what it was made of.
	revision, inputs string
	// capabilities is a digest of the API server's at the last rendering; empty if unknown.
	capabilities string
	// at is the time of the last rendering, or when the revision was first compared.
	at   time.Time
	last release.Rerendering
	// changes are the times at which it rendered differently in a row.
	changes []time.Time
	// over is true if another rendering can teach nothing, unstable if the reason is that the
	// chart never renders the same.
	over, unstable bool
}

// isDue reports whether the chart may render differently than it did last. That is so if the
// capabilities have changed. Where only rendering can tell, it is so on request and after half an
// interval.
func (one rendering) isDue(capabilities string, interval time.Duration, asked bool, now time.Time) bool {
	waited := asked || now.Sub(one.at) >= interval/2
	switch {
	case one.over:
		return false
	case one.capabilities == "":
		return waited
	case one.capabilities != capabilities:
		return true
	}
	return one.last.Lookup && waited
}

// begin makes one that of a revision. Changes of revisions with the same inputs are kept.
func (one *rendering) begin(revision, inputs string, now time.Time) {
	if one.inputs != inputs {
		*one = rendering{inputs: inputs}
	}
	if one.revision != revision {
		one.revision, one.capabilities, one.at, one.last = revision, "", now, release.Rerendering{}
	}
}

// learn records the result of a rendering. A change counts towards unstable only if it causes an
// upgrade: without one, each rendering is a change.
func (one *rendering) learn(result release.Rerendering, upgrades bool, now time.Time) {
	one.last, one.capabilities, one.at = result, result.Capabilities, now
	if result.Changed && upgrades {
		one.changes = slices.DeleteFunc(one.changes, func(t time.Time) bool { return now.Sub(t) >= rerenderedWithin })
		one.changes = append(one.changes, now)
	}
	one.unstable = result.Unstable || len(one.changes) > maxRerendered
	one.over = one.unstable || !result.Reads
}

// readers enqueues the HelmReleases whose charts depend on the capabilities of the API server.
type readers struct {
	memory  *state.Table[memory]
	enqueue func(types.NamespacedName)

	mu    sync.Mutex
	timer *time.Timer
}

// capabilitiesChanged enqueues them when the capabilities have not changed for capabilitiesDelay.
func (r *readers) capabilitiesChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	r.timer = time.AfterFunc(capabilitiesDelay, func() {
		var all []types.NamespacedName
		r.memory.Each(func(key types.NamespacedName, m *memory) {
			if m.readsCluster {
				all = append(all, key)
			}
		})
		for _, key := range all {
			r.enqueue(key)
		}
	})
}
