// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// rest is the interval of HelmReleases while it is not what is measured.
func (l load) rest() time.Duration {
	if l.Drift {
		return driftInterval
	}
	return longInterval
}

// drift measures how long it takes until what somebody else has changed or deleted
// is as it should be again. Nobody asks for it.
func (b *bench) drift() step {
	var t *harness.Tampering
	return b.tampering(phaseDrift, &t, func(ctx context.Context) (err error) {
		t, err = b.env.Corrections(ctx, name, b.names(b.isHealthy))
		return err
	}, func(context.Context) error { return nil })
}

// warn measures how long it takes until releases that are to be left alone say what
// somebody else has changed or deleted.
func (b *bench) warn() step {
	var t *harness.Tampering
	s := b.tampering(phaseWarn, &t, func(ctx context.Context) (err error) {
		if err := b.onlyWarn(ctx); err != nil {
			return err
		}
		t, err = b.env.Reports(ctx, name, b.names(b.isHealthy))
		return err
	}, func(ctx context.Context) error { return t.Unwritten(ctx) })
	s.omit = func() string {
		if p := b.session.phase(phaseDrift); p.Tampered.left() > 0 {
			return "what the phase before changed is still not as it was"
		}
		return ""
	}
	return s
}

// tampering is a step in which somebody else changes objects. Whatever the
// controller does about it, it makes no revision.
func (b *bench) tampering(phaseName string, t **harness.Tampering, before, after func(context.Context) error) step {
	return step{
		name: phaseName, before: before,
		do: func(ctx context.Context) error { return (*t).Write(ctx) },
		until: func(ctx context.Context, _ readings) error {
			if err := (*t).Wait(ctx, driftPatience); err != nil {
				return errors.Join(err, errors.New("not as awaited: "+(*t).Left()))
			}
			if left := (*t).Left(); left != "" {
				say("not as awaited %s after the last change: %s", driftPatience, left)
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

// onlyWarn lets nothing be corrected any more, and returns when all releases are at
// rest with it.
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
	return pause(ctx, settle)
}
