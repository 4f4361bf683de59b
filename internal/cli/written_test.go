// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const page = "../../docs/plugin.md"

// console matches an example of the page: a command and its output.
var console = regexp.MustCompile("(?s)```console\n(\\$ kubectl pintle [^\n]*)\n(.*?)```\n")

// This file is the last one of its package, so that -rewrite writes the golden files first.

// TestPage: each example of docs/plugin.md is the output in a golden file, and each command has a
// section.
func TestPage(t *testing.T) {
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	examples := outputsOf(t)
	found := 0
	text := console.ReplaceAllStringFunc(string(raw), func(example string) string {
		command := console.FindStringSubmatch(example)[1]
		output, known := examples[command]
		if !known {
			t.Errorf("no golden file has %s", command)
			return example
		}
		found++
		return "```console\n" + command + "\n" + output + "```\n"
	})
	if found < 5 {
		t.Errorf("the page has %d examples", found)
	}
	if *rewrite {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != string(raw) {
		t.Errorf("an example of %s is not the output in its golden file; -rewrite writes it", page)
	}
	for _, cmd := range Command(&Session{}).Commands() {
		if !regexp.MustCompile("(?m)^## .*\\b" + cmd.Name() + "\\b").MatchString(text) {
			t.Errorf("%s has no section about %s", page, cmd.Name())
		}
		if cmd.Short == "" || !strings.HasPrefix(cmd.Use, cmd.Name()) {
			t.Errorf("%s has no help", cmd.Name())
		}
	}
}

// outputsOf returns the outputs in golden files by their command.
func outputsOf(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range regexp.MustCompile(`(?m)^\$ kubectl pintle `).Split(string(raw), -1)[1:] {
			command, output, _ := strings.Cut(part, "\n")
			// Some tests run one command in several states: the page shows the usual one.
			if name := "$ kubectl pintle " + command; all[name] == "" || !strings.Contains(filepath.Base(file), "-") {
				all[name] = strings.TrimRight(output, "\n") + "\n"
			}
		}
	}
	return all
}
