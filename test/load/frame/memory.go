// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// Sampler measures the memory of a process and of those that it starts.
type Sampler struct {
	pid  int
	done chan struct{}

	mu      sync.Mutex
	highest float64
	open    map[*Window]struct{}
	count   int
	err     error
}

// Window is a period of which the highest usage is wanted.
type Window struct{ peakMiB float64 }

// Sample measures at an interval until Stop is called.
func Sample(pid int, every time.Duration) *Sampler {
	s := &Sampler{pid: pid, done: make(chan struct{}), open: map[*Window]struct{}{}}
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-s.done:
				return
			case <-tick.C:
				s.measure()
			}
		}
	}()
	return s
}

// Stop ends the measurements.
func (s *Sampler) Stop() { close(s.done) }

func (s *Sampler) measure() {
	used, err := TreeMiB(s.pid)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.err = err
		return
	}
	s.count++
	s.highest = max(s.highest, used)
	for w := range s.open {
		w.peakMiB = max(w.peakMiB, used)
	}
}

// Begin opens a Window.
func (s *Sampler) Begin() *Window {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &Window{}
	s.open[w] = struct{}{}
	return w
}

// End closes a Window, and returns its peak.
func (s *Sampler) End(w *Window) float64 {
	s.measure() // a window may be shorter than the interval
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, w)
	return w.peakMiB
}

// Peak returns the highest of all measurements and their number.
func (s *Sampler) Peak() (highest float64, count int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.highest, s.count, s.err
}

// TreeMiB returns the proportional memory of a process and of the running processes that it has
// started, in MiB. Of memory that processes share, each counts its part. A child may end meanwhile.
// Until a new child executes its program, it runs in the memory of its parent, and the kernel reports
// all of it for both.
func TreeMiB(pid int) (float64, error) {
	sum, err := proportionalMiB(pid)
	own := commandLine(pid)
	for _, child := range children(pid) {
		if commandLine(child) == own {
			continue
		}
		if part, errChild := TreeMiB(child); errChild == nil {
			sum += part
		}
	}
	return sum, err
}

func commandLine(pid int) string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(content)
}

// proportionalMiB returns the memory of a process. If the process belongs to another user in effect,
// since it cannot be dumped, all resident memory counts.
func proportionalMiB(pid int) (float64, error) {
	pss, err := memory(pid, "smaps_rollup", "Pss:")
	if os.IsPermission(err) {
		return ResidentMiB(pid)
	}
	return pss, err
}
