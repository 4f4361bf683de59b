// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPromtool: promtool accepts the metrics and the rules, and the tests of testdata pass. The
// other tests use current libraries; an old promtool shows that the files need no new one.
func TestPromtool(t *testing.T) {
	t.Parallel()
	promtool := os.Getenv("PINTLE_PROMTOOL")
	if promtool == "" {
		t.Skip("PINTLE_PROMTOOL is not set")
	}
	raw, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rulesFile, err := filepath.Abs(at + "rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	flux := filepath.Join(t.TempDir(), "alerts.yaml")
	withoutHonorLabels := bytes.ReplaceAll(renamed(raw), []byte("../../../config/monitoring/rules.yaml"), []byte(rulesFile))
	if err := os.WriteFile(flux, withoutHonorLabels, 0o600); err != nil {
		t.Fatal(err)
	}
	_, families := served(t)
	for name, test := range map[string]struct {
		args  []string
		input io.Reader
	}{
		"Metrics": {args: []string{"check", "metrics"}, input: text(t, families)},
		"Rules":   {args: []string{"check", "rules", "--lint-fatal", at + "rules.yaml"}},
		"Alerts":  {args: []string{"test", "rules", "testdata/alerts.yaml"}},
		"Renamed": {args: []string{"test", "rules", flux}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var output bytes.Buffer
			cmd := exec.CommandContext(t.Context(), promtool, test.args...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = test.input, &output, &output
			if err := cmd.Run(); err != nil {
				t.Errorf("%v: %v\n%s", cmd.Args, err, output.Bytes())
			}
		})
	}
}
