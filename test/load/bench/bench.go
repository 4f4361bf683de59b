// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

const (
	// settle is how long requests after the end of a phase still count for it, mostly events. The
	// time itself does not.
	settle = 2 * time.Second
	// metricsEvery is the interval of scrapes if only metrics show the end of a phase.
	metricsEvery = 100 * time.Millisecond
	// sampleEvery is the time between two readings of memory that have a peak.
	sampleEvery = 20 * time.Millisecond
)

// bench is one session at work.
type bench struct {
	settings
	load

	*frame.World

	audit auditLog
	proxy *proxy
	// page is the address of the web page.
	page string
	// server is a client of the API server at host, and servers the processes
	// behind that.
	server  *http.Client
	host    string
	servers []int
	session session
}

// start starts a control plane and the controller, and creates the objects that all releases share.
func start(ctx context.Context, s settings, l load, w *frame.World) (*bench, error) {
	b := &bench{settings: s, load: l, World: w, session: session{
		Controller: filepath.Base(s.Controller), Args: strings.Fields(s.Args), load: l, CPUs: runtime.NumCPU(), Audit: s.audit,
	}}
	var err error
	if b.proxy, err = startProxy(ctx); err != nil {
		return nil, err
	}
	w.OnStop(func(context.Context) error { return b.proxy.close() })
	crds, err := definitions(w.Dir, l.CRDs)
	if err != nil {
		return nil, err
	}
	if s.audit {
		b.audit.path = filepath.Join(w.Dir, "audit.log")
	}
	args := []string{"--metrics-addr=" + net.JoinHostPort(harness.MetricsHost, "0"), fmt.Sprintf("--concurrent=%d", l.Concurrent)}
	if l.Page {
		args = append(args, pageFlags()...)
	}
	err = w.Start(ctx, harness.Options{ControllerArgs: args, CRDs: crds, AuditLog: b.audit.path, ArtifactProxy: b.proxy.address})
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{b.connect, b.prepare, b.started} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	b.session.SystemLoad = frame.SystemLoad()
	return b, nil
}

// connect finds the parts of the control plane that are measured or passed by.
func (b *bench) connect(context.Context) error {
	record, err := b.Env.Record()
	if err != nil {
		return err
	}
	b.proxy.setTarget(record.SourceAddress)
	b.servers = []int{record.PIDs["kube-apiserver"], record.PIDs["etcd"]}
	config, err := clientcmd.BuildConfigFromFlags("", b.Env.Kubeconfig)
	if err != nil {
		return err
	}
	config.UserAgent, config.Timeout = harness.UserAgent, 30*time.Second
	b.host = config.Host
	b.server, err = rest.HTTPClientFor(config)
	return err
}

// started waits until the controller has started, so that its start does not count for the first
// phase, and until the API server is idle, which processes new CRDs for a while.
func (b *bench) started(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := b.Env.Until(ctx, "the controller's metrics", func() (string, bool) {
		_, err := b.figures(ctx)
		if err == nil && b.Page {
			b.page, err = b.Env.Controller.Address(harness.PageHost)
		}
		return fmt.Sprint(err), err == nil
	})
	if err != nil {
		return err
	}
	for {
		before, err := b.serverSeconds()
		if err != nil {
			return err
		}
		if err := frame.Pause(ctx, settle); err != nil {
			return fmt.Errorf("the API server does not come to rest: %w", err)
		}
		after, err := b.serverSeconds()
		if err != nil {
			return err
		}
		if (after-before)/settle.Seconds() < 0.15 {
			return nil
		}
	}
}

// serverSeconds is the CPU time of the API server and of its etcd.
func (b *bench) serverSeconds() (float64, error) {
	sum := 0.0
	for _, pid := range b.servers {
		seconds, err := frame.CPUSeconds(pid)
		if err != nil {
			return 0, err
		}
		sum += seconds
	}
	return sum, nil
}

// readings are counters as they stand at one moment.
type readings struct {
	figures

	cpu, serverCPU        float64
	downloads, downloaded int64
	secretBytes           int64
}

