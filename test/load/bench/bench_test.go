// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
