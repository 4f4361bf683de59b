// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/pintle-dev/pintle/test/harness"
)

// TestTutorial: after `make run`, the commands of docs/tutorial.md and then those of README.md
// succeed, and the web page answers.
func TestTutorial(t *testing.T) {
	// The first block of the tutorial sets KUBECONFIG.
	s := newShell(t, os.DevNull)
	address := s.demonstration()
	for _, page := range []string{"docs/tutorial.md", "README.md"} {
		raw, err := os.ReadFile(filepath.Join(harness.Root(), page))
		s.must(err)
		ran := 0
		for _, b := range blocks(string(raw)) {
			if commands := b.commands(); commands != "" {
				s.run(commands)
				ran++
			}
		}
		if ran == 0 {
			t.Errorf("%s has no commands", page)
		}
	}
	for _, route := range []string{"/", "/releases/demo/hello"} {
		s.opens("http://" + address + route)
	}
}

// demonstration starts the program of `make run` in the directory of the shell, and returns the
// address of the web page when everything is ready. The program cleans up after the test.
func (s *shell) demonstration() string {
	s.Helper()
	bin := filepath.Join(s.dir, "bin")
	s.must(os.Mkdir(bin, 0o700))
	built := filepath.Join(harness.Root(), "bin")
	for name, target := range map[string]string{
		"cluster": os.Getenv("PINTLE_CLUSTER_BIN"), "pintle": os.Getenv("PINTLE_CONTROLLER"),
		"kubectl-pintle": filepath.Join(built, "kubectl-pintle"), "pintle-run": filepath.Join(built, "pintle-run"),
	} {
		s.must(os.Symlink(target, filepath.Join(bin, name)))
	}
	path := filepath.Join(dir, "run.log")
	log, err := os.Create(path)
	s.must(err)
	cmd := exec.CommandContext(context.WithoutCancel(s.Context()), "bin/pintle-run")
	cmd.Dir, cmd.Stderr = s.dir, log
	out, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	ready := make(chan string, 1)
	go func() {
		defer close(ready)
		address := ""
		for lines := bufio.NewScanner(io.TeeReader(out, log)); lines.Scan(); {
			if match := pageLine.FindStringSubmatch(lines.Text()); match != nil {
				address = match[1]
			}
			if strings.Contains(lines.Text(), "until Ctrl-C") {
				ready <- address
			}
		}
	}()
	s.Cleanup(func() {
		err := cmd.Process.Signal(syscall.SIGINT)
		for range ready { // until the output ends
		}
		if err := errors.Join(err, cmd.Wait(), log.Close()); err != nil {
			s.Errorf("the demonstration: %v", err)
		}
		left, err := filepath.Glob(filepath.Join(bin, "run", "*"))
		if err != nil || len(left) > 0 {
			s.Errorf("the demonstration leaves %v: %v", left, err)
		}
	})
	address := <-ready
	raw, err := os.ReadFile(path)
	s.must(err)
	if address == "" {
		s.Fatalf("the demonstration is not ready:\n%s", raw)
	}
	s.Logf("%s", raw)
	return address
}

// pageLine matches the line of the program that has the address of the web page.
var pageLine = regexp.MustCompile(`^  http://(127\.0\.0\.1:\d+)$`)

// opens checks that the web page answers.
func (s *shell) opens(url string) {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, url, http.NoBody)
	s.must(err)
	answer, err := http.DefaultClient.Do(request)
	s.must(err)
	body, err := io.ReadAll(answer.Body)
	s.must(errors.Join(err, answer.Body.Close()))
	if answer.StatusCode != http.StatusOK {
		s.Errorf("%s answers %s:\n%s", url, answer.Status, body)
	}
}

// commands returns the commands of a block. In a console block they follow a dollar sign, and their
// output follows them. A backslash at the end of a line continues a command.
func (b block) commands() string {
	switch {
	case b.skipped != "":
		return ""
	case b.language == "sh":
		return b.text
	case b.language != "console":
		return ""
	}
	var commands strings.Builder
	continues := false
	for line := range strings.Lines(b.text) {
		command, starts := strings.CutPrefix(line, "$ ")
		if starts || continues {
			commands.WriteString(command)
			continues = strings.HasSuffix(line, "\\\n")
		}
	}
	return commands.String()
}

// TestCommands: commands are those of shells, without output, and without blocks that are not
// replayed.
func TestCommands(t *testing.T) {
	for _, tc := range []struct {
		block block
		want  string
	}{
		{block{language: "sh", text: "set\n"}, "set\n"},
		{block{language: "sh", text: "make run\n", skipped: "it is long"}, ""},
		{block{language: "yaml", text: "a: 1\n"}, ""},
		{block{language: "console", text: "$ one \\\n    more\nAGE   POD\n5s    hello\n$ two\nold\n"}, "one \\\n    more\ntwo\n"},
		{block{language: "console", text: "only output\n"}, ""},
	} {
		if got := tc.block.commands(); got != tc.want {
			t.Errorf("the commands of %+v are %q, want %q", tc.block, got, tc.want)
		}
	}
}
