// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#+ (.*)`)
	example = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	// noAnchor matches the characters of a heading that its anchor does not have.
	noAnchor = regexp.MustCompile(`[^\pL\pN_ -]`)
)

// TestLinks: every file and every heading that a page links to exists.
func TestLinks(t *testing.T) {
	for _, page := range markdownFiles(t) {
		for _, line := range prose(t, page) {
			for _, match := range link.FindAllStringSubmatch(line, -1) {
				target, anchor, _ := strings.Cut(match[1], "#")
				if strings.Contains(target, "://") {
					continue
				}
				if target = filepath.Join(filepath.Dir(page), target); strings.HasPrefix(match[1], "#") {
					target = page
				}
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s links to %s: %v", page, match[1], err)
				} else if anchor != "" && strings.HasSuffix(target, ".md") && !slices.Contains(anchors(t, target), anchor) {
					t.Errorf("%s links to %s, which has no such heading", page, match[1])
				}
			}
		}
	}
}

// TestExamples: the examples in docs/spec have no unknown fields. An example without a kind is a
// part of a HelmRelease.
func TestExamples(t *testing.T) {
	pages, err := filepath.Glob("../docs/spec/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range example.FindAllStringSubmatch(string(raw), -1) {
			found++
			var object struct {
				Kind string `json:"kind"`
			}
			if err := yaml.Unmarshal([]byte(match[1]), &object); err != nil {
				t.Errorf("%s: %v in\n%s", page, err, match[1])
			}
			var into any
			switch object.Kind {
			case helmv2.HelmReleaseKind, "":
				into = &helmv2.HelmRelease{}
			case opsv1alpha1.OperationKind:
				into = &opsv1alpha1.Operation{}
			case v1alpha1.ReleasePolicyKind:
				into = &v1alpha1.ReleasePolicy{}
			default:
				continue
			}
			if err := yaml.UnmarshalStrict([]byte(match[1]), into); err != nil {
				t.Errorf("%s: %v in\n%s", page, err, match[1])
			}
		}
	}
	if found == 0 {
		t.Error("no example was found")
	}
}

// markdownFiles returns the paths of all pages.
func markdownFiles(t *testing.T) []string {
	t.Helper()
	var pages []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"bin", ".git", "vendor"}, d.Name()):
			return fs.SkipDir
		case strings.HasSuffix(path, ".md"):
			pages = append(pages, path)
		}
		return nil
	})
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	return pages
}

// prose returns the lines of a page outside of code blocks.
func prose(t *testing.T, page string) []string {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	code := false
	for line := range strings.SplitSeq(string(raw), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		} else if !code {
			lines = append(lines, line)
		}
	}
	return lines
}

// anchors returns the anchors of the headings of a page, as GitHub forms them.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	var all []string
	for _, line := range prose(t, page) {
		if match := heading.FindStringSubmatch(line); match != nil {
			all = append(all, strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-"))
		}
	}
	return all
}
