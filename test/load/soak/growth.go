// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

// sample is the resource usage of a controller at a time.
type sample struct {
	at         time.Time
	pid        int
	resident   float64 // MiB
	heap       float64 // MiB that objects take, garbage included
	goroutines float64
	counts     harness.Metrics
}

// bound is the permitted growth from the first third of the samples to the last: a share plus a
// constant. Waiting actions have goroutines, so the number of goroutines under load is no evidence;
// see restGrowth.
type bound struct {
	name  string
	of    func(sample) float64
	share float64
	more  float64
}

func bounds() []bound {
	return []bound{
		{"resident memory in MiB", func(s sample) float64 { return s.resident }, 0.10, 5},
		{"Go's heap in MiB", func(s sample) float64 { return s.heap }, 0.10, 5},
		{"goroutines", func(s sample) float64 { return s.goroutines }, 0.50, 50},
	}
}

// fewest is the minimum number of samples for a comparison.
const fewest = 9

// growth returns the values that have grown beyond their bound. It compares medians of thirds,
// which are robust against garbage collections and bursts of work. The samples must be of one
// process.
func growth(samples []sample) []string {
	if len(samples) < fewest {
		return []string{fmt.Sprintf("%d samples of memory are too few for a comparison; %d are enough", len(samples), fewest)}
	}
	var wrong []string
	for _, s := range samples {
		if s.pid != samples[0].pid {
			return []string{"the controller was restarted while its memory was watched"}
		}
	}
	for _, b := range bounds() {
		from, to := thirds(samples, b.of)
		if limit := from*(1+b.share) + b.more; to > limit {
			wrong = append(wrong, fmt.Sprintf("%s: from %.1f to %.1f in %s, more than %.1f", b.name, from, to,
				samples[len(samples)-1].at.Sub(samples[0].at).Round(time.Second), limit))
		}
	}
	return wrong
}

// thirds returns the medians of the first and the last third.
func thirds(samples []sample, of func(sample) float64) (first, last float64) {
	n := len(samples) / 3
	return median(samples[:n], of), median(samples[len(samples)-n:], of)
}

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, 0, len(samples))
	for _, s := range samples {
		values = append(values, of(s))
	}
	return frame.Median(values)
}

// rest is the permitted growth of the number of goroutines of an idle controller.
const rest = 10

// restGrowth compares an idle controller with itself at a later time. A leaked goroutine is visible
// among a hundred, but not among thousands.
func restGrowth(before, after sample) []string {
	if before.pid != after.pid || after.goroutines <= before.goroutines+rest {
		return nil
	}
	return []string{fmt.Sprintf("goroutines at rest: %.0f, and %.0f after %s of changes", before.goroutines, after.goroutines,
		after.at.Sub(before.at).Round(time.Second))}
}

// total adds up the counters of successive processes. Counts after the last sample of a process are
// lost.
func total(samples []sample) harness.Metrics {
	sum := harness.Metrics{}
	for i, s := range samples {
		if i+1 < len(samples) && samples[i+1].pid == s.pid {
			continue
		}
		for series, value := range s.counts {
			sum[series] += value
		}
	}
	return sum
}
