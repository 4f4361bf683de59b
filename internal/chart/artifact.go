// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/pintle-dev/pintle/internal/render/remote"
)

// ErrNotFound means that the artifact server does not have the artifact. Usually the source has a
// newer artifact.
var ErrNotFound = errors.New("artifact not found")

// Artifact names a packaged chart, or an archive of files.
type Artifact struct {
	URL string
	// Digest is "<algorithm>:<hex>" of the bytes at URL; required.
	Digest string
	// Tenant is the namespace that the artifact is read for. It identifies no artifact.
	Tenant string
	// Origin is what messages name in place of URL, without credentials, and whose host limits
	// downloads. With an Origin, the artifact is cached for its URL only: a tenant may have written
	// the digest, and must not get the bytes of another artifact by it.
	Origin string

	// files is true for an archive of files, which is not read as a chart.
	files bool
	// result is the result of a download; nil if there was none.
	result *result
}

// Equal reports whether two artifacts have the same URL and digest.
func (a Artifact) Equal(b Artifact) bool { return a.URL == b.URL && a.Digest == b.Digest }

// Fetched reports whether the artifact has its bytes, so that Load needs no download.
func (a Artifact) Fetched() bool { return a.result != nil && a.result.err == nil }

// key identifies a download. It contains the URL since a server may have bytes that another server
// has lost.
func (a Artifact) key() string {
	key := a.Digest + " " + a.URL
	if a.files {
		return key + " files"
	}
	return key
}

// cacheKey identifies the facts and the archive in the cache. Files are cached for their URL: the digest
// of an ExternalArtifact may be written by a tenant, who must not get values of others by it.
func (a Artifact) cacheKey() string {
	if a.Origin != "" || a.files {
		return a.Digest + " " + a.URL
	}
	return a.Digest
}

// shown returns the URL in messages, also in messages of the libraries.
func (a Artifact) shown() string { return redactURL(cmp.Or(a.Origin, a.URL)) }

// Identity holds the fields of Chart.yaml that identify a chart.
type Identity struct {
	Name       string
	Version    string
	AppVersion string
	// Content is a digest of the chart's files.
	Content string
}

// result is the result of a download. It does not change.
type result struct {
	archive []byte
	// facts describe the archive; nil if they were cached.
	facts *remote.Facts
	err   error
}

// Unreadable returns the error of reading the archive with the URL of the artifact.
func (a Artifact) Unreadable(err error) error {
	var bad *remote.Unloadable
	if errors.As(err, &bad) {
		return &Unloadable{URL: a.shown(), Err: bad, files: a.files}
	}
	if none, ok := errors.AsType[*remote.Unavailable](err); ok {
		return &Unread{URL: a.shown(), Err: none}
	}
	if a.files {
		return fmt.Errorf("artifact %s cannot be read: %w", a.shown(), err)
	}
	return fmt.Errorf("chart in %s cannot be read: %w", a.shown(), err)
}

// Unloadable is the error of an artifact that is no chart, or is rejected.
type Unloadable struct {
	// URL of the artifact, without credentials.
	URL string
	Err *remote.Unloadable
	// files is true for an archive of files.
	files bool
}

// Error implements error.
func (u *Unloadable) Error() string {
	if u.files {
		return fmt.Sprintf("artifact %s %s", u.URL, u.Err.Text)
	}
	return fmt.Sprintf("chart in %s %s", u.URL, u.Err.Text)
}

// Unwrap returns the error of the archive.
func (u *Unloadable) Unwrap() error { return u.Err }

// Unread is the error of an artifact that was downloaded, and there is no worker that reads it. It is
// a fault neither of the artifact nor of its server.
type Unread struct {
	// URL of the artifact, without credentials.
	URL string
	Err *remote.Unavailable
}

// Error implements error.
func (u *Unread) Error() string {
	return "chart in " + u.URL + " has not been read: " + u.Err.Err.Error()
}

// Unwrap returns the error of the worker.
func (u *Unread) Unwrap() error { return u.Err }

