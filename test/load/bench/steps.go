// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

// The phases of a session, by their names.
const (
	phaseInstall  = "install"
	phaseUpgrade  = "upgrade"
	phaseNoOp     = "no-op"
	phaseIdle     = "idle"
	phaseInterval = "interval"
	phaseStartUp  = "start-up"
	phaseDrift    = "drift"
	phaseWarn     = "warn"
	phaseDelete   = "delete"
)

const (
	// longInterval is longer than any phase, so that only requested reconciliations are measured.
	longInterval = 10 * time.Hour
	// driftInterval is the interval of HelmReleases with drift detection. It is a usual one, and
	// much longer than a correction may take.
	driftInterval = 10 * time.Minute
	// driftPatience is how long after the last change a controller is awaited that
	// may find out only at an interval.
	driftPatience = time.Minute
)

// step is the measured work of a phase.
type step struct {
	name string
	// restarts is set if do starts the controller, which was stopped before.
	restarts bool
	// before and after are not measured.
	before, after func(context.Context) error
	do            func(context.Context) error
	// until returns when the work is done; it gets the counters at the start.
	until func(context.Context, readings) error
	// note adds results that only the step has.
	note func(*phase)
	// omit returns why the step is omitted, or an empty text.
	omit func() string
}

// run measures one phase after the other.
func (b *bench) run(ctx context.Context) (*session, error) {
	for _, step := range b.steps() {
		if step.omit != nil && step.omit() != "" {
			note := step.name + " is left out: " + step.omit()
			frame.Say("%s", note)
			b.session.Notes = append(b.session.Notes, note)
			continue
		}
		frame.Say("%s", step.name)
		p, err := b.phase(ctx, step)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		b.session.Phases = append(b.session.Phases, p)
	}
	return &b.session, nil
}

func (b *bench) steps() []step {
	if b.Page {
		return b.pageSteps()
	}
	// Steps that keep the controller's state.
	steps := []step{b.install(), b.upgrade(), b.noOp(), {
		name: phaseIdle,
		do:   func(ctx context.Context) error { return frame.Pause(ctx, b.idle) }, until: b.until(releaseAt(2)),
	}}
	if b.Interval.Duration > 0 {
		steps = append(steps, b.interval())
	}
	steps = append(steps, b.startUp())
	if b.Drift {
		steps = append(steps, b.drift(), b.warn())
	}
	return append(steps, step{
		name: phaseDelete, do: b.deleteAll,
		until: func(ctx context.Context, _ readings) error {
			return b.await(ctx, b.names(nil), func(hr *helmv2.HelmRelease) bool { return hr == nil })
		},
	})
}

// until waits for those releases that can be as wanted.
func (b *bench) until(wanted func(*helmv2.HelmRelease) bool) func(context.Context, readings) error {
	return func(ctx context.Context, _ readings) error {
		return b.await(ctx, b.names(b.isHealthy), wanted)
	}
}

func (b *bench) isHealthy(i int) bool { return !b.unready(i) && !b.suspended(i) }

// releaseAt returns a condition: the release is ready and has exactly this revision.
func releaseAt(revision int) func(*helmv2.HelmRelease) bool {
	return func(hr *helmv2.HelmRelease) bool {
		return hr != nil && harness.Ready(hr) && len(hr.Status.History) > 0 && hr.Status.History[0].Version == revision
	}
}

func (b *bench) install() step {
	return step{name: phaseInstall, do: b.create, until: b.until(releaseAt(1)), after: b.weighRevision}
}

// weighRevision notes how large a stored revision is.
func (b *bench) weighRevision(ctx context.Context) error {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: name, Name: "sh.helm.release.v1." + b.names(b.isHealthy)[0] + ".v1"}
	if err := b.Env.Client.Get(ctx, key, secret); err != nil {
		return err
	}
	b.session.RevisionBytes = len(secret.Data["release"])
	return nil
}

func (b *bench) upgrade() step {
	return step{
		name: phaseUpgrade,
		do: func(ctx context.Context) error {
			return b.patchAll(ctx, `{"spec":{"values":{"message":"hello again"}}}`)
		},
		until: b.until(func(hr *helmv2.HelmRelease) bool { return hr != nil && hr.Generation > 1 && releaseAt(2)(hr) }),
	}
}

func (b *bench) noOp() step {
	request := time.Now().Format(time.RFC3339Nano)
	return step{
		name:  phaseNoOp,
		do:    func(ctx context.Context) error { return b.patchAll(ctx, requestPatch(request)) },
		until: b.until(answered(request)),
	}
}

func requestPatch(request string) string {
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, helmv2.AnnotationReconcileRequest, request)
}

// answered returns whether a request was acknowledged, and the release is at the
// revision at which it was.
func answered(request string) func(*helmv2.HelmRelease) bool {
	return func(hr *helmv2.HelmRelease) bool {
		return hr != nil && hr.Status.LastHandledReconcileAt == request && releaseAt(2)(hr)
	}
}

// interval measures reconciliations at the interval. The change of the interval triggers
// reconciliations too, which end before the measurement begins.
func (b *bench) interval() step {
	set := func(ctx context.Context, to time.Duration) error {
		if err := b.patchAll(ctx, fmt.Sprintf(`{"spec":{"interval":%q}}`, to)); err != nil {
			return err
		}
		err := b.until(func(hr *helmv2.HelmRelease) bool {
			return hr != nil && hr.Spec.Interval.Duration == to && releaseAt(2)(hr)
		})(ctx, readings{})
		if err != nil {
			return err
		}
		return frame.Pause(ctx, settle)
	}
	return step{
		name:   phaseInterval,
		before: func(ctx context.Context) error { return set(ctx, b.Interval.Duration) },
		do:     func(ctx context.Context) error { return frame.Pause(ctx, 2*b.Interval.Duration) },
		until: func(ctx context.Context, first readings) error {
			return b.awaitReconciliations(ctx, first.reconciliations, b.healthy(), false)
		},
		after: func(ctx context.Context) error { return set(ctx, b.rest()) },
	}
}

// startUp measures the cost of a start without changes.
func (b *bench) startUp() step {
	return step{
		name: phaseStartUp, restarts: true,
		before: func(ctx context.Context) error { return b.Env.Controller.Stop(ctx) },
		do:     func(context.Context) error { return b.Env.Controller.Start() },
		until: func(ctx context.Context, first readings) error {
			// Those that never become ready may keep it busy.
			if err := b.awaitReconciliations(ctx, first.reconciliations, b.healthy(), b.Unready == 0); err != nil {
				return err
			}
			return b.until(releaseAt(2))(ctx, first)
		},
	}
}
