// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// startTimeout is the maximum time from the start of a process to its first frame.
	startTimeout = 30 * time.Second
	// endTimeout is the maximum time from the end of the output of a process to its own end.
	endTimeout = 5 * time.Second
)

// process is a worker process, seen by its parent. One goroutine at a time uses it. Method kill is
// safe for concurrent use.
type process struct {
	command *exec.Cmd
	// in and out are the pipes to standard input and from standard output.
	in, out  *os.File
	settings settings
	// calls is the number of calls that were sent.
	calls int
	// baseData is the result of data before the first call.
	baseData int64
	// ended is closed after the process has ended. Its state is complete then.
	ended chan struct{}

	mu sync.Mutex
	// killed is the reason of the first kill, nil before.
	killed *Died
}

// start starts a process. It does not wait for the handshake. The caller is the thread whose end
// ends the process.
func start(o Options) (*process, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = childIn.Close() }()
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	defer func() { _ = childOut.Close() }()
	p := &process{in: in, out: out, settings: o.settings(), ended: make(chan struct{})}
	p.command = &exec.Cmd{
		Path: o.Executable, Args: append([]string{o.Executable}, o.Args...), Dir: "/",
		Env:   o.environment(),
		Stdin: childIn, Stdout: childOut,
		// Signals of a terminal do not end calls in a process group of its own.
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true},
	}
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	go func() {
		_ = p.command.Wait() // its error repeats the state
		close(p.ended)
	}()
	return p, nil
}

// handshake sends the settings and returns the report. When ctx ends, it kills the process.
func (p *process) handshake(ctx context.Context) (report, error) {
	timer := time.AfterFunc(startTimeout, func() { p.kill(&Died{Limit: Deadline, Text: "no handshake"}) })
	defer timer.Stop()
	stop := context.AfterFunc(ctx, func() { p.kill(interrupted(ctx)) })
	defer stop()
	payload, err := json.Marshal(p.settings)
	if err != nil {
		return report{}, err
	}
	var r report
	if err := writeFrame(p.in, frameHello, payload); err != nil {
		return r, err
	}
	if _, payload, err = readFrame(p.out, maxima{frameReady: maxHandshake}); err != nil {
		return r, err
	}
	if err := json.Unmarshal(payload, &r); err != nil {
		return r, err
	}
	return r, nil
}

// kill ends the process for a reason. Only the first reason counts, and none if the process has
// ended.
func (p *process) kill(reason *Died) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed == nil && p.alive() {
		p.killed = reason
		_ = p.command.Process.Kill() // it has ended
	}
}

// wasKilled reports whether kill was called.
func (p *process) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed != nil
}

// end kills the process, waits for its end, and closes the pipes.
func (p *process) end(text string) {
	_ = p.endFor(&Died{Limit: Cancelled, Text: text})
}

// endFor is end for a reason. It returns the reason of the first kill, or else of the end.
func (p *process) endFor(reason *Died) *Died {
	p.kill(reason)
	<-p.ended
	_ = errors.Join(p.in.Close(), p.out.Close()) // they may be closed
	p.mu.Lock()
	defer p.mu.Unlock()
	maxCPU := time.Duration(p.settings.CPUSeconds) * time.Second
	return endingOf(p.command.ProcessState).death(p.killed, maxCPU)
}

// died waits for the end of a process that has closed its output, and returns the reason.
func (p *process) died() *Died {
	timer := time.NewTimer(endTimeout)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
	}
	return p.endFor(&Died{Limit: Protocol, Text: "standard output was closed"})
}

// alive reports whether the process has not ended.
func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// cpuTime returns the CPU time of the process so far, and false if it has ended.
func (p *process) cpuTime() (time.Duration, bool) {
	// The clock of a process: its bits are the inverted process ID, and CPUCLOCK_SCHED.
	clock := int32(^p.command.Process.Pid)<<3 | 2
	var t unix.Timespec
	if !p.alive() || unix.ClockGettime(clock, &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}

// data returns all writable private memory of the process, which counts against the limit, in bytes.
// It is 0 if it cannot be read.
func (p *process) data() int64 {
	_, data, err := memoryOf(strconv.Itoa(p.command.Process.Pid))
	if err != nil {
		return 0
	}
	return data
}
