// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"time"

	"github.com/pintle-dev/pintle/test/harness/faultproxy"
)

const (
	// late is how long after its limit a release is still observed.
	late = 5 * time.Second
	// conclusion is how long after the limit of waiting commits a release is still observed, since
	// the limit does not include the runs of hooks.
	conclusion = 30 * time.Second
	// shortFactor is by how much limits of the short form are longer. It is run beside other tests,
	// and finds wrong results, not slow ones.
	shortFactor = 5
)

// limits are how long something may take. What takes longer is a failure.
type limits struct {
	// settle and silent are for releases after the end of a fault. Silent is for a request that is
	// never answered.
	settle, silent time.Duration
	// step is for steps that no fault delays.
	step time.Duration
	// storm is for releases while requests fail, at the lower rate, and calm is for those when
	// requests no longer fail.
	storm, calm time.Duration
	// inFlight is for an interrupted action after each interruption, the runs of its hooks and the
	// waits for the controller of Deployments excepted. waiting is the same for a commit whose action
	// had not begun.
	inFlight, waiting time.Duration
}

// limitsOf returns the limits of a run.
func limitsOf(short bool) limits {
	l := limits{
		settle: 15 * time.Second, silent: 40 * time.Second, step: time.Minute, storm: time.Minute, calm: 2 * time.Minute,
		inFlight: 10 * time.Second, waiting: 90 * time.Second,
	}
	if short {
		for _, d := range []*time.Duration{&l.settle, &l.silent, &l.step, &l.storm, &l.calm, &l.inFlight, &l.waiting} {
			*d *= shortFactor
		}
	}
	return l
}

// after returns how long after the end of a fault a release may take, if the action takes some time
// without a fault.
func (l limits) after(f faultproxy.Fault, without time.Duration) time.Duration {
	if f == faultproxy.Silent {
		return l.silent + without
	}
	return l.settle + without
}
