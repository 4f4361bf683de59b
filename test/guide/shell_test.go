// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/test/harness"
)

// shell runs blocks in one working directory. Variables and functions are kept from one block to the
// next.
type shell struct {
	*testing.T

	dir, kubeconfig string
}

// newShell returns a shell in a directory that links to the folders of the repository.
func newShell(t *testing.T, kubeconfig string) *shell {
	t.Helper()
	s := &shell{t, filepath.Join(dir, t.Name()), kubeconfig}
	s.must(os.MkdirAll(s.dir, 0o700))
	for _, folder := range []string{"charts", "config", "hack"} {
		s.must(os.Symlink(filepath.Join(harness.Root(), folder), filepath.Join(s.dir, folder)))
	}
	return s
}

func (s *shell) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// replay runs the commands of a section in order, writes its files, and returns the output.
func (s *shell) replay(p *page, section string) string {
	s.Helper()
	var out strings.Builder
	for _, b := range p.section(s.T, section) {
		switch {
		case b.skipped != "":
			p.skipped++
		case b.file != "":
			s.must(os.MkdirAll(filepath.Join(s.dir, filepath.Dir(b.file)), 0o700))
			s.must(os.WriteFile(filepath.Join(s.dir, b.file), []byte(b.text), 0o600))
		default:
			out.WriteString(s.run(b.text))
		}
	}
	return out.String()
}

// run runs commands with bash, which ends at the first command that fails.
func (s *shell) run(commands string) string {
	s.Helper()
	const script = `set -euo pipefail; [ ! -e .env ] || . ./.env; set -a; eval "$1"; set +a; { export -p; declare -f; } >.env`
	cmd := exec.CommandContext(s.Context(), "bash", "-c", script, "bash", commands)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "KUBECONFIG="+s.kubeconfig, "PATH="+os.Getenv("PINTLE_CLUSTER_BIN")+":"+os.Getenv("PATH"))
	began := time.Now()
	raw, err := cmd.CombinedOutput()
	s.Logf("%.1f s\n%s\n%s", time.Since(began).Seconds(), commands, raw)
	if err != nil {
		s.Fatalf("%v of\n%s", err, commands)
	}
	return string(raw)
}

// has checks that an output contains all parts.
func (s *shell) has(out string, parts ...string) {
	s.Helper()
	for _, part := range parts {
		if !strings.Contains(out, part) {
			s.Errorf("the output does not contain %q", part)
		}
	}
}
