// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/test/harness"
)

// block is a fenced block of a page.
type block struct {
	section, language, text string
	// file is the name under which the reader stores the block.
	file string
	// skipped is the reason why the block cannot be run here.
	skipped string
}

var (
	headingLine = regexp.MustCompile(`^##+ (.+)$`)
	fence       = regexp.MustCompile("^\\s*```(\\w*)")
	fileLine    = regexp.MustCompile(`^\s*<!-- file: (\S+) -->$`)
	skipLine    = regexp.MustCompile(`^\s*<!-- not replayed: (.+) -->$`)
)

// blocks returns the fenced blocks of a page in order. A comment on a line before a block names its
// file, or the reason why the block is skipped.
func blocks(text string) (all []block) {
	var section, file, skipped string
	var open *block
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if match := fence.FindStringSubmatch(line); match != nil {
			if open != nil {
				all, open = append(all, *open), nil
				continue
			}
			open = &block{section: section, language: match[1], file: file, skipped: skipped}
			file, skipped = "", ""
			continue
		}
		switch {
		case open != nil:
			open.text += line + "\n"
		case headingLine.MatchString(line):
			section = headingLine.FindStringSubmatch(line)[1]
		case fileLine.MatchString(line):
			file = fileLine.FindStringSubmatch(line)[1]
		case skipLine.MatchString(line):
			skipped = skipLine.FindStringSubmatch(line)[1]
		}
	}
	return all
}

// page are the blocks of a page with commands and files that were not replayed yet.
type page struct {
	name    string
	blocks  []block
	skipped int
}

func readPage(t *testing.T, name string) *page {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(harness.Root(), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	p := &page{name: name}
	for _, b := range blocks(string(raw)) {
		if b.language == "sh" || b.file != "" {
			p.blocks = append(p.blocks, b)
		}
	}
	return p
}

// section removes and returns the blocks of the next section. The test names the sections in their
// order, so that no section is added without a test.
func (p *page) section(t *testing.T, name string) (all []block) {
	t.Helper()
	for len(p.blocks) > 0 && p.blocks[0].section == name {
		all, p.blocks = append(all, p.blocks[0]), p.blocks[1:]
	}
	if len(all) == 0 {
		t.Fatalf("docs/%s: section %q has no commands here; the next commands are in %q", p.name, name, p.next())
	}
	return all
}

func (p *page) next() string {
	if len(p.blocks) == 0 {
		return ""
	}
	return p.blocks[0].section
}

// ended checks that all sections were replayed, and the number of blocks that were skipped.
func (p *page) ended(t *testing.T, skipped int) {
	t.Helper()
	if len(p.blocks) > 0 {
		t.Errorf("docs/%s: section %q was not replayed", p.name, p.next())
	}
	if p.skipped != skipped {
		t.Errorf("docs/%s: %d blocks were not replayed, want %d", p.name, p.skipped, skipped)
	}
}

// TestBlocks: blocks have their section, language, file and reason.
func TestBlocks(t *testing.T) {
	got := blocks("# Page\n## One\n<!-- file: a.yaml -->\n```yaml\na: 1\n```\n### Two\n```sh\nls\n# ## no heading\n```\n" +
		"<!-- not replayed: it needs Git -->\n```sh\ngit push\n```\n```console\n$ x\n```\n")
	want := []block{
		{section: "One", language: "yaml", text: "a: 1\n", file: "a.yaml"},
		{section: "Two", language: "sh", text: "ls\n# ## no heading\n"},
		{section: "Two", language: "sh", text: "git push\n", skipped: "it needs Git"},
		{section: "Two", language: "console", text: "$ x\n"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d blocks, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("block %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}
