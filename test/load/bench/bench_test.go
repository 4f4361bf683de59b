// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/test/harness"
)

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

func TestMebibytes(t *testing.T) {
	got, err := mebibytes("Name:\tx\nVmPeak:\t 9999 kB\nVmHWM:\t    2560 kB\nVmRSS:\t 1024 kB\n", "VmHWM:")
	if err != nil || got != 2.5 {
		t.Errorf("%v MiB, %v", got, err)
	}
	for _, bad := range []string{"VmRSS:\t 1 kB\n", ""} {
		if got, err := mebibytes(bad, "VmHWM:"); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// TestThisProcess: the processes that a process has started count, running or ended.
func TestThisProcess(t *testing.T) {
	pid := os.Getpid()
	alone, err := proportionalMiB(pid)
	peak, errPeak := peakMiB(pid)
	if err := errors.Join(err, errPeak); err != nil || alone <= 0 || peak <= 0 {
		t.Fatalf("%v MiB, %v MiB at most, %v", alone, peak, err)
	}
	// The child reads its input, and ends after it has used CPU time.
	child := exec.Command("sh", "-c", "read line; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
	input, err := child.StdinPipe()
	if err := errors.Join(err, child.Start()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(harness.Children(pid), child.Process.Pid) {
		t.Errorf("the children are %v, without %d", harness.Children(pid), child.Process.Pid)
	}
	before, errBefore := cpuSeconds(pid)
	if err := errors.Join(input.Close(), child.Wait()); err != nil {
		t.Fatal(err)
	}
	after, errAfter := cpuSeconds(pid)
	if err := errors.Join(errBefore, errAfter); err != nil || after <= before || before < 0 {
		t.Errorf("%v s before the end of the child and %v s after it, %v", before, after, err)
	}
}

const lines = `{"stage":"ResponseComplete","verb":"get","userAgent":"some/v1 (linux)","requestURI":"/api/v1/namespaces/a/pods/b","objectRef":{"resource":"pods"}}
{"stage":"ResponseComplete","verb":"patch","userAgent":"some/v1","requestURI":"/apis/apps/v1/namespaces/a/deployments/b?dryRun=All&force=true","objectRef":{"resource":"deployments"}}
{"stage":"ResponseComplete","verb":"patch","userAgent":"more","requestURI":"/apis/x/v1/namespaces/a/things/b/status?fieldManager=m","objectRef":{"resource":"things","subresource":"status"}}
{"stage":"ResponseStarted","verb":"watch","userAgent":"some/v1","requestURI":"/api/v1/pods?watch=true","objectRef":{"resource":"pods"}}
{"stage":"ResponseComplete","verb":"watch","userAgent":"some/v1","requestURI":"/api/v1/pods?watch=true","objectRef":{"resource":"pods"}}
{"stage":"ResponseComplete","verb":"get","userAgent":"some/v1","requestURI":"/openapi/v3/apis/apps/v1?hash=1"}
{"stage":"ResponseComplete","verb":"list","userAgent":"kube-scheduler/v1","requestURI":"/api/v1/pods","objectRef":{"resource":"pods"}}
{"stage":"ResponseComplete","verb":"list","userAgent":"pintle-harness","requestURI":"/api/v1/pods","objectRef":{"resource":"pods"}}
{"stage":"ResponseComplete","verb":"list","userAgent":"kwok","requestURI":"/api/v1/secrets","objectRef":{"resource":"secrets"}}
{"stage":"ResponseComplete","verb":"update","userAgent":"kwok","requestURI":"/api/v1/secrets/a","objectRef":{"resource":"secrets"}}
`

func TestCountsOnlyTheController(t *testing.T) {
	c, err := count([]byte(lines))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"get pods": 1, "watch pods": 1, "patch deployments (dry run)": 1, "patch things/status": 1, "get /openapi": 1,
	}
	if !maps.Equal(c.kinds, want) {
		t.Errorf("counted %v, want %v", c.kinds, want)
	}
	if !maps.Equal(c.agents, map[string]int{"some": 4, "more": 1}) || c.total() != 5 {
		t.Errorf("counted %v, %d together", c.agents, c.total())
	}
	if c.othersReads != 1 {
		t.Errorf("counted %d reads of Secrets by others, want 1", c.othersReads)
	}
	if _, err := count([]byte("{\n")); err == nil {
		t.Error("half an object was counted")
	}
}

func TestLogIsReadOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	all := strings.SplitAfter(lines, "\n")
	half := len(all[1]) / 2
	log := auditLog{path: path}
	for i, step := range []struct {
		written string
		want    int
	}{
		{all[0] + all[1][:half], 1},
		{lines[:len(all[0])+len(all[1])], 1},
		{lines[:len(all[0])+len(all[1])], 0},
		{lines, 3},
	} {
		if err := os.WriteFile(path, []byte(step.written), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := log.next()
		if err != nil || c.total() != step.want {
			t.Errorf("step %d: %d requests, %v; want %d", i, c.total(), err, step.want)
		}
	}
}

func TestNothingIsReadWithoutALog(t *testing.T) {
	if c, err := new(auditLog).next(); err != nil || c.total() != 0 {
		t.Errorf("%v, %v", c, err)
	}
}

func TestNumbers(t *testing.T) {
	if numbers, err := parseNumbers("10,20"); err != nil || !slices.Equal(numbers, []int{10, 20}) {
		t.Errorf("%v, %v", numbers, err)
	}
	for _, bad := range []string{"", "0", "1,", "-1", "a"} {
		if numbers, err := parseNumbers(bad); err == nil {
			t.Errorf("%q: %v", bad, numbers)
		}
	}
}
