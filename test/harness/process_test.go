// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMetrics(t *testing.T) {
	m, err := parseMetrics(strings.NewReader(`# TYPE reconciliations_total counter
reconciliations_total{rule="In sync"} 12
reconciliations_total{rule="Absent"} 1.5e+02
reconciliations_totally 1000
go_goroutines 7
`))
	if err != nil || m.Sum("reconciliations_total") != 162 || m.Sum("reconciliations_total", `rule="Absent"`) != 150 || m.By("reconciliations_total", "rule")["In sync"] != 12 || m[`reconciliations_total{rule="In sync"}`] != 12 || m.Sum("go_goroutines") != 7 {
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
