// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResident(t *testing.T) {
	const status = "Name:\tx\nVmHWM:\t 9999 kB\nVmRSS:\t    2560 kB\nRssFile:\t    1024 kB\n"
	for field, want := range map[string]float64{"VmRSS": 2.5, "RssFile": 1} {
		if mebibytes, err := parseMemory(status, field); err != nil || mebibytes != want {
			t.Errorf("%s: %v MiB, %v", field, mebibytes, err)
		}
	}
	if _, err := parseMemory("VmHWM:\t 1 kB\n", "VmRSS"); err == nil {
		t.Error("a size was found where there is none")
	}
	all, err := ResidentMiB(os.Getpid())
	if err != nil || all <= 0 {
		t.Errorf("this process: %v MiB, %v", all, err)
	}
}

func TestMetrics(t *testing.T) {
	m, err := parseMetrics(strings.NewReader(`# TYPE reconciliations_total counter
reconciliations_total{rule="In sync"} 12
reconciliations_total{rule="Absent"} 1.5e+02
reconciliations_totally 1000
go_goroutines 7
`))
	if err != nil || m.Sum("reconciliations_total") != 162 || m[`reconciliations_total{rule="In sync"}`] != 12 || m.Sum("go_goroutines") != 7 {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := parseMetrics(strings.NewReader("reconciliations_total many\n")); err == nil {
		t.Error("a number was found where there is none")
	}
}

func TestDisconnected(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	if disconnected(int(writer.Fd())) {
		t.Error("a pipe with a reader is disconnected")
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if !disconnected(int(writer.Fd())) {
		t.Error("a pipe without a reader is not disconnected")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if disconnected(int(file.Fd())) {
		t.Error("a file is disconnected")
	}
}
