// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
)

// artifact returns an archive with the entries that write adds.
func artifact(t testing.TB, write func(*tar.Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	files := tar.NewWriter(zip)
	write(files)
	for _, c := range []io.Closer{files, zip} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// described returns the paths and contents of a selection, or its error.
func described(s Selection) string {
	if s.Err != nil {
		return s.Err.Error()
	}
	var all []string
	for _, f := range s.Files {
		all = append(all, f.Path+"="+string(f.Data))
	}
	return strings.Join(all, " ")
}

func TestSelect(t *testing.T) {
	t.Parallel()
	data := artifact(t, func(w *tar.Writer) {
		add(t, w, tar.Header{Name: "envs", Typeflag: tar.TypeDir}, "")
		add(t, w, tar.Header{Name: "envs/prod/10-b.yaml"}, "b")
		add(t, w, tar.Header{Name: "./envs/prod/05-a.yaml"}, "a")
		add(t, w, tar.Header{Name: "envs/prod/sub/c.yaml"}, "c")
		add(t, w, tar.Header{Name: "envs/prod/d.json"}, "d")
		add(t, w, tar.Header{Name: "envs/dev/link.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, "")
		add(t, w, tar.Header{Name: "envs/dev/pipe", Typeflag: tar.TypeFifo}, "")
		add(t, w, tar.Header{Name: "envs/dev/hard", Typeflag: tar.TypeLink, Linkname: "values.yaml"}, "")
		add(t, w, tar.Header{Name: "values.yaml"}, "v")
		add(t, w, tar.Header{Name: "twice.yaml"}, "1")
		add(t, w, tar.Header{Name: "./twice.yaml"}, "2")
		add(t, w, tar.Header{Name: "bad\nname.yaml"}, "x")
		add(t, w, tar.Header{Name: "secret.yaml"}, "a: ENC[AES256_GCM]\nsops:\n  mac: ENC[x]\n  version: 3.9.0\n")
	})
	for pattern, want := range map[string]string{
		"values.yaml":                  "values.yaml=v",
		"./values.yaml":                "values.yaml=v",
		"envs/prod/*.yaml":             "envs/prod/05-a.yaml=a envs/prod/10-b.yaml=b",
		"envs/*/??-?.yaml":             "envs/prod/05-a.yaml=a envs/prod/10-b.yaml=b",
		"envs/prod/*":                  "envs/prod/05-a.yaml=a envs/prod/10-b.yaml=b envs/prod/d.json=d",
		"envs/prod":                    "",
		"envs":                         "",
		"none.yaml":                    "",
		"envs/dev/*.yaml":              `"envs/dev/link.yaml" is a link or special file, which is not followed`,
		"envs/dev/link.yaml":           `"envs/dev/link.yaml" is a link or special file, which is not followed`,
		"envs/dev/pipe":                `"envs/dev/pipe" is a link or special file, which is not followed`,
		"envs/dev/hard":                `"envs/dev/hard" is a link or special file, which is not followed`,
		"twice.yaml":                   `the artifact has "twice.yaml" twice`,
		"bad*":                         `"bad\nname.yaml" has characters that a path must not have`,
		"secret.yaml":                  `"secret.yaml" is encrypted with SOPS, and is not decrypted here: decrypt it into a Secret, and refer to that`,
		"/values.yaml":                 "the path is absolute: paths are relative to the root of the artifact",
		"../values.yaml":               "the path leaves the artifact",
		"a/../../values.yaml":          "the path leaves the artifact",
		"**/values.yaml":               "** is not supported: * matches within one name",
		strings.Repeat("a/", 32) + "b": "the path has more than 32 names",
	} {
		got, err := Select(data, []string{pattern})
		if err != nil || len(got) != 1 || described(got[0]) != want {
			t.Errorf("%s: %q, error %v, want %q", pattern, described(got[0]), err, want)
		}
	}
	// A pattern that is refused does not concern others.
	got, err := Select(data, []string{"values.yaml", "envs/dev/*", "envs/prod/d.json"})
	if err != nil || len(got) != 3 || described(got[0]) != "values.yaml=v" || got[1].Err == nil || described(got[2]) != "envs/prod/d.json=d" {
		t.Errorf("%+v, error %v", got, err)
	}
}

// TestSelectRejects: hostile artifacts are rejected as a whole, and the error names the file.
func TestSelectRejects(t *testing.T) {
	t.Parallel()
	file := func(name string) []byte {
		return artifact(t, func(w *tar.Writer) { add(t, w, tar.Header{Name: name}, "a: 1") })
	}
	zeros := strings.Repeat("\x00", 4<<20)
	whole := file("values.yaml")
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"Above":       {file("../values.yaml"), `is rejected: "../values.yaml" is outside of the artifact`},
		"AboveWithin": {file("a/../../values.yaml"), `is rejected: "a/../../values.yaml" is outside of the artifact`},
		"Backslash":   {file(`a\..\..\values.yaml`), `is outside of the artifact`},
		"Absolute":    {file("/values.yaml"), `is rejected: "/values.yaml" is an absolute path`},
		"NoGzip":      {[]byte("a: 1"), "cannot be read: it is not compressed with gzip"},
		"NoTar":       {compressed(t, strings.Repeat("a: 1\n", 300)), "cannot be read: it is not a tar archive, or is not complete"},
		"Cut":         {whole[:len(whole)-20], "cannot be read: it is not"},
		"ManyFiles": {artifact(t, func(w *tar.Writer) {
			for i := range maxEntries + 1 {
				add(t, w, tar.Header{Name: fmt.Sprint("f", i)}, "")
			}
		}), "is rejected: it has more than 20000 files"},
		"Bomb": {artifact(t, func(w *tar.Writer) {
			for i := range maxUnpackedBytes/len(zeros) + 1 {
				add(t, w, tar.Header{Name: fmt.Sprint("f", i)}, zeros)
			}
		}), "is rejected: it is larger than 104857600 bytes when it is unpacked"},
	} {
		if _, err := Select(tc.data, []string{"values.yaml"}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func compressed(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, _ = io.WriteString(zip, text)
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSelectLimits: files that are too large, or too many, are refused.
func TestSelectLimits(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	data := artifact(t, func(w *tar.Writer) {
		for i := range maxSelected + 1 {
			add(t, w, tar.Header{Name: fmt.Sprintf("many/%03d", i)}, "")
		}
		for i := range 5 {
			add(t, w, tar.Header{Name: fmt.Sprintf("large/%d", i)}, strings.Repeat(" ", 4*mebibyte))
		}
		add(t, w, tar.Header{Name: "huge"}, strings.Repeat(" ", 8*mebibyte+1))
	})
	for pattern, want := range map[string]string{
		"many/*":  "the path matches more than 256 files",
		"large/*": "the files have more than 16777216 bytes",
		"huge":    `"huge" has more than 8388608 bytes`,
	} {
		if got, err := Select(data, []string{pattern}); err != nil || described(got[0]) != want || got[0].Files != nil {
			t.Errorf("%s: %s, error %v", pattern, described(got[0])[:min(100, len(described(got[0])))], err)
		}
	}
	// The files of others that do not fit in are left out, and are not an error.
	others := []string{"large/0", "large/?", "large/[0-3]", "large/[1-4]", "large/[0-1]"}
	got, err := Select(data, others)
	if err != nil || len(got) != 4 || got[0].Pattern != others[0] || got[3].Pattern != others[4] {
		t.Errorf("%d selections, error %v", len(got), err)
	}
}

func TestEncrypted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want bool
	}{
		"YAML":         {"a: ENC[x]\nsops:\n    mac: ENC[y]\n    version: 3.9.0\n", true},
		"Flow":         {"{a: 1, sops: {version: '3', mac: x}}", true},
		"JSON":         {`{"data":"ENC[x]","sops":{"mac":"ENC[y]","version":"3.9.0"}}`, true},
		"Quoted":       {"\"sops\": {\"mac\": x, \"version\": y}", true},
		"Dotenv":       {"A=ENC[x]\nsops_version=3.9.0\nsops_mac=ENC[y]\n", true},
		"INI":          {"[a]\nb = ENC[x]\n[sops]\nmac     = ENC[y]\nversion = 3.9.0\n", true},
		"Plain":        {"a: 1\n", false},
		"SectionBelow": {"chart:\n  sops: {mac: a, version: b}\n", false},
		"OtherMeaning": {"sops: {enabled: true, image: {version: 1}}\nmacOS: true\n", false},
		"Text":         {"sops: mac version\n", false},
		"List":         {"sops: [mac, version]\n", false},
	} {
		if got := isEncrypted([]byte(tc.text)); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// FuzzSelect: no artifact makes Select panic, or return files with paths that leave it.
func FuzzSelect(f *testing.F) {
	f.Add([]byte("values.yaml"), "*.yaml")
	f.Add(artifact(f, func(w *tar.Writer) { add(f, w, tar.Header{Name: "a/b.yaml"}, "a: 1") }), "a/*")
	f.Fuzz(func(t *testing.T, data []byte, pattern string) {
		found, err := Select(data, []string{pattern})
		if err != nil {
			return
		}
		for _, file := range found[0].Files {
			if strings.HasPrefix(file.Path, "/") || strings.Contains(file.Path, "..") && strings.Contains("/"+file.Path+"/", "/../") {
				t.Errorf("path %q", file.Path)
			}
		}
	})
}
