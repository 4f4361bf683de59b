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
		"Laughs":       {"Helm rejects excessive aliases", file("bad/values.yaml", laughs(12)), "excessive aliasing"},
		"LaughingFile": {"Helm rejects excessive aliases in Chart.lock", func(w *tar.Writer) { add(t, w, tar.Header{Name: "bad/Chart.lock"}, laughs(12)) }, "excessive aliasing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, _ := artifactServer(t, bomb(t, tc.write))
			_, err := NewStore(Options{Client: &http.Client{Timeout: time.Minute}, MaxBytes: 16 * megabyte}).Load(t.Context(), a)
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
		got := &result{archive: data}
		if c, err := got.parse(Artifact{URL: "http://charts/a.tgz"}); err == nil {
			readsOf(c)
		}
	})
}

// TestHostileURLs: only http and https URLs are accepted, and errors do not contain the secrets of
// URLs.
func TestHostileURLs(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	good := pack(t, "note", "1.2.3")
	cases := map[string]struct{ reason, url, location, want string }{
		"File":       {"a file URL is rejected", "file:///etc/passwd?" + secret, "", "artifact file:///etc/passwd cannot be downloaded: only http and https URLs are supported"},
		"Gopher":     {"another scheme is rejected", "gopher://" + secret + "@charts/a.tgz", "", "only http and https"},
		"NoHost":     {"a URL without a host is rejected", "http:///a.tgz", "", "only http and https"},
		"Noise":      {"an invalid URL is redacted", "http://user:" + secret + "@charts/%zz?" + secret, "", `artifact URL "***@charts/%zz" cannot be read`},
		"Redirect":   {"a redirect to another server is followed", "http://charts/a.tgz", "http://mirror/b.tgz?token=" + secret, ""},
		"ToFile":     {"a redirect to a file is rejected", "http://charts/a.tgz", "file:///etc/passwd", "the server redirects to file:///etc/passwd: only http and https"},
		"ToGopher":   {"a redirect to another scheme is rejected", "http://charts/a.tgz", "gopher://mirror/" + "?" + secret, "the server redirects to gopher://mirror/"},
		"Downgrade":  {"a redirect from https to http is rejected", "https://charts/a.tgz", "http://mirror/b.tgz?" + secret, "the server redirects from https to http://mirror/b.tgz"},
		"ToNoise":    {"a redirect to an invalid URL is rejected, and the URL is not quoted", "http://charts/a.tgz", "http://user:" + secret + "@%zz?" + secret, "GET http://charts/a.tgz redirects to an invalid URL"},
		"Loop":       {"the number of redirects is limited", "http://charts/loop", "http://charts/loop?" + secret, "the server redirects more than 5 times"},
		"Unanswered": {"URLs in errors of the client are redacted", "http://user:" + secret + "@down/a.tgz?token=" + secret, "", "artifact cannot be downloaded: GET http://down/a.tgz: "},
		"Absent":     {"URLs are redacted for a missing artifact", "http://" + secret + "@charts/absent?token=" + secret, "", "artifact not found: http://charts/absent"},
		"Failing":    {"URLs are redacted for other statuses", "http://" + secret + "@charts/failing?token=" + secret, "", "GET http://charts/failing answered 418 I'm a teapot"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, _ := artifactServer(t, good)
			a.URL = tc.url
			client := &http.Client{Timeout: time.Minute, CheckRedirect: CheckRedirect, Transport: hops{location: tc.location, data: good}}
			_, err := NewStore(Options{Client: client, MaxBytes: megabyte}).Load(t.Context(), a)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error contains the secret: %v", err)
			}
		})
	}
}

// hops is a transport that redirects requests for a.tgz and loop to location.
type hops struct {
	location string
	data     []byte
}

func (h hops) RoundTrip(req *http.Request) (*http.Response, error) {
	respond := func(code int, body []byte) (*http.Response, error) {
		return &http.Response{
			StatusCode: code, Status: fmt.Sprint(code, " ", strings.Repeat("no ", 1<<16)), Header: http.Header{"Location": {h.location}},
			Body: io.NopCloser(bytes.NewReader(body)), Request: req,
		}, nil
	}
	switch {
	case req.URL.Host == "down":
		return nil, fmt.Errorf("connection refused")
	case req.URL.Path == "/absent":
		return respond(http.StatusNotFound, nil)
	case req.URL.Path == "/failing":
		return respond(http.StatusTeapot, nil)
	case h.location != "" && req.URL.Path != "/b.tgz":
		return respond(http.StatusFound, nil)
	}
	return respond(http.StatusOK, h.data)
}
