// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"testing"
)

const chartFile = "apiVersion: v2\nname: bad\nversion: 1.0.0\n"

// bomb returns an archive with a valid Chart.yaml and the entries that write adds.
func bomb(t testing.TB, write func(*tar.Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	files := tar.NewWriter(zip)
	add(t, files, tar.Header{Name: "bad/Chart.yaml"}, chartFile)
	write(files)
	for _, c := range []io.Closer{files, zip} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func add(t testing.TB, files *tar.Writer, header tar.Header, content string) {
	t.Helper()
	if header.Mode = 0o644; header.Typeflag == 0 {
		header.Typeflag, header.Size = tar.TypeReg, int64(len(content))
	}
	if err := files.WriteHeader(&header); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(files, content); err != nil {
		t.Fatal(err)
	}
}

// TestHostileArchives: hostile archives are rejected, and the error names the file.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	file := func(name, content string) func(*tar.Writer) {
		return func(w *tar.Writer) { add(t, w, tar.Header{Name: name}, content) }
	}
	entry := func(h tar.Header) func(*tar.Writer) {
		return func(w *tar.Writer) { add(t, w, h, "") }
	}
	zeros := strings.Repeat("\x00", 4<<20)
	many := func(n int, name string) func(*tar.Writer) {
		return func(w *tar.Writer) {
			for i := range n {
				add(t, w, tar.Header{Name: fmt.Sprintf(name, i)}, zeros)
			}
		}
	}
	inner := string(bomb(t, many(10, "bad/zeros-%d")))
	cases := map[string]struct {
		reason string
		write  func(*tar.Writer)
		// want is part of the error, empty for none.
		want string
	}{
		"Honest":  {"a valid chart is accepted", file("bad/templates/a.yaml", "{{ if true }}{{ end }}"), ""},
		"Dots":    {"unusual but harmless names are accepted", file("bad/x/..files/a...b", "x"), ""},
		"Zeros":   {"a large archive is rejected", many(30, "bad/zeros-%d"), "is rejected: the chart is larger than 104857600 bytes when it is unpacked"},
		"OneFile": {"Helm rejects a large file", file("bad/zeros", zeros+zeros), `"bad/zeros" is larger than the maximum file size`},
		"Nested": {"archives in archives count together", func(w *tar.Writer) {
			for i := range 4 {
				add(t, w, tar.Header{Name: fmt.Sprintf("bad/charts/sub-%d.tgz", i)}, inner)
			}
		}, "larger than 104857600 bytes"},
		"NestedElsewhere": {"archives at any path count", func(w *tar.Writer) {
			for i := range 4 {
				add(t, w, tar.Header{Name: fmt.Sprintf("bad/charts/./a/charts/sub-%d.tgz", i)}, inner)
			}
		}, "larger than 104857600 bytes"},
		"Entries": {"the number of files is limited", func(w *tar.Writer) {
			for i := range maxEntries {
				add(t, w, tar.Header{Name: fmt.Sprint("bad/", i)}, "")
			}
		}, "more than 20000 files"},
		"Parent":     {"a path outside of the chart is rejected", file("bad/../../etc/passwd", "x"), `"../etc/passwd" is outside of the chart`},
		"Backslash":  {"backslashes are separators too", file(`bad\..\..\etc\passwd`, "x"), "is outside of the chart"},
		"Absolute":   {"an absolute path is rejected", file("/etc/passwd", "x"), `"/etc/passwd" is an absolute path`},
		"Symlink":    {"a symbolic link is rejected", entry(tar.Header{Name: "bad/values.yaml", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}), `"bad/values.yaml" is neither a file nor a directory`},
		"Hardlink":   {"a hard link is rejected", entry(tar.Header{Name: "bad/values.yaml", Linkname: "bad/Chart.yaml", Typeflag: tar.TypeLink}), "links and devices are not unpacked"},
		"Device":     {"a device is rejected", entry(tar.Header{Name: "bad/zero", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5}), `"bad/zero" is neither a file nor a directory`},
		"Fifo":       {"a named pipe is rejected", entry(tar.Header{Name: "bad/pipe", Typeflag: tar.TypeFifo}), `"bad/pipe" is neither`},
		"DeepFolder": {"the depth of subcharts is limited", file("bad/"+strings.Repeat("charts/a/", 17)+"Chart.yaml", chartFile), "is a subchart at depth 17, more than 16"},
		"DeepArchive": {"the depth of archives is limited", func(w *tar.Writer) {
			in := bomb(t, func(*tar.Writer) {})
			for range 17 {
				in = bomb(t, file("bad/charts/bad-1.0.0.tgz", string(in)))
			}
			file("bad/charts/bad-1.0.0.tgz", string(in))(w)
		}, "is a subchart at depth 17, more than 16"},
		"LongName":     {"long names are shortened", entry(tar.Header{Name: "bad/" + strings.Repeat("x", 1<<19), Typeflag: tar.TypeFifo}), "xxx...\" is neither"},
		"Blocks":       {"the number of blocks is limited", file("bad/templates/deep.yaml", strings.Repeat("{{if 1}}", maxBlocks+1)), `"bad/templates/deep.yaml" opens more than 50000 blocks`},
		"BlocksBelow":  {"templates of subcharts are limited too", file("bad/charts/a/templates/deep.yaml", strings.Repeat("{{- range . }}", maxBlocks+1)), "opens more than 50000 blocks"},
		"DeepYAML":     {"Helm rejects deeply nested flow style", file("bad/values.yaml", strings.Repeat("[", 1<<20)), "cannot load values.yaml"},
		"DeepBlocks":   {"Helm rejects deeply nested block style", file("bad/values.yaml", strings.Repeat("- ", 1<<20)), "cannot load values.yaml"},
		"Laughs":       {"excessive aliases are rejected", file("bad/values.yaml", laughs(12)), `"bad/values.yaml": the content has more than 4000000 keys and values after the expansion of its aliases`},
		"LaughsBelow":  {"so are those of subcharts", file("bad/charts/a/values.yaml", laughs(12)), `"bad/charts/a/values.yaml": the content has more than 4000000 keys`},
		"LongAlias":    {"aliases of one long text are rejected", file("bad/values.yaml", "a: &x "+strings.Repeat("x", 1<<20)+"\nb: ["+strings.Repeat("*x,", 100)+"]"), "the content has more than 67108864 bytes after the expansion of its aliases"},
		"LaughingFile": {"excessive aliases in Chart.lock are rejected", func(w *tar.Writer) { add(t, w, tar.Header{Name: "bad/Chart.lock"}, laughs(12)) }, `"bad/Chart.lock": the content has more than`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(bomb(t, tc.write))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// laughs returns YAML of a map with 10^depth entries.
func laughs(depth int) string {
	text := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range depth {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	return text
}

// FuzzCheckArchive: neither the check nor Helm panics on any archive.
func FuzzCheckArchive(f *testing.F) {
	f.Add(bomb(f, func(w *tar.Writer) { add(f, w, tar.Header{Name: "bad/values.yaml"}, "a: &a [*a]") }))
	f.Add(bomb(f, func(w *tar.Writer) { add(f, w, tar.Header{Name: "bad/charts/a.tgz"}, "x") }))
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := Load(data); err == nil {
			ReadsOf(c)
		}
	})
}

// TestRandomBytes: random bytes are errors, and do not panic.
func TestRandomBytes(t *testing.T) {
	t.Parallel()
	for size := 0; size < 4096; size += 511 {
		data := make([]byte, size)
		_, _ = rand.Read(data)
		if _, err := Load(data); err == nil {
			t.Errorf("%d random bytes were loaded", size)
		}
	}
}
