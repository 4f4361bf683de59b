// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// notBegun is the end of a process before the handler ran.
type notBegun struct{ *Died }

const (
	// minCPUInterval is the least time between two checks of the CPU time of a call.
	minCPUInterval = 20 * time.Millisecond
	// beginTimeout is the maximum time from the first byte of a call to the start of its handler. A
	// process needs it to read the request.
	beginTimeout = 30 * time.Second
)

// call sends a call to the process and serves it to its end. The process can be used again if the
// error is nil or *Failure, and usable returns true then. Any other error is *Died, or notBegun.
func (p *process) call(ctx context.Context, o Options, c Call, answer Answer) (response []byte, usable bool, err error) {
	p.calls++
	stopContext := context.AfterFunc(ctx, func() { p.kill(interrupted(ctx)) })
	l := p.limit(o, c.Timeout)
	x := exchange{sizes: p.settings.Sizes, in: p.in, out: p.out, answer: answer, begin: l.begin}
	response, err = x.run(ctx, c)
	l.stop()
	// If the function has started, it kills the process at any moment.
	usable = stopContext() && !p.wasKilled()
	if _, failed := errors.AsType[*Failure](err); response != nil || failed && usable {
		return response, usable, err
	}
	// Nothing but a valid reply returns before the end of the process. A failure may be one of a
	// callback that ended with its context.
	var died *Died
	if errors.Is(err, errFrame) {
		died = p.endFor(&Died{Limit: Protocol, Text: err.Error()})
	} else {
		died = p.died()
	}
	died = died.within(o, x.note)
	if !x.begun {
		return nil, false, notBegun{died}
	}
	return nil, false, died
}

// within returns a copy with the limits of the process and the last note of the call.
func (d *Died) within(o Options, note string) *Died {
	all := *d
	all.Note, all.MaxMemory, all.MaxStack, all.MaxCPU = note, o.MemoryLimit, o.StackLimit, o.CPULimit
	return &all
}

// exchange is the exchange of frames of one call.
type exchange struct {
	sizes

	in     io.Writer
	out    io.Reader
	answer Answer
	// begin is called when the handler begins.
	begin func()
	// begun is true if the process has started the handler.
	begun bool
	// note is the last note of a traced call.
	note string
}

// run sends a call and reads frames up to the reply, which is a response that is not nil or a
// *Failure. Any other error is one of the pipes.
func (x *exchange) run(ctx context.Context, c Call) (response []byte, err error) {
	m, sent := message{c.Function, c.Request}, frameCall
	if c.Traced {
		sent = frameTraced
	}
	if err := writeFrame(x.in, sent, m.head(), m.request); err != nil {
		return nil, err
	}
	accepted := x.fromWorker()
	for {
		k, payload, err := readFrame(x.out, accepted)
		if err != nil {
			return nil, err
		}
		if first := k == frameBegun; first == x.begun || k == frameNote && !c.Traced {
			return nil, fmt.Errorf("%w: kind %d at this point", errFrame, k)
		}
		switch k {
		case frameBegun:
			x.begun = true
			x.begin()
		case frameNote:
			x.note = noteOf(payload)
		case frameResult:
			return payload, nil
		case frameFailure:
			return nil, &Failure{Text: strings.ToValidUTF8(string(payload), "\uFFFD")}
		case frameAsk:
			if err := sendAnswer(ctx, x.in, x.sizes, payload, x.answer); err != nil {
				return nil, err
			}
		}
	}
}

// sendAnswer answers a callback.
func sendAnswer(ctx context.Context, in io.Writer, s sizes, payload []byte, answer Answer) error {
	m, err := parseMessage(payload)
	if err != nil {
		return err
	}
	response, err := reply(ctx, answer, m.name, m.request)
	if err == nil {
		err = checkSize("answer", len(response), s.Answer)
	}
	if err != nil {
		return writeFrame(in, frameRefusal, textOf(err))
	}
	return writeFrame(in, frameAnswer, response)
}

// limits end the process of a call. They begin anew with its handler.
type limits struct {
	process *process
	options Options
	timeout time.Duration
	stopCPU func()

	mu sync.Mutex
	// timer kills a process that does not begin, and then at the timeout.
	timer *time.Timer
	// kill is the reason for which the timer kills the process; nil if it does not.
	kill *Died
}

// limit returns the limits of a call that is sent next.
func (p *process) limit(o Options, timeout time.Duration) *limits {
	l := &limits{process: p, options: o, timeout: timeout, stopCPU: p.limitCPU(o)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kill = &Died{Limit: Deadline, Text: "the call was not begun", Err: context.DeadlineExceeded}
	l.timer = time.AfterFunc(beginTimeout, l.expire)
	return l
}

// begin is called when the handler begins.
func (l *limits) begin() {
	l.stopCPU()
	l.stopCPU = l.process.limitCPU(l.options)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	l.kill = nil
	if l.timeout > 0 {
		l.kill = &Died{Limit: Deadline, Text: "the deadline has passed", Err: context.DeadlineExceeded}
		l.timer = time.AfterFunc(l.timeout, l.expire)
	}
}

// expire kills the process. It does not cut off a callback that is answered, which has limits of its
// own: if a server does not answer it, the caller has to find that out.
func (l *limits) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kill != nil {
		l.process.kill(l.kill)
	}
}

// stop is called at the end of the call. No limit kills the process afterwards.
func (l *limits) stop() {
	l.stopCPU()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	l.kill = nil
}

// limitCPU kills the process when it has used the CPU time of one call, until the returned function
// is called.
func (p *process) limitCPU(o Options) (stop func()) {
	before, ok := p.cpuTime()
	if !ok {
		return func() {}
	}
	done, returned := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(returned)
		timer := time.NewTimer(max(minCPUInterval, o.CPULimit/time.Duration(o.Processors)))
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
			}
			now, ok := p.cpuTime()
			if !ok {
				return
			}
			rest := o.CPULimit - (now - before)
			if rest <= 0 {
				p.kill(&Died{Limit: CPU, Text: fmt.Sprintf("the call used more than %s of CPU time", o.CPULimit)})
				return
			}
			timer.Reset(max(minCPUInterval, rest/time.Duration(o.Processors)))
		}
	}()
	return func() {
		close(done)
		<-returned // it may kill the process until then
	}
}