// read reads all counters. Those of the controller are zero if it is about to be started.
func (b *bench) read(ctx context.Context, isNew bool) (r readings, err error) {
	if r.secretBytes, err = secretBytes(ctx, b.server, b.host); err != nil {
		return r, err
	}
	r.downloads, r.downloaded = b.proxy.downloads.Load(), b.proxy.bytes.Load()
	if r.serverCPU, err = b.serverSeconds(); err != nil || isNew {
		return r, err
	}
	// A scrape costs the controller CPU time, so it happens outside of the measured time.
	if r.figures, err = b.figures(ctx); err != nil {
		return r, err
	}
	r.cpu, err = frame.CPUSeconds(b.Env.Controller.PID())
	return r, err
}

// phase measures the controller until a step is done, and shortly after.
func (b *bench) phase(ctx context.Context, s step) (phase, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.limit, fmt.Errorf("not done within %s", b.limit))
	defer cancel()
	p := phase{Name: s.name}
	if s.before != nil {
		if err := s.before(ctx); err != nil {
			return p, err
		}
	}
	if !s.restarts {
		p.PeakOfAll = frame.ResetPeak(b.Env.Controller.PID()) != nil
	}
	if _, err := b.audit.next(); err != nil {
		return p, err
	}
	first, err := b.read(ctx, s.restarts)
	if err != nil {
		return p, err
	}
	var memory *frame.Sampler
	if b.Padding > 0 && !s.restarts {
		memory = frame.Sample(b.Env.Controller.PID(), sampleEvery)
	}
	err = b.step(ctx, s, first, &p)
	if memory != nil {
		memory.Stop()
		p.PeakOfTreeMiB, _, _ = memory.Peak() // a process that ends during a reading is no error
	}
	if err != nil {
		return p, err
	}
	if err := frame.Pause(ctx, settle); err != nil {
		return p, err
	}
	if err := b.fill(ctx, &p, first); err != nil {
		return p, err
	}
	if s.note != nil {
		s.note(&p)
	}
	if s.after == nil {
		return p, nil
	}
	return p, s.after(ctx)
}

// step does a step, and waits until it is done.
func (b *bench) step(ctx context.Context, s step, first readings, p *phase) error {
	began := time.Now()
	if err := s.do(ctx); err != nil {
		return err
	}
	if s.until != nil {
		if err := s.until(ctx, first); err != nil {
			return err
		}
	}
	p.Seconds = time.Since(began).Seconds()
	return nil
}

// fill adds the results at the end of a phase.
func (b *bench) fill(ctx context.Context, p *phase, first readings) error {
	pid := b.Env.Controller.PID()
	// Before the scrape, which would count.
	cpu, errCPU := frame.CPUSeconds(pid)
	peak, errPeak := frame.PeakMiB(pid)
	end, errEnd := frame.TreeMiB(pid)
	last, errRead := b.read(ctx, false)
	received, errReceived := b.audit.next()
	// The kernel counts hundredths; further digits of the difference are noise.
	p.CPUSeconds = math.Round((cpu-first.cpu)*frame.Ticks) / frame.Ticks
	p.ServerCPUSeconds = math.Round((last.serverCPU-first.serverCPU)*frame.Ticks) / frame.Ticks
	p.PeakMiB, p.EndMiB = peak, end
	p.Sent, p.SentByMethod = last.total()-first.total(), map[string]int{}
	for method, n := range last.sent {
		if n > first.sent[method] {
			p.SentByMethod[method] = n - first.sent[method]
		}
	}
	p.Reconciliations = last.reconciliations - first.reconciliations
	p.Received, p.ByKind, p.Agents = received.total(), received.kinds, received.agents
	p.Revisions, p.OthersReads = received.kinds["create secrets"], received.othersReads
	p.Downloads, p.DownloadedBytes = int(last.downloads-first.downloads), last.downloaded-first.downloaded
	p.SecretBytes = last.secretBytes - first.secretBytes
	return errors.Join(errCPU, errPeak, errEnd, errRead, errReceived)
}
