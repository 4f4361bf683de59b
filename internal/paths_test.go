// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// path matches a path of the project in a document: code that begins with one of its folders.
var path = regexp.MustCompile("`((?:\\./)?(?:api|charts|config|docs|hack|internal|test)/[A-Za-z0-9_./*-]*)`")

// TestPaths: every path of the project that a document names exists.
func TestPaths(t *testing.T) {
	documents, err := filepath.Glob("../*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"../docs/*.md", "../docs/*/*.md", "../test/*/README.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, more...)
	}
	named := 0
	for _, document := range documents {
		raw, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range path.FindAllStringSubmatch(string(raw), -1) {
			named++
			found, err := filepath.Glob(filepath.Join("..", strings.TrimPrefix(match[1], "./")))
			if err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which does not exist", strings.TrimPrefix(document, "../"), match[1])
			}
		}
	}
	if named == 0 {
		t.Error("no path was found")
	}
}
