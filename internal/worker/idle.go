// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"runtime"
	"slices"
	"time"
)

// takeIdle returns the process that was used last, and ends those that have died. It returns nil if
// there is none.
func (p *Pool) takeIdle() *process {
	for {
		p.mu.Lock()
		if len(p.idle) == 0 {
			p.mu.Unlock()
			return nil
		}
		w := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		p.mu.Unlock()
		if w.alive() {
			return w
		}
		died := w.died()
		p.options.Log.Info("a worker process ended between calls", "limit", died.Limit, "end", died.Text, "calls", w.calls)
	}
}

// putIdle adds a process to the idle ones. It returns false after Close.
func (p *Pool) putIdle(w *process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isClosed() {
		return false
	}
	p.idle = append(p.idle, w)
	calls := w.calls
	time.AfterFunc(p.options.IdleTimeout, func() { p.expire(w, calls) })
	return true
}

// expire ends a process that has been idle since it had made this number of calls, unless it is the
// last one.
func (p *Pool) expire(w *process, calls int) {
	p.mu.Lock()
	i := slices.Index(p.idle, w)
	if i < 0 || w.calls != calls || len(p.idle) == 1 {
		p.mu.Unlock()
		return
	}
	p.idle = slices.Delete(p.idle, i, i+1)
	p.mu.Unlock()
	w.end("the process was idle")
}

// starter starts processes from one thread that runs until stop: the kernel ends a process when the
// thread that started it ends, so that worker processes end with their parent.
type starter struct {
	requests chan func()
}

// newStarter starts the thread.
func newStarter() *starter {
	s := &starter{requests: make(chan func())}
	go func() {
		// It is never unlocked, so that nothing else runs on this thread, and the thread ends with
		// the goroutine.
		runtime.LockOSThread()
		for request := range s.requests {
			request()
		}
	}()
	return s
}

// start starts a process on the thread.
func (s *starter) start(o Options) (w *process, err error) {
	done := make(chan struct{})
	s.requests <- func() {
		defer close(done)
		w, err = start(o)
	}
	<-done
	return w, err
}

// stop ends the thread. All processes have ended.
func (s *starter) stop() { close(s.requests) }
