// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/test/harness"
)

var rewrite = flag.Bool("rewrite", false, "write the output of the commands to docs/tutorial.md")

// TestTutorial: the commands of docs/tutorial.md have the output on the page, after `make run`, and
// the web page shows what the page says.
func TestTutorial(t *testing.T) {
	s := newShell(t, t.Name())
	address := s.demonstration()
	path := filepath.Join(harness.Root(), "docs", "tutorial.md")
	raw, err := os.ReadFile(path)
	s.must(err)
	shows := func(route, text string) { s.shows("http://"+address+route, text) }
	got := tutorial{run: s.run, shows: shows}.replay(string(raw))
	if *rewrite {
		s.must(os.WriteFile(path, []byte(got), 0o600))
		return
	}
	if diff := cmp.Diff(string(raw), got); diff != "" {
		t.Errorf("docs/tutorial.md has other output (-page +now); -rewrite writes it:\n%s", diff)
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
	out, err := os.Create(path)
	s.must(err)
	cmd := exec.CommandContext(context.WithoutCancel(s.Context()), "bin/pintle-run")
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, out, out
	s.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	s.Cleanup(func() {
		err := cmd.Process.Signal(syscall.SIGINT)
		if err == nil {
			err = <-ended
		}
		if err := errors.Join(err, out.Close()); err != nil {
			s.Errorf("the demonstration: %v", err)
		}
		left, err := filepath.Glob(filepath.Join(bin, "run", "*"))
		if err != nil || len(left) > 0 {
			s.Errorf("the demonstration leaves %v: %v", left, err)
		}
	})
	address := regexp.MustCompile(`\n  http://(127\.0\.0\.1:\d+)\n(?s:.*)until Ctrl-C`)
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		text, err := os.ReadFile(path)
		s.must(err)
		if found := address.FindSubmatch(text); found != nil {
			s.Logf("%s", text)
			return string(found[1])
		}
		if len(ended) > 0 || time.Now().After(deadline) {
			s.Fatalf("the demonstration is not ready:\n%s", text)
		}
	}
}

// shows waits until the web page contains a text.
func (s *shell) shows(url, text string) {
	s.Helper()
	var body []byte
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, url, http.NoBody)
		s.must(err)
		answer, err := http.DefaultClient.Do(request)
		s.must(err)
		body, err = io.ReadAll(answer.Body)
		s.must(errors.Join(err, answer.Body.Close()))
		if answer.StatusCode == http.StatusOK && strings.Contains(string(body), text) {
			return
		}
	}
	s.Errorf("%s does not show %q:\n%s", url, text, body)
}

// tutorial replays a page.
type tutorial struct {
	// run runs commands and returns their output.
	run func(commands string) string
	// shows checks that a route of the web page shows a text.
	shows func(route, text string)
}

var showsLine = regexp.MustCompile(`^<!-- ([/\w]+) shows: (.+) -->$`)

// replay runs the commands of a page, and returns the page with the output that they have now.
// Output that differs in generated parts only stays as it is.
func (p tutorial) replay(text string) string {
	all, lines := blocks(text), strings.SplitAfter(text, "\n")
	var page strings.Builder
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		page.WriteString(line)
		if match := showsLine.FindStringSubmatch(strings.TrimSpace(line)); match != nil {
			p.shows(match[1], match[2])
		}
		if !fence.MatchString(line) {
			continue
		}
		b := all[0]
		all, i = all[1:], i+strings.Count(b.text, "\n")
		page.WriteString(p.block(b))
		i++
		page.WriteString(lines[i])
	}
	return page.String()
}

// block runs a block and returns it with its output.
func (p tutorial) block(b block) string {
	switch {
	case b.skipped != "":
	case b.language == "sh":
		p.run(b.text)
	case b.language == "console":
		return p.console(b.text)
	}
	return b.text
}

// console runs the commands of a block, whose lines begin with a dollar sign. Their output follows
// each. A backslash at the end of a line continues a command.
func (p tutorial) console(text string) string {
	var result strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines) && lines[i] != ""; {
		command := ""
		for more := true; more; i++ {
			result.WriteString(lines[i])
			command += strings.TrimPrefix(lines[i], "$ ")
			more = strings.HasSuffix(lines[i], "\\\n")
		}
		before := ""
		for ; i < len(lines) && !strings.HasPrefix(lines[i], "$ "); i++ {
			before += lines[i]
		}
		result.WriteString(p.output(command, before))
	}
	return result.String()
}

// readOnly are commands that may be repeated.
var readOnly = regexp.MustCompile(`^kubectl (pintle )?(get|tree|why|history|plan) `)

// output runs a command and returns its output, or the one before if they differ in generated parts
// only. Events are written later than the condition that the page waits for, so commands that only
// read are repeated.
func (p tutorial) output(command, before string) string {
	now := p.run(command)
	for deadline := time.Now().Add(time.Minute); normal(now) != normal(before); now = p.run(command) {
		if !readOnly.MatchString(command) || time.Now().After(deadline) {
			return now
		}
		time.Sleep(time.Second)
	}
	return before
}

// generated are the parts of an output that differ from run to run.
var generated = []struct {
	pattern *regexp.Regexp
	as      string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`), "<time>"},
	{regexp.MustCompile(`sha256:[0-9a-f]+`), "<digest>"},
	{regexp.MustCompile(`\+[0-9a-f]{12}\b`), "+<digest>"},
	// The state of the Deployment depends on when it is read.
	{regexp.MustCompile(`(Pending termination|Updated|Available|Ready|Replicas): \d+(/\d+)?`), "<replicas>"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "<address>"},
	{regexp.MustCompile(`\bhello-[0-9a-z]{8,10}(-[0-9a-z]{5})?\b`), "<pod>"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m)(\d+s)?\b`), "<duration>"},
	// The width of a column depends on the others.
	{regexp.MustCompile(` +`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
}

// normal returns an output with its generated parts replaced.
func normal(output string) string {
	for _, g := range generated {
		output = g.pattern.ReplaceAllString(output, g.as)
	}
	return output
}

// TestReplay: output is compared without its generated parts, and replaced if it differs.
func TestReplay(t *testing.T) {
	const page = "# Page\n```sh\nset\n```\n<!-- /a shows: b c -->\n```console\n$ one \\\n  more\nAGE   POD\n5s    hello-12345678-abcde\n$ two\nold\n```\n" +
		"<!-- not replayed: it is long -->\n```sh\nmake run\n```\n```yaml\na: 1\n```\nEnd\n"
	var ran []string
	run := func(command string) string {
		ran = append(ran, command)
		return map[string]string{"one \\\n  more\n": "AGE    POD\n2m5s   hello-87654321-edcba\n", "two\n": "new\n"}[command]
	}
	got := tutorial{run: run, shows: func(route, text string) { ran = append(ran, route+" "+text) }}.replay(page)
	if want := strings.Replace(page, "old", "new", 1); got != want {
		t.Errorf("the page is\n%s", cmp.Diff(want, got))
	}
	if want := []string{"set\n", "/a b c", "one \\\n  more\n", "two\n"}; !cmp.Equal(ran, want) {
		t.Errorf("it ran %q, want %q", ran, want)
	}
}