// get downloads and verifies the artifact.
func (a Artifact) get(ctx context.Context, c *http.Client, maxBytes int64) ([]byte, error) {
	shown := a.shown()
	want, err := digest.Parse(a.Digest)
	if err != nil {
		return nil, fmt.Errorf("artifact %s has no usable digest %q: %w", shown, a.Digest, err)
	}
	req, err := newRequest(ctx, a.URL)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		if failed, is := errors.AsType[*url.Error](err); is && a.Origin != "" && !failed.Timeout() {
			// The error names the server.
			return nil, failed.Err
		}
		return nil, RequestError(shown, c, err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusOK:
	case resp.StatusCode == http.StatusNotFound && a.Origin == "":
		return nil, fmt.Errorf("%w: %s", ErrNotFound, shown)
	default:
		return nil, StatusError(shown, resp)
	}
	archive, err := io.ReadAll(io.LimitReader(resp.Body, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("artifact %s was not received completely: %w", shown, err)
	}
	if int64(len(archive)) > maxBytes {
		return nil, fmt.Errorf("artifact %s is larger than the limit of %d bytes", shown, maxBytes)
	}
	switch got := want.Algorithm().FromBytes(archive); {
	case got != want && a.Origin != "":
		return nil, fmt.Errorf("%s no longer has the archive with digest %s: its archive has digest %s", shown, want, got)
	case got != want:
		return nil, fmt.Errorf("artifact %s has digest %s, but its source reports %s", shown, got, want)
	}
	return archive, nil
}

// StatusError returns the error for the status of a response. The status text of the server may be a
// megabyte.
func StatusError(shown string, resp *http.Response) error {
	return fmt.Errorf("artifact cannot be downloaded: GET %s answered %d %s", shown, resp.StatusCode, http.StatusText(resp.StatusCode))
}

// RequestError returns an error of http.Client without the secrets of URLs.
func RequestError(shown string, c *http.Client, err error) error {
	var failed *url.Error
	switch {
	case !errors.As(err, &failed):
		return fmt.Errorf("artifact cannot be downloaded: %w", err)
	case failed.Timeout():
		// The texts of the client differ almost each time, and each would be a new event.
		return fmt.Errorf("artifact cannot be downloaded: GET %s was not answered within %s", shown, c.Timeout)
	case strings.HasPrefix(failed.Err.Error(), "failed to parse Location"):
		// The text quotes the invalid URL.
		return fmt.Errorf("artifact cannot be downloaded: GET %s redirects to an invalid URL", shown)
	}
	return fmt.Errorf("artifact cannot be downloaded: GET %s: %w", redactURL(failed.URL), failed.Err)
}

// newRequest returns a GET request. URLs of other schemes than http and https are errors.
func newRequest(ctx context.Context, raw string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, raw, nil)
	if err != nil {
		// The error quotes the URL.
		return nil, fmt.Errorf("artifact URL %q cannot be read", redactURL(raw))
	}
	if !isHTTP(req.URL) {
		return nil, fmt.Errorf("artifact %s cannot be downloaded: %w", redactURL(raw), errScheme)
	}
	return req, nil
}

var errScheme = errors.New("only http and https URLs are supported")

func isHTTP(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// CheckRedirect implements CheckRedirect of http.Client. It rejects redirects to other schemes than
// http and https, from https to http, and more than a few redirects.
func CheckRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case !isHTTP(req.URL):
		return fmt.Errorf("the server redirects to %s: %w", redactURL(req.URL.String()), errScheme)
	case len(via) > 0 && via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https":
		return fmt.Errorf("the server redirects from https to %s", redactURL(req.URL.String()))
	case len(via) > maxRedirects:
		return fmt.Errorf("the server redirects more than %d times", maxRedirects)
	}
	return nil
}

// hostOf returns the "host:port" of a URL, empty if it is invalid.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// redactURL returns a URL without user, password and query. The user may be a token, and the query
// of a signed URL is secret.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		raw, _, _ = strings.Cut(raw, "?")
		if i := strings.LastIndex(raw, "@"); i >= 0 {
			raw = "***" + raw[i:]
		}
		return raw
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
