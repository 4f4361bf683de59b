// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkout returns a directory with files, and with links whose content starts with "->".
func checkout(t *testing.T, files map[string]string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, is := strings.CutPrefix(content, "->"); is {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// TestSelectIn: files of a directory are selected as files of an artifact, without links and without what
// is ignored. A file of an ignored directory may be kept.
func TestSelectIn(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "x.yaml"), []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := checkout(t, map[string]string{
		"values.yaml": "v", "envs/prod/10-b.yaml": "b", "envs/prod/05-a.yaml": "a", "envs/prod/d.json": "d", ".git/x.yaml": "git", "sub/.git": "gitdir: x", "sub/x.yaml": "x", "out/x.yaml": "left out", "out/kept.yaml": "k",
		"links/out.yaml": "->" + filepath.Join(outside, "x.yaml"), "links/up.yaml": "->../../../x.yaml", "links/in.yaml": "->../values.yaml", "linked": "->" + outside, "within": "->envs",
		"secret.yaml": "a: ENC[x]\nsops: {mac: a, version: b}\n",
	})
	ignored := func(name string, dir bool) bool { return name == "out" && dir || name == "out/x.yaml" && !dir }
	for pattern, want := range map[string]string{
		"values.yaml":      "values.yaml=v",
		"./envs/prod/*":    "envs/prod/05-a.yaml=a envs/prod/10-b.yaml=b envs/prod/d.json=d",
		"envs/prod/*.yaml": "envs/prod/05-a.yaml=a envs/prod/10-b.yaml=b",
		"envs/prod":        "",
		"*/x.yaml":         "sub/x.yaml=x",
		"sub/*":            "sub/x.yaml=x",
		"links/out.yaml":   "",
		"links/up.yaml":    "",
		"links/in.yaml":    "",
		"linked":           "",
		"linked/x.yaml":    "",
		"within/prod/*":    "",
		"out/*":            "out/kept.yaml=k",
		"../values.yaml":   "the path leaves the artifact",
		"secret.yaml":      `"secret.yaml" is encrypted with SOPS, and is not decrypted here: decrypt it into a Secret, and refer to that`,
	} {
		got, err := SelectIn(root, ignored, []string{pattern})
		if err != nil || len(got) != 1 || described(got[0]) != want {
			t.Errorf("%s: %v, error %v, want %q", pattern, got, err, want)
		}
	}
}

func nothing(string, bool) bool { return false }

// TestSelectInLimits: a directory has the limits of an artifact, and a file that cannot be read is an
// error.
func TestSelectInLimits(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range maxEntries + 1 {
		many[fmt.Sprintf("%d", i)] = ""
	}
	if _, err := SelectIn(checkout(t, many), nothing, []string{"a"}); err == nil || !strings.Contains(err.Error(), "is rejected: it has more than") {
		t.Errorf("%v", err)
	}
	large := checkout(t, map[string]string{"a": "", "values.yaml": "v"})
	f, err := large.OpenFile("a", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(maxUnpackedBytes); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if _, err := SelectIn(large, nothing, []string{"values.yaml"}); err == nil || err.Error() != errArtifactTooLarge.Error() {
		t.Errorf("%v", err)
	}
	replaced := &openedFile{root: checkout(t, map[string]string{"d/a": ""}), name: "d"}
	if _, err := replaced.Read(make([]byte, 1)); err == nil {
		t.Error("a directory is read")
	}
	replaced.close()
}
