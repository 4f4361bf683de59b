// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const chartFile = "apiVersion: v2\nname: bad\nversion: 1.0.0\n"

// bomb packs what write writes, after a chart that could be loaded.
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

// TestHostileArchives: what must not be unpacked is refused, and the refusal names
// the file.
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
		// want is part of the error, empty if the chart is to be loaded.
		want string
	}{
		"Honest":  {"other files are no reason to refuse a chart", file("bad/templates/a.yaml", "{{ if true }}{{ end }}"), ""},
		"Dots":    {"nor are odd but harmless names", file("bad/x/..files/a...b", "x"), ""},
		"Zeros":   {"a bomb is not unpacked", many(30, "bad/zeros-%d"), "is refused: the chart is larger than 104857600 bytes when it is unpacked"},
		"OneFile": {"nor is a file that Helm finds too large", file("bad/zeros", zeros+zeros), `"bad/zeros" is larger than the maximum file size`},
		"Nested": {"archives in archives count together", func(w *tar.Writer) {
			for i := range 4 {
				add(t, w, tar.Header{Name: fmt.Sprintf("bad/charts/sub-%d.tgz", i)}, inner)
			}
		}, "larger than 104857600 bytes"},
		"NestedElsewhere": {"wherever they are", func(w *tar.Writer) {
			for i := range 4 {
				add(t, w, tar.Header{Name: fmt.Sprintf("bad/charts/./a/charts/sub-%d.tgz", i)}, inner)
			}
		}, "larger than 104857600 bytes"},
		"Entries": {"there cannot be any number of files", func(w *tar.Writer) {
			for i := range maxEntries {
				add(t, w, tar.Header{Name: fmt.Sprint("bad/", i)}, "")
			}
		}, "more than 20000 files"},
		"Parent":     {"nothing is outside of the chart", file("bad/../../etc/passwd", "x"), `"../etc/passwd" leads out of the chart`},
		"Backslash":  {"with either kind of slash", file(`bad\..\..\etc\passwd`, "x"), "leads out of the chart"},
		"Absolute":   {"nor at an absolute path", file("/etc/passwd", "x"), `"/etc/passwd" is an absolute path`},
		"Symlink":    {"symbolic links are refused", entry(tar.Header{Name: "bad/values.yaml", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}), `"bad/values.yaml" is neither a file nor a folder`},
		"Hardlink":   {"hard links are", entry(tar.Header{Name: "bad/values.yaml", Linkname: "bad/Chart.yaml", Typeflag: tar.TypeLink}), "links and devices are not unpacked"},
		"Device":     {"and devices", entry(tar.Header{Name: "bad/zero", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5}), `"bad/zero" is neither a file nor a folder`},
		"Fifo":       {"and pipes, that nobody writes to", entry(tar.Header{Name: "bad/pipe", Typeflag: tar.TypeFifo}), `"bad/pipe" is neither`},
		"DeepFolder": {"subcharts have a depth", file("bad/"+strings.Repeat("charts/a/", 17)+"Chart.yaml", chartFile), "is a subchart of the 17th degree"},
		"DeepArchive": {"archives too", func(w *tar.Writer) {
			in := bomb(t, func(*tar.Writer) {})
			for range 17 {
				in = bomb(t, file("bad/charts/bad-1.0.0.tgz", string(in)))
			}
			file("bad/charts/bad-1.0.0.tgz", string(in))(w)
		}, "is a subchart of the 17th degree"},
		"LongName":     {"names are shortened before they are quoted", entry(tar.Header{Name: "bad/" + strings.Repeat("x", 1<<19), Typeflag: tar.TypeFifo}), "xxx...\" is neither"},
		"Blocks":       {"templates that nest without end are not parsed", file("bad/templates/deep.yaml", strings.Repeat("{{if 1}}", maxBlocks+1)), `"bad/templates/deep.yaml" opens more than 50000 blocks`},
		"BlocksBelow":  {"those of subcharts neither", file("bad/charts/a/templates/deep.yaml", strings.Repeat("{{- range . }}", maxBlocks+1)), "opens more than 50000 blocks"},
		"DeepYAML":     {"nor is YAML that does", file("bad/values.yaml", strings.Repeat("[", 1<<20)), "cannot load values.yaml"},
		"DeepBlocks":   {"in either style", file("bad/values.yaml", strings.Repeat("- ", 1<<20)), "cannot load values.yaml"},
		"Laughs":       {"aliases are not expanded without end", file("bad/values.yaml", laughs(12)), "excessive aliasing"},
		"LaughingFile": {"in no file", func(w *tar.Writer) { add(t, w, tar.Header{Name: "bad/Chart.lock"}, laughs(12)) }, "excessive aliasing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, _ := artifactServer(t, bomb(t, tc.write))
			_, err := NewStore(&http.Client{Timeout: time.Minute}, 16*megabyte).Load(t.Context(), a)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// laughs is YAML of a map that would have 10^depth entries.
func laughs(depth int) string {
	text := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range depth {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	return text
}

// FuzzInspect: no archive makes the inspection panic, and none that it lets pass
// makes Helm panic.
func FuzzInspect(f *testing.F) {
	f.Add(bomb(f, func(w *tar.Writer) { add(f, w, tar.Header{Name: "bad/values.yaml"}, "a: &a [*a]") }))
	f.Add(bomb(f, func(w *tar.Writer) { add(f, w, tar.Header{Name: "bad/charts/a.tgz"}, "x") }))
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Fuzz(func(t *testing.T, data []byte) {
		got := &outcome{data: data}
		if c, err := got.parse(Artifact{URL: "http://charts/a.tgz"}); err == nil {
			readsOf(c)
		}
	})
}

// TestHostileURLs: artifacts come from web servers, and errors do not tell what is
// secret in a URL.
func TestHostileURLs(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	good := pack(t, "note", "1.2.3")
	cases := map[string]struct{ reason, url, location, want string }{
		"File":       {"files of this machine are none", "file:///etc/passwd?" + secret, "", "artifact file:///etc/passwd cannot be downloaded: only http and https URLs are"},
		"Gopher":     {"nor is another protocol", "gopher://" + secret + "@charts/a.tgz", "", "only http and https"},
		"NoHost":     {"a server has a name", "http:///a.tgz", "", "only http and https"},
		"Noise":      {"what cannot be read is cleared as well", "http://user:" + secret + "@charts/%zz?" + secret, "", `artifact URL "***@charts/%zz" cannot be read`},
		"Redirect":   {"a web server can send to another", "http://charts/a.tgz", "http://mirror/b.tgz?token=" + secret, ""},
		"ToFile":     {"but not to a file", "http://charts/a.tgz", "file:///etc/passwd", "the server redirects to file:///etc/passwd: only http and https"},
		"ToGopher":   {"nor to another protocol", "http://charts/a.tgz", "gopher://mirror/" + "?" + secret, "the server redirects to gopher://mirror/"},
		"Downgrade":  {"nor from https to http", "https://charts/a.tgz", "http://mirror/b.tgz?" + secret, "the server redirects from https to http://mirror/b.tgz"},
		"ToNoise":    {"to what is no address, of which nothing is quoted", "http://charts/a.tgz", "http://user:" + secret + "@%zz?" + secret, "GET http://charts/a.tgz redirects to what is no URL"},
		"Loop":       {"nor for ever", "http://charts/loop", "http://charts/loop?" + secret, "the server redirects more than 5 times"},
		"Unanswered": {"what the client says of a URL is cleared too", "http://user:" + secret + "@down/a.tgz?token=" + secret, "", "artifact cannot be downloaded: GET http://down/a.tgz: "},
		"Absent":     {"and what the server says", "http://" + secret + "@charts/absent?token=" + secret, "", "artifact not found: http://charts/absent"},
		"Failing":    {"whatever that is", "http://" + secret + "@charts/failing?token=" + secret, "", "GET http://charts/failing answered 418 I'm a teapot"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, _ := artifactServer(t, good)
			a.URL = tc.url
			client := &http.Client{Timeout: time.Minute, CheckRedirect: CheckRedirect, Transport: hops{location: tc.location, data: good}}
			_, err := NewStore(client, megabyte).Load(t.Context(), a)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
}

// hops is a web that sends those who ask for a.tgz, or for loop, to a location.
type hops struct {
	location string
	data     []byte
}

func (h hops) RoundTrip(req *http.Request) (*http.Response, error) {
	answer := func(code int, body []byte) (*http.Response, error) {
		return &http.Response{
			StatusCode: code, Status: fmt.Sprint(code, " ", strings.Repeat("no ", 1<<16)), Header: http.Header{"Location": {h.location}},
			Body: io.NopCloser(bytes.NewReader(body)), Request: req,
		}, nil
	}
	switch {
	case req.URL.Host == "down":
		return nil, fmt.Errorf("connection refused")
	case req.URL.Path == "/absent":
		return answer(http.StatusNotFound, nil)
	case req.URL.Path == "/failing":
		return answer(http.StatusTeapot, nil)
	case h.location != "" && req.URL.Path != "/b.tgz":
		return answer(http.StatusFound, nil)
	}
	return answer(http.StatusOK, h.data)
}
