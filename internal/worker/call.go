// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// errNotBegun is the cause of errors of calls whose handler did not run.
var errNotBegun = errors.New("the process ended before the call")

// minCPUInterval is the least time between two checks of the CPU time of a call.
const minCPUInterval = 20 * time.Millisecond

// call sends a call to the process and serves it to its end. The process can be used again if the
// error is nil, *Failure or *TooLarge, and usable returns true then. An error that wraps errNotBegun
// was returned before the handler ran.
func (p *process) call(ctx context.Context, o Options, name string, request []byte, answer Answer) (response []byte, usable bool, err error) {
	p.calls++
	stopContext := context.AfterFunc(ctx, func() { p.kill(interrupted(ctx)) })
	stopCPU := p.limitCPU(o)
	response, begun, err := exchange(ctx, p.in, p.out, p.settings.Sizes, message{name, request}, answer)
	stopCPU()
	// If the function has started, it kills the process at any moment.
	usable = stopContext() && !p.wasKilled()
	if response != nil || isReply(err) {
		return response, usable, err
	}
	// Nothing but a valid reply returns before the end of the process.
	var died *Died
	if errors.Is(err, errFrame) {
		died = p.endFor(&Died{Limit: Protocol, Text: err.Error()})
	} else {
		died = p.died()
	}
	if !begun && died.Limit == Unexpected {
		return nil, false, fmt.Errorf("%w: %w", errNotBegun, died)
	}
	return nil, false, died
}

// isReply reports whether err is the reply of a handler.
func isReply(err error) bool {
	_, failure := errors.AsType[*Failure](err)
	_, excess := errors.AsType[*TooLarge](err)
	return failure || excess
}

// exchange sends a call and reads frames up to the reply, which is a response that is not nil, a
// *Failure or a *TooLarge. Any other error is one of the pipes. begun is true if the process has
// started the handler.
func exchange(ctx context.Context, in io.Writer, out io.Reader, s sizes, m message, answer Answer) (response []byte, begun bool, err error) {
	if err := writeFrame(in, frameCall, m.head(), m.request); err != nil {
		return nil, false, err
	}
	accepted := s.fromWorker()
	for {
		k, payload, err := readFrame(out, accepted)
		if err != nil {
			return nil, begun, err
		}
		if first := k == frameBegun; first == begun {
			return nil, begun, fmt.Errorf("%w: kind %d at this point", errFrame, k)
		}
		begun = true
		switch k {
		case frameResult:
			return payload, begun, nil
		case frameFailure:
			return nil, begun, &Failure{Text: strings.ToValidUTF8(string(payload), "\uFFFD")}
		case frameExcess:
			size, err := sizeOf(payload)
			if err != nil {
				return nil, begun, err
			}
			return nil, begun, &TooLarge{Payload: "response", Size: size, Max: int64(s.Response)}
		case frameAsk:
			if err := sendAnswer(ctx, in, s, payload, answer); err != nil {
				return nil, begun, err
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
	switch {
	case err != nil:
		return writeFrame(in, frameRefusal, textOf(err))
	case uint64(len(response)) > uint64(s.Answer):
		return writeFrame(in, frameOversized, sizePayload(len(response)))
	default:
		return writeFrame(in, frameAnswer, response)
	}
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
