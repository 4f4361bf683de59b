// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"strings"
	"testing"
)

func TestResident(t *testing.T) {
	mebibytes, err := parseResident("Name:\tx\nVmHWM:\t 9999 kB\nVmRSS:\t    2560 kB\n")
	if err != nil || mebibytes != 2.5 {
		t.Errorf("%v MiB, %v", mebibytes, err)
	}
	if _, err := parseResident("VmHWM:\t 1 kB\n"); err == nil {
		t.Error("a size was found where there is none")
	}
	if mebibytes, err := ResidentMiB(os.Getpid()); err != nil || mebibytes <= 0 {
		t.Errorf("this process: %v MiB, %v", mebibytes, err)
	}
}

func TestMetrics(t *testing.T) {
	m, err := parseMetrics(strings.NewReader(`# TYPE visits_total counter
visits_total{rule="In sync"} 12
visits_total{rule="Absent"} 1.5e+02
visits_totally 1000
go_goroutines 7
`))
	if err != nil || m.Sum("visits_total") != 162 || m[`visits_total{rule="In sync"}`] != 12 || m.Sum("go_goroutines") != 7 {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := parseMetrics(strings.NewReader("visits_total many\n")); err == nil {
		t.Error("a number was found where there is none")
	}
}
