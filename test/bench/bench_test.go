// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStat(t *testing.T) {
	// The name looks like the end of the second field.
	seconds, err := parseStat("42 (a) R 1) S 1 42 42 0 -1 4194304 900 0 0 0 250 31 7 9 20 0 12 0 8000 1 2\n")
	if err != nil || seconds != 2.81 {
		t.Errorf("%v s, %v", seconds, err)
	}
	for _, bad := range []string{"", "42 (a) S 1", "42 a S 1 42 42 0 -1 4194304 900 0 0 0 250 31"} {
		if seconds, err := parseStat(bad); err == nil {
			t.Errorf("%q: %v s", bad, seconds)
		}
	}
}

func TestMemory(t *testing.T) {
	m, err := parseMemory("Name:\tx\nVmPeak:\t 9999 kB\nVmHWM:\t    2560 kB\nVmRSS:\t 1024 kB\n")
	if err != nil || m != (memory{peak: 2.5, now: 1}) {
		t.Errorf("%v MiB, %v", m, err)
	}
	for _, bad := range []string{"VmRSS:\t 1 kB\n", "VmHWM:\t 1 kB\n", ""} {
		if m, err := parseMemory(bad); err == nil {
			t.Errorf("%q: %v", bad, m)
		}
	}
}

func TestThisProcess(t *testing.T) {
	if seconds, err := cpuSeconds(os.Getpid()); err != nil || seconds < 0 {
		t.Errorf("%v s, %v", seconds, err)
	}
	if m, err := memoryOf(os.Getpid()); err != nil || m.now <= 0 || m.peak < m.now {
		t.Errorf("%v MiB, %v", m, err)
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
