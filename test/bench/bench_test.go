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

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func TestStat(t *testing.T) {
	// The name is made to look like the end of the second field.
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

func TestPeak(t *testing.T) {
	mebibytes, err := parsePeak("Name:\tx\nVmPeak:\t 9999 kB\nVmHWM:\t    2560 kB\nVmRSS:\t 1 kB\n")
	if err != nil || mebibytes != 2.5 {
		t.Errorf("%v MiB, %v", mebibytes, err)
	}
	if _, err := parsePeak("VmRSS:\t 1 kB\n"); err == nil {
		t.Error("a peak was found where there is none")
	}
}

func TestThisProcess(t *testing.T) {
	if seconds, err := cpuSeconds(os.Getpid()); err != nil || seconds < 0 {
		t.Errorf("%v s, %v", seconds, err)
	}
	if mebibytes, err := peakMiB(os.Getpid()); err != nil || mebibytes <= 0 {
		t.Errorf("%v MiB, %v", mebibytes, err)
	}
}

func TestSumRequests(t *testing.T) {
	n, err := sumRequests(strings.NewReader(`# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="127.0.0.1:1",method="GET"} 12
rest_client_requests_total{code="<error>",host="127.0.0.1:1",method="PATCH"} 1.5e+02
rest_client_requests_totally{code="200"} 1000
workqueue_adds_total{name="a"} 7
`))
	if err != nil || n != 162 {
		t.Errorf("%d, %v", n, err)
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

func TestBoard(t *testing.T) {
	deployed := &helmv2.HelmRelease{}
	deployed.Generation = 1
	b := newBoard(2, func(hr *helmv2.HelmRelease) bool { return hr != nil && hr.Generation == 1 })
	first, second := releaseName(0), releaseName(1)
	for i, step := range []struct {
		name    string
		hr      *helmv2.HelmRelease
		missing int
	}{
		{first, deployed, 1},
		{first, deployed, 1},
		{second, &helmv2.HelmRelease{}, 1},
		{second, deployed, 0},
		{first, nil, 1},
	} {
		if b.set(step.name, step.hr); b.missing != step.missing {
			t.Errorf("step %d: %d are missing, want %d", i, b.missing, step.missing)
		}
	}
	if gone := newBoard(2, func(hr *helmv2.HelmRelease) bool { return hr == nil }); gone.missing != 0 {
		t.Errorf("%d releases that do not exist have to go", gone.missing)
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

func TestTables(t *testing.T) {
	text := session{
		Controller: "pintle", Args: []string{"--kube-api-qps=9"}, Releases: 4, Concurrent: 2, CPUs: 2, Phases: []phase{
			{Name: "install", Seconds: 1.5, CPUSeconds: 0.4, PeakMiB: 61.2, Sent: 6, Received: 4, ByKind: map[string]int{"list pods": 2, "get pods": 2}},
			{Name: "idle", PeakMiB: 60, PeakOfAll: true, ByKind: map[string]int{"get jobs": 4}},
		},
	}.text()
	got := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"pintle --kube-api-qps=9, 4 releases, --concurrent=2, drift detection off, 2 CPUs",
		"install 1.50 0.40 100.0 61 6 1.5 4 1.0",
		"idle 0.00 0.00 0.0 60 since start 0 - 0 -",
		"install idle get jobs - 1.0 get pods 0.5 - list pods 0.5 -",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
