// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// lower makes TestWords write the present counts into testdata/words.txt.
var lower = flag.Bool("lower", false, "lower the ceilings in testdata/words.txt to the present counts")

const ceilings = "testdata/words.txt"

// ceiling is a row of testdata/words.txt.
type ceiling struct {
	word, instead string
	count         int
}

// TestWords: words with a standard alternative do not spread. Comments, string literals and
// names of Go files count, and the text of Markdown files. Quotations do not.
func TestWords(t *testing.T) {
	all := readCeilings(t)
	counts, where := map[string]int{}, map[string][]string{}
	for path, words := range projectWords(t) {
		for _, c := range all {
			if n := words[c.word]; n > 0 {
				counts[c.word] += n
				where[c.word] = append(where[c.word], fmt.Sprintf("%s (%d)", path, n))
			}
		}
	}
	for i, c := range all {
		slices.Sort(where[c.word])
		switch n := counts[c.word]; {
		case n > c.count:
			t.Errorf("%q stands %d times, at most %d; the word is %s: %s", c.word, n, c.count, c.instead, strings.Join(where[c.word], ", "))
		case n < c.count && !*lower:
			t.Errorf("%q stands %d times: lower its ceiling from %d, with go test ./internal -run TestWords -lower", c.word, n, c.count)
		default:
			all[i].count = n
		}
	}
	if *lower && !t.Failed() {
		writeCeilings(t, all)
	}
}

func readCeilings(t *testing.T) []ceiling {
	t.Helper()
	raw, err := os.ReadFile(ceilings)
	if err != nil {
		t.Fatal(err)
	}
	var all []ceiling
	for line := range strings.Lines(string(raw)) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if strings.HasPrefix(line, "#") || len(fields) < 3 {
			continue
		}
		count, err := strconv.Atoi(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ceiling{word: fields[0], count: count, instead: fields[2]})
	}
	return all
}

func writeCeilings(t *testing.T, all []ceiling) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# word, how often it may stand, and the word to use in its place. Counts only go down.\n")
	for _, c := range all {
		fmt.Fprintf(&b, "%s %d %s\n", c.word, c.count, c.instead)
	}
	if err := os.WriteFile(ceilings, []byte(b.String()), 0o644); err != nil { // it is a source file
		t.Fatal(err)
	}
}

// projectWords returns how often each word stands in each file of the project.
func projectWords(t *testing.T) map[string]map[string]int {
	t.Helper()
	files := map[string]map[string]int{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, "../"))
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if slices.Contains([]string{"bin", ".git", "vendor"}, name) {
				return fs.SkipDir
			}
			return nil
		case strings.HasPrefix(filepath.Base(path), "zz_generated"), name == "internal/words_test.go":
			return nil
		case strings.HasSuffix(path, ".go"):
			files[name], err = goWords(path)
		case strings.HasSuffix(path, ".md"):
			files[name], err = markdownWords(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var (
	word = regexp.MustCompile(`[A-Za-z]+`)
	// quoted is what an author cites: code, output and the words of others.
	quoted = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|\"[^\"\n]*\"")
)

func countWords(counts map[string]int, text string) {
	for _, w := range word.FindAllString(text, -1) {
		counts[strings.ToLower(w)]++
	}
}

func markdownWords(path string) (map[string]int, error) {
	raw, err := os.ReadFile(path)
	counts := map[string]int{}
	countWords(counts, quoted.ReplaceAllString(string(raw), " "))
	return counts, err
}

// goWords counts the words of comments and string literals, and those that declared names
// consist of.
func goWords(path string) (map[string]int, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, group := range file.Comments {
		countWords(counts, quoted.ReplaceAllString(group.Text(), " "))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				countWords(counts, n.Value)
			}
		case *ast.FuncDecl:
			countWords(counts, splitName(n.Name.Name))
		case *ast.TypeSpec:
			countWords(counts, splitName(n.Name.Name))
		case *ast.ValueSpec:
			for _, name := range n.Names {
				countWords(counts, splitName(name.Name))
			}
		case *ast.Field:
			for _, name := range n.Names {
				countWords(counts, splitName(name.Name))
			}
		}
		return true
	})
	return counts, nil
}

// splitName puts spaces between the words of a Go name.
func splitName(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// TestCountWords: names are split, and quotations do not count.
func TestCountWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.go")
	source := "package x\n\n// A door is not a \"house\" or a `room`.\nfunc openDoor(key string) error { return errors.New(\"no window\") }\n"
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	counts, err := goWords(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"a": 3, "door": 2, "is": 1, "key": 1, "no": 1, "not": 1, "open": 1, "or": 1, "window": 1}
	if !maps.Equal(counts, want) {
		t.Errorf("%v, want %v", counts, want)
	}
}
