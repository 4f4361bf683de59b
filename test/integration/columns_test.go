// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// kubectlGet returns the header and the first row of `kubectl get helmrelease`, each as fields. The
// message, which has spaces, is one field.
func (w *world) kubectlGet(name string, args ...string) (header, row []string) {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "kubeconfig")
	w.must(os.WriteFile(path, kubeconfig(w.t, suite.config), 0o600))
	command := exec.CommandContext(w.t.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"),
		append([]string{"--kubeconfig", path, "--namespace", w.namespace, "get", "helmrelease", name}, args...)...)
	out, err := command.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 2 {
		w.t.Fatalf("%q", lines)
	}
	for text := lines[0]; text != ""; {
		word, rest, _ := strings.Cut(text, " ")
		trimmed := strings.TrimLeft(rest, " ")
		end := min(len(text)-len(trimmed), len(lines[1]))
		if trimmed == "" {
			end = len(lines[1])
		}
		header, row = append(header, word), append(row, strings.TrimSpace(lines[1][:end]))
		text, lines[1] = trimmed, lines[1][end:]
	}
	return header, row
}

// TestColumns: the columns are those of Flux. With -o wide there are more, as far as the CRD is that
// of Pintle.
func TestColumns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("app", nil)
	w.untilReady(hr)
	header, row := w.kubectlGet("app")
	if got := fmt.Sprint(header); got != "[NAME AGE READY STATUS]" || row[2] != "True" || !strings.HasPrefix(row[3], "Helm install succeeded") {
		t.Errorf("%q, %q", header, row)
	}
	if os.Getenv("PINTLE_CRDS") != "" {
		return
	}
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	header, row = w.kubectlGet("app", "-o", "wide")
	if got := fmt.Sprint(header); got != "[NAME AGE READY STATUS REASON REVISION CHART VERSION SUSPENDED SUSPENDED-BY-ANNOTATION]" {
		t.Fatal(got)
	}
	version, _, _ := strings.Cut(row[7], "+")
	if got := strings.Join(append(row[4:7], version, row[8], row[9]), " "); got != "InstallSucceeded 1 note 1.0.0 true " {
		t.Errorf("%q", row)
	}
}
