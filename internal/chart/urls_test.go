// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

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
			_, err := NewStore(Options{Workers: workers(), Client: client, MaxBytes: megabyte}).Load(t.Context(), a)
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

// TestOrigin: an artifact with an origin is named by it, shares no bytes with other URLs even if it has
// their digest, and says if its server has other bytes now.
func TestOrigin(t *testing.T) {
	t.Parallel()
	private, own := pack(t, "private", "1.0.0"), pack(t, "own", "1.0.0")
	first, _ := artifactServer(t, private)
	second, _ := artifactServer(t, own)
	s := NewStore(Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: megabyte, Grace: time.Minute})
	if _, _, err := s.Identify(t.Context(), first, "a"); err != nil {
		t.Fatal(err)
	}
	claimed := Artifact{URL: second.URL, Digest: first.Digest, Origin: "https://charts.example/own.tgz?s3cr3t"}
	want := "https://charts.example/own.tgz no longer has the archive with digest " + first.Digest + ": its archive has digest " + second.Digest
	if id, _, err := s.Identify(t.Context(), claimed, "b"); err == nil || err.Error() != want {
		t.Errorf("got %+v, %v", id, err)
	}
	if _, err := s.Load(t.Context(), claimed); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	claimed.Digest = second.Digest
	if id, _, err := s.Identify(t.Context(), claimed, "c"); err != nil || id.Name != "own" {
		t.Errorf("got %+v, %v", id, err)
	}
	gone := hops{}
	s = NewStore(Options{Workers: workers(), Client: &http.Client{Transport: gone}, MaxBytes: megabyte, Grace: time.Minute})
	claimed.URL = "http://charts/absent"
	if _, err := s.Load(t.Context(), claimed); err == nil || err.Error() != "artifact cannot be downloaded: GET https://charts.example/own.tgz answered 404 Not Found" {
		t.Errorf("got %v", err)
	}
}
