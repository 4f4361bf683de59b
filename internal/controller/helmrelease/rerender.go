// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"
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
	// capabilitiesDelay is how long a change of the capabilities waits for others: an operator
	// installs many CRDs, and each changes the capabilities.
	capabilitiesDelay = 2 * time.Second
)

// withRendering returns the result of a comparison with whether the chart renders differently now
// than it did for the newest revision.
func (c *comparer) withRendering(ctx context.Context, rec reconciliation, newest *release.Revision, found release.Drift) release.Drift {
	last := rec.in.Observed.Renderings
	if last.Over && !last.Unstable || !release.IsDesired(rec.in) {
		// The chart in the spec need not be that of a release that is held.
		return found
	}
	capabilities, err := c.helm.Capabilities(rec.conn)
	if err == nil && release.MustRender(rec.in, capabilities) {
		last, err = c.render(ctx, rec, newest, last)
	}
	if err != nil {
		why, transient := apiretry.Describe(err)
		found.Errors = append(found.Errors, release.ObjectError{Err: why, Transient: transient})
		return found
	}
	return last.Report(found)
}

// renderings returns the record of the renderings of the newest revision with the present identity:
// templates can read the objects that the identity may read.
func (c *comparer) renderings(rec reconciliation, newest *release.Revision, now time.Time) (last release.Renderings) {
	revision := comparedRevision(rec.hr, rec.conn, newest)
	made := newest.ChartName + "@" + newest.ChartVersion + " " + newest.ConfigDigest
	c.memory.With(rec.key(), func(m *memory) {
		m.renderings = m.renderings.Begin(revision, made, now)
		last = m.renderings
	})
	return last
}

// render renders the chart, unless it has to be downloaded first. The end of the download triggers
// another reconciliation.
func (c *comparer) render(ctx context.Context, rec reconciliation, newest *release.Revision, last release.Renderings) (release.Renderings, error) {
	want, err := c.inputs.withChart(ctx, rec.hr, rec.want, release.Upgrade{})
	var blocked *release.Blocked
	if errors.As(err, &blocked) && blocked.Progressing {
		c.memory.With(rec.key(), func(m *memory) { m.sync.changed = true })
		return last, nil
	}
	if err != nil {
		return last, err
	}
	rec.want = want
	result, err := c.helm.Rerender(ctx, rec.conn, c.job(rec, release.Settle{}), newest.Version)
	if err != nil {
		return last, err
	}
	c.memory.With(rec.key(), func(m *memory) {
		m.renderings = m.renderings.Add(result, want.Policy.Drift == helmv2.DriftDetectionEnabled, c.now())
		m.readsCluster = result.Reads
		last = m.renderings
	})
	ctrl.LoggerFrom(ctx).Info("rendered again", "reads", result.Reads, "changed", result.Changed, "unstable", last.Unstable)
	return last, nil
}

// renderedBy records the capabilities with which an action rendered the revision that it made.
func (c *comparer) renderedBy(ctx context.Context, rec reconciliation, job helm.Job, newest *release.Revision) {
	reads, err := c.helm.Reads(ctx, rec.conn, job)
	if err != nil {
		// A later rendering determines it.
		return
	}
	_ = c.renderings(rec, newest, c.now())
	c.memory.With(rec.key(), func(m *memory) {
		m.renderings, m.readsCluster = m.renderings.Installed(reads), reads.Reads
	})
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
