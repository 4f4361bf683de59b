// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/test/harness"
)

var rewrite = flag.Bool("rewrite", false, "write the outputs that commands really have into docs/tutorial.md")

// TestTutorial: after `make run`, the commands of docs/tutorial.md and then those of README.md
// succeed, and the web page answers. The outputs of console blocks are those of the commands, apart from
// what differs from run to run. With -rewrite it replaces them, for review as a change of the page.
func TestTutorial(t *testing.T) {
	// The first block of the tutorial sets KUBECONFIG.
	s := newShell(t, os.DevNull)
	address := s.demonstration()
	for _, page := range []string{"docs/tutorial.md", "README.md"} {
		path := filepath.Join(harness.Root(), page)
		raw, err := os.ReadFile(path)
		s.must(err)
		ran, text := 0, string(raw)
		for _, b := range blocks(text) {
			var real strings.Builder
			for _, step := range b.steps() {
				out := s.run(step.command)
				ran++
				if diff := cmp.Diff(masked(step.output), masked(out)); b.language == "console" && diff != "" {
					if !*rewrite {
						t.Errorf("%s: the output differs (-page +command); -rewrite writes it:\n%s", page, diff)
					}
					step.output = strings.Trim(out, "\n") + "\n"
				}
				real.WriteString("$ " + step.command + step.output)
			}
			if b.language == "console" && real.Len() > 0 {
				text = strings.Replace(text, b.text, real.String(), 1)
			}
		}
		if ran == 0 {
			t.Errorf("%s has no commands", page)
		}
		if *rewrite && text != string(raw) {
			s.must(os.WriteFile(path, []byte(text), 0o644))
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

// step is a command of a block, or all commands of a block of shell, and the output that the page has.
type step struct{ command, output string }

// steps returns the commands of a block. In a console block each follows a dollar sign, and its
// output follows it. A backslash at the end of a line continues a command.
func (b block) steps() (all []step) {
	switch {
	case b.skipped != "":
		return nil
	case b.language == "sh":
		return []step{{command: b.text}}
	case b.language != "console":
		return nil
	}
	continues := false
	for line := range strings.Lines(b.text) {
		command, starts := strings.CutPrefix(line, "$ ")
		if starts {
			all = append(all, step{})
		}
		switch last := len(all) - 1; {
		case starts || continues:
			all[last].command += command
			continues = strings.HasSuffix(line, "\\\n")
		case last >= 0:
			all[last].output += line
		}
	}
	return all
}

// masks are the parts of outputs that differ from run to run. The order matters: a time of day
// contains durations.
var masks = []struct {
	part *regexp.Regexp
	mask string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "<time>"},
	{regexp.MustCompile(`\b(?:\d+(?:ms|s|m|h|d))+\b`), "<duration>"},
	{regexp.MustCompile(`\bsha256:[0-9a-f]{64}\b`), "<digest>"},
	{regexp.MustCompile(`\+[0-9a-f]{12}\b`), "+<digest>"},
	{regexp.MustCompile(`\b127\.0\.0\.1:\d+\b`), "<address>"},
	// The names of ReplicaSets and Pods, with the characters of Kubernetes' generated names.
	{regexp.MustCompile(`\bhello-[bcdfghjklmnpqrstvwxz2456789]{8,10}(?:-[bcdfghjklmnpqrstvwxz2456789]{5})?\b`), "hello-<suffix>"},
	{regexp.MustCompile(`restarted (?:once|twice|\d+ times)`), "restarted <times>"},
	// The Deployment's controller may have seen the Pod of the new ReplicaSet, or not yet.
	{regexp.MustCompile(`Progressing=True (?:ReplicaSetUpdated|NewReplicaSetCreated): .*`), "Progressing=True"},
	// The widths of columns.
	{regexp.MustCompile(` {2,}`), "  "},
	{regexp.MustCompile(`(?m) +$`), ""},
}

// masked returns an output without the parts that differ from run to run.
func masked(output string) string {
	for _, m := range masks {
		output = m.part.ReplaceAllString(output, m.mask)
	}
	return strings.Trim(output, "\n")
}

// TestSteps: commands are those of shells, with the outputs of consoles, and without blocks that are
// not replayed.
func TestSteps(t *testing.T) {
	for _, tc := range []struct {
		block block
		want  []step
	}{
		{block{language: "sh", text: "set\n"}, []step{{"set\n", ""}}},
		{block{language: "sh", text: "make run\n", skipped: "it is long"}, nil},
		{block{language: "yaml", text: "a: 1\n"}, nil},
		{
			block{language: "console", text: "$ one \\\n    more\nAGE   POD\n5s    hello\n$ two\nold\n"},
			[]step{{"one \\\n    more\n", "AGE   POD\n5s    hello\n"}, {"two\n", "old\n"}},
		},
		{block{language: "console", text: "only output\n"}, nil},
	} {
		if got := tc.block.steps(); !slices.Equal(got, tc.want) {
			t.Errorf("the steps of %+v are %q, want %q", tc.block, got, tc.want)
		}
	}
}

// TestMasked: ages, digests, generated names and widths do not matter. Columns and fixed words do.
func TestMasked(t *testing.T) {
	for _, tc := range []struct {
		page, command string
		same          bool
	}{
		{"NAME    CHANGED\nhello   2s\n", "NAME    CHANGED\nhello   1m20s\n\n", true},
		{"NAME    CHANGED   CAUSE\n", "NAME      CHANGED   CAUSE   \n", true},
		{"NAME    CHANGED\n", "NAME    CAUSE   CHANGED\n", false},
		{"hello@0.1.0+791634064529", "hello@0.1.0+998edcf7281c", true},
		{"hello@0.1.0+791634064529", "hello@0.2.0+791634064529", false},
		{"Digest: sha256:" + strings.Repeat("0", 64), "Digest: sha256:" + strings.Repeat("a", 64), true},
		{"Pod hello-57cbdcf74b-dnqgr runs", "Pod hello-664bb45549-4dsqm runs", true},
		{"hello-pre-upgrade (pre-upgrade)", "Job hello-pre-upgrade (pre-upgrade)", false},
		{"by kubectl at 2026-11-26T19:03:07Z", "by kubectl at 2026-11-28T18:10:54.703604881Z", true},
		{"restarted once; before", "restarted twice; before", true},
		{"Stalled is above", "Ready is above", false},
	} {
		if same := masked(tc.page) == masked(tc.command); same != tc.same {
			t.Errorf("%q and %q: same is %t", tc.page, tc.command, same)
		}
	}
}
