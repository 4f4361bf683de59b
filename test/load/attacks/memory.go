// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/test/harness"
)

// sampleEvery is the interval of measurements.
const sampleEvery = 100 * time.Millisecond

// sampler measures the memory of a process and of those that it starts.
type sampler struct {
	pid  int
	done chan struct{}

	mu      sync.Mutex
	highest float64
	open    map[*window]struct{}
	count   int
	err     error
}

// window is a period of which the highest usage is wanted.
type window struct{ peakMiB float64 }

// sample measures until stop is called.
func sample(pid int) *sampler {
	s := &sampler{pid: pid, done: make(chan struct{}), open: map[*window]struct{}{}}
	go func() {
		tick := time.NewTicker(sampleEvery)
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

func (s *sampler) stop() { close(s.done) }

func (s *sampler) measure() {
	used, err := treeMiB(s.pid)
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

// begin opens a window, and end closes it and returns its peak.
func (s *sampler) begin() *window {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &window{}
	s.open[w] = struct{}{}
	return w
}

func (s *sampler) end(w *window) float64 {
	s.measure() // a window may be shorter than the interval
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, w)
	return w.peakMiB
}

// peak returns the highest of all measurements and their number.
func (s *sampler) peak() (highest float64, count int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.highest, s.count, s.err
}

// treeMiB returns the proportional memory of a process and its children, in MiB. Of memory that
// processes share, each counts its part. A child may end meanwhile. Until a new child executes its
// program, it runs in the memory of its parent, and the kernel reports all of it for both.
func treeMiB(pid int) (float64, error) {
	sum, err := proportionalMiB(pid)
	own := commandLine(pid)
	for _, child := range harness.Children(pid) {
		if commandLine(child) == own {
			continue
		}
		if part, errChild := proportionalMiB(child); errChild == nil {
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

// proportionalMiB reads the memory of a process. If it belongs to another user in effect, since it
// cannot be dumped, all resident memory counts.
func proportionalMiB(pid int) (float64, error) {
	for _, source := range [][2]string{{"smaps_rollup", "Pss:"}, {"status", "VmRSS:"}} {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, source[0]))
		if err == nil {
			return parseMiB(string(content), source[1])
		}
		if !os.IsPermission(err) {
			return 0, err
		}
	}
	return 0, fmt.Errorf("the memory of process %d cannot be read", pid)
}

func parseMiB(text, field string) (float64, error) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, field); ok {
			kibibytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return float64(kibibytes) / 1024, err
		}
	}
	return 0, fmt.Errorf("the kernel reports no %s", field)
}
