// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

// rest is the interval of HelmReleases in phases that do not measure it.
func (l load) rest() time.Duration {
	if l.Drift {
		return driftInterval
	}
	return longInterval
}

// drift measures the time until changed and deleted objects are restored without a request.
func (b *bench) drift() step {
	var t *harness.Tampering
	return b.tampering(phaseDrift, &t, func(ctx context.Context) (err error) {
		t, err = b.Env.Corrections(ctx, name, b.names(b.isHealthy))
		return err
	}, func(context.Context) error { return nil })
}

// warn measures the time until drift is reported in mode warn.
func (b *bench) warn() step {
	var t *harness.Tampering
	s := b.tampering(phaseWarn, &t, func(ctx context.Context) (err error) {
		if err := b.onlyWarn(ctx); err != nil {
			return err
		}
		t, err = b.Env.Reports(ctx, name, b.names(b.isHealthy))
		return err
	}, func(ctx context.Context) error { return t.Unwritten(ctx) })
	s.omit = func() string {
		if p := b.session.phase(phaseDrift); p.Tampered.left() > 0 {
			return "changes of the previous phase are still not restored"
		}
		return ""
	}
	return s
}

// tampering is a step in which another client changes objects. The controller must not create
// revisions.
func (b *bench) tampering(phaseName string, t **harness.Tampering, before, after func(context.Context) error) step {
	return step{
		name: phaseName, before: before,
		do: func(ctx context.Context) error { return (*t).Write(ctx) },
		until: func(ctx context.Context, _ readings) error {
			if err := (*t).Wait(ctx, driftPatience); err != nil {
				return errors.Join(err, errors.New("not as awaited: "+(*t).Left()))
			}
			if left := (*t).Left(); left != "" {
				frame.Say("not as awaited %s after the last change: %s", driftPatience, left)
			}
			return nil
		},
		note: func(p *phase) {
			p.Tampered = &tampered{}
			p.Tampered.Changed, p.Tampered.Deleted = (*t).Times()
		},
		after: func(ctx context.Context) error {
			defer (*t).Close()
			if err := b.until(releaseAt(2))(ctx, readings{}); err != nil {
				return err
			}
			return errors.Join((*t).Unrevised(ctx), after(ctx))
		},
	}
}

// onlyWarn sets mode warn, and returns when all releases are in sync with it.
func (b *bench) onlyWarn(ctx context.Context) error {
	if err := b.patchAll(ctx, fmt.Sprintf(`{"spec":{"driftDetection":{"mode":%q}}}`, helmv2.DriftDetectionWarn)); err != nil {
		return err
	}
	err := b.until(func(hr *helmv2.HelmRelease) bool {
		return hr != nil && hr.Spec.DriftDetection.Mode == helmv2.DriftDetectionWarn && releaseAt(2)(hr)
	})(ctx, readings{})
	if err != nil {
		return err
	}
	return frame.Pause(ctx, settle)
}
