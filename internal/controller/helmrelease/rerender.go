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
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// capabilitiesDelay is how long a change of the capabilities waits for others: an operator
	// installs many CRDs, and each changes the capabilities.
	capabilitiesDelay = 2 * time.Second
)

// withRendering returns the result of a comparison with whether the chart renders differently now
// than it did for the newest revision, as far as that is known.
func (c *comparer) withRendering(ctx context.Context, rec reconciliation, newest *release.Revision, found release.Drift) release.Drift {
	last := rec.in.Observed.Renderings
	if last.Over && !last.Unstable || !release.IsDesired(rec.in) {
		// The chart in the spec may differ from the chart of a release that is held.
		return found
	}
	capabilities, err := c.helm.Capabilities(rec.conn)
	if err == nil && release.MustRender(rec.in, capabilities) {
		err = c.render(ctx, rec, newest)
	}
	if err != nil {
		last = last.WithError(renderError(err))
	}
	return last.Report(found)
}

func renderError(err error) release.ObjectError {
	why, transient := apiretry.Describe(err)
	return release.ObjectError{Err: why, Transient: transient}
}

// renderings returns the record of the renderings of the newest revision with the present identity:
// templates can read the objects that the identity may read.
func (c *comparer) renderings(rec reconciliation, newest *release.Revision, now time.Time) (last release.Renderings) {
	revision, inputs := renderingKeys(rec, newest)
	c.memory.With(rec.key(), func(m *memory) {
		last = m.renderings.Begin(revision, inputs, now)
		m.renderings = last
		m.renderings.Fresh = false
	})
	return last
}

// renderingKeys returns the keys of the renderings of a revision, and of its chart and values.
func renderingKeys(rec reconciliation, newest *release.Revision) (revision, inputs string) {
	return comparedRevision(rec.hr, rec.conn, newest), newest.ChartName + "@" + newest.ChartVersion + " " + newest.ConfigDigest
}

// render starts to render the chart in the background, unless it must be downloaded first. The end
// of the download or of the rendering triggers another reconciliation. Until then, the last result
// counts.
func (c *comparer) render(ctx context.Context, rec reconciliation, newest *release.Revision) error {
	want, err := c.inputs.withChart(ctx, rec.hr, rec.want, release.Upgrade{})
	var blocked *release.Blocked
	if errors.As(err, &blocked) && blocked.Progressing {
		c.memory.With(rec.key(), func(m *memory) { m.sync.changed = true })
		return nil
	}
	if err != nil {
		return err
	}
	rec.want = want
	ended := false
	c.memory.With(rec.key(), func(m *memory) { m.sync.changed, ended = true, m.renderings.Fresh })
	if ended {
		// It has ended since this reconciliation started, and the next reconciliation sees the
		// result.
		return nil
	}
	if !c.attempts.Aside(ctx, rec.key(), c.rendering(ctx, rec, newest)) && release.ReconcileRequested(rec.in) {
		c.memory.With(rec.key(), func(m *memory) { m.renderings.Again = !m.renderings.Fresh })
	}
	return nil
}

// rendering returns the work that renders the chart of a revision again, and records the result. The
// result is dropped if another revision, or other inputs, are compared by then.
func (c *comparer) rendering(ctx context.Context, rec reconciliation, newest *release.Revision) attempt.Aside {
	key, conn, version, job := rec.key(), rec.conn, newest.Version, c.job(rec, nil)
	revision, inputs := renderingKeys(rec, newest)
	upgrades, log := rec.want.Policy.Drift == helmv2.DriftDetectionEnabled, ctrl.LoggerFrom(ctx)
	var result release.RenderResult
	work := attempt.Aside{
		Work: func(ctx context.Context, idle func() (resume func())) (err error) {
			ctx, cancel := apiretry.Within(ctx, deadline)
			defer cancel()
			job.Idle = idle
			result, err = c.helm.Rerender(ctx, conn, job, version)
			return err
		},
		Ended: func(err error) {
			c.memory.Update(key, func(m *memory) {
				switch {
				case m.renderings.Revision != revision || m.renderings.Inputs != inputs:
				case err != nil:
					m.renderings = m.renderings.WithError(renderError(err))
				default:
					m.renderings = m.renderings.Add(result, upgrades, c.now())
					m.readsCluster = result.Reads
					log.Info("rendered again", "reads", result.Reads, "changed", result.Changed, "unstable", m.renderings.Unstable)
				}
			})
		},
	}
	if !conn.Local() {
		work.Cluster = conn.Cluster()
	}
	return work
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
	memory  *controller.Table[memory]
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
