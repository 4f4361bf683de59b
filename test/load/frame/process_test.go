// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// TestSampler: the memory of this process is measured, also in a window.
func TestSampler(t *testing.T) {
	t.Parallel()
	s := Sample(os.Getpid(), time.Hour)
	defer s.Stop()
	if peak := s.End(s.Begin()); peak < 1 {
		t.Errorf("this process takes %.1f MiB", peak)
	}
	if highest, count, err := s.Peak(); highest < 1 || count != 1 || err != nil {
		t.Errorf("%.1f MiB in %d measurements, %v", highest, count, err)
	}
}

// TestMebibytes: fields of the kernel's files are parsed.
func TestMebibytes(t *testing.T) {
	t.Parallel()
	const status = "Name:\tx\nVmHWM:\t 9999 kB\nVmRSS:\t    2560 kB\nPss:            2048 kB\n"
	for field, want := range map[string]float64{"VmRSS:": 2.5, "Pss:": 2} {
		if got, err := mebibytes(status, field); err != nil || got != want {
			t.Errorf("%s %v MiB, %v", field, got, err)
		}
	}
	if _, err := mebibytes(status, "RssFile:"); err == nil {
		t.Error("a size was found where there is none")
	}
}

func TestStat(t *testing.T) {
	// The name looks like the end of the second field.
	seconds, err := parseStat("42 (a) R 1) S 1 42 42 0 -1 4194304 900 0 0 0 250 31 7 9 20 0 12 0 8000 1 2\n")
	if err != nil || seconds != 2.97 {
		t.Errorf("%v s, %v", seconds, err)
	}
	for _, bad := range []string{"", "42 (a) S 1", "42 a S 1 42 42 0 -1 4194304 900 0 0 0 250 31"} {
		if seconds, err := parseStat(bad); err == nil {
			t.Errorf("%q: %v s", bad, seconds)
		}
	}
}

// TestThisProcess: the processes that a process has started count, running or ended.
func TestThisProcess(t *testing.T) {
	pid := os.Getpid()
	alone, err := TreeMiB(pid)
	peak, errPeak := PeakMiB(pid)
	if err := errors.Join(err, errPeak); err != nil || alone <= 0 || peak <= 0 {
		t.Fatalf("%v MiB, %v MiB at most, %v", alone, peak, err)
	}
	// The child reads its input, and ends after it has used CPU time.
	child := exec.Command("sh", "-c", "read line; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
	input, err := child.StdinPipe()
	if err := errors.Join(err, child.Start()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(children(pid), child.Process.Pid) {
		t.Errorf("the children are %v, without %d", children(pid), child.Process.Pid)
	}
	before, errBefore := CPUSeconds(pid)
	if err := errors.Join(input.Close(), child.Wait()); err != nil {
		t.Fatal(err)
	}
	after, errAfter := CPUSeconds(pid)
	if err := errors.Join(errBefore, errAfter); err != nil || after <= before || before < 0 {
		t.Errorf("%v s before the end of the child and %v s after it, %v", before, after, err)
	}
}
