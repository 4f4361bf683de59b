// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// settle is how long what a controller does right after a phase, events above
// all, still counts for it. Its seconds do not.
const settle = 2 * time.Second

// bench is one session at work.
type bench struct {
	settings

	env     *harness.Environment
	audit   auditLog
	metrics string
	session session
}

// start starts a control plane and the controller, and makes what all releases
// share.
func start(ctx context.Context, s settings, concurrent int, dir string) (*bench, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	b := &bench{
		settings: s, metrics: address, audit: auditLog{path: filepath.Join(dir, "audit.log")},
		session: session{
			Controller: filepath.Base(s.controller), Args: strings.Fields(s.args), Releases: s.releases,
			Concurrent: concurrent, Drift: s.drift, CPUs: runtime.NumCPU(),
		},
	}
	// The harness switches metrics off; of a flag that is there twice, the last counts.
	args := append([]string{"--metrics-addr=" + address, fmt.Sprintf("--concurrent=%d", concurrent)}, b.session.Args...)
	b.env, err = harness.Start(ctx, harness.Options{
		Dir: dir, ClusterBin: s.bin, Controller: s.controller, ControllerArgs: args, AuditLog: b.audit.path, Progress: say,
	})
	if err != nil {
		return nil, err
	}
	if err = b.prepare(ctx); err == nil {
		err = b.started(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.env.Stop(context.WithoutCancel(ctx)))
	}
	return b, nil
}

// freeAddress returns an address that nobody listens on at the moment.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// started waits until the controller has started, so that what that costs is
// not the first phase's.
func (b *bench) started(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := b.env.Until(ctx, "the controller's metrics", func() (string, bool) {
		_, err := sentRequests(ctx, b.metrics)
		return fmt.Sprint(err), err == nil
	})
	if err != nil {
		return err
	}
	return pause(ctx, settle)
}

// run measures one phase after the other.
func (b *bench) run(ctx context.Context) (session, error) {
	request := time.Now().Format(time.RFC3339Nano)
	for _, step := range []struct {
		name string
		do   func(context.Context) error
		goal goal
	}{
		{"install", b.create, func(hr *helmv2.HelmRelease) bool { return hr != nil && atRevision(hr, 1) }},
		{
			"upgrade", func(ctx context.Context) error {
				return b.patchAll(ctx, `{"spec":{"values":{"message":"hello again"}}}`)
			},
			func(hr *helmv2.HelmRelease) bool { return hr != nil && hr.Generation > 1 && atRevision(hr, 2) },
		},
		{
			"no-op", func(ctx context.Context) error {
				return b.patchAll(ctx, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, helmv2.AnnotationReconcileRequest, request))
			},
			func(hr *helmv2.HelmRelease) bool {
				return hr != nil && hr.Status.LastHandledReconcileAt == request && atRevision(hr, 2)
			},
		},
		{
			"idle", func(ctx context.Context) error { return pause(ctx, b.idle) },
			func(hr *helmv2.HelmRelease) bool { return hr != nil && atRevision(hr, 2) },
		},
		{"delete", b.deleteAll, func(hr *helmv2.HelmRelease) bool { return hr == nil }},
	} {
		say("%s", step.name)
		p, err := b.phase(ctx, step.name, step.do, step.goal)
		if err != nil {
			return session{}, fmt.Errorf("%s: %w", step.name, err)
		}
		b.session.Phases = append(b.session.Phases, p)
	}
	return b.session, nil
}

// atRevision reports whether a release is ready and has come as far as to this
// revision and no further.
func atRevision(hr *helmv2.HelmRelease, revision int) bool {
	return harness.Ready(hr) && len(hr.Status.History) > 0 && hr.Status.History[0].Version == revision
}

// phase measures what the controller does until every release is as wanted, and
// what little may follow.
func (b *bench) phase(ctx context.Context, name string, do func(context.Context) error, goal goal) (phase, error) {
	ctx, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	pid := b.env.Controller.PID()
	p := phase{Name: name, PeakOfAll: resetPeak(pid) != nil}
	if _, err := b.audit.next(); err != nil {
		return p, err
	}
	// Answering costs the controller something, too: it is asked outside of what is measured.
	sent, err := sentRequests(ctx, b.metrics)
	if err != nil {
		return p, err
	}
	used, err := cpuSeconds(pid)
	if err != nil {
		return p, err
	}
	began := time.Now()
	if err := do(ctx); err != nil {
		return p, err
	}
	if err := b.await(ctx, goal); err != nil {
		return p, err
	}
	p.Seconds = time.Since(began).Seconds()
	if err := pause(ctx, settle); err != nil {
		return p, err
	}
	return p, b.fill(ctx, &p, pid, used, sent)
}

// fill adds what can be told at the end of a phase.
func (b *bench) fill(ctx context.Context, p *phase, pid int, used float64, sent int) error {
	now, errCPU := cpuSeconds(pid)
	peak, errPeak := peakMiB(pid)
	all, errSent := sentRequests(ctx, b.metrics)
	received, errReceived := b.audit.next()
	// The kernel counts hundredths; their difference has digits that mean nothing.
	p.CPUSeconds = math.Round((now-used)*ticks) / ticks
	p.PeakMiB, p.Sent = peak, all-sent
	p.Received, p.ByKind, p.Agents = received.total(), received.kinds, received.agents
	return errors.Join(errCPU, errPeak, errSent, errReceived)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
