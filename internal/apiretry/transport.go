// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	// tryTimeout is how long one request may go without an answer. API servers end
	// requests after a minute.
	tryTimeout = 75 * time.Second
	// probeTimeout is how long an API server may take to report that it is ready.
	probeTimeout = 5 * time.Second
	// maxStatus is how much of an error's body is read to classify it, in bytes.
	maxStatus = 64 << 10
)

// errSilent is the error of a request without an answer.
var errSilent = errors.New("no answer within " + tryTimeout.String())

// Transport returns a transport that repeats requests through next. Watches, upgrades of the
// connection and requests whose body cannot be read again are sent once.
func (r *Retrier) Transport(next http.RoundTripper) http.RoundTripper {
	if r == nil {
		return next
	}
	return &transport{retrier: r, next: next}
}

type transport struct {
	retrier *Retrier
	next    http.RoundTripper
}

// WrappedRoundTripper lets client-go find the innermost transport.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.retrier.refusal(); err != nil {
		return nil, err
	}
	if streams(req) || t.retrier.passive() || !sendable(req) {
		return t.next.RoundTrip(req)
	}
	q := t.retrier.start()
	q.serverReady = func() bool { return t.ready(req) }
	q.unavailable = func() *UnavailableError { return t.unavailable(req) }
	defer q.end()
	// unsure is true once a request may have been carried out although it failed.
	unsure := false
	for try := req; ; {
		resp, err := t.send(try)
		answer := responseAnswer(resp, err)
		if req.Context().Err() != nil {
			return resp, err
		}
		if unsure && creates(req) && answer.Reason == metav1.StatusReasonAlreadyExists {
			if earlier, err := t.earlierCreation(req); earlier != nil || err != nil {
				return earlier, err
			}
		}
		if !repeatable(req, answer) {
			return dropRetryAfter(resp), err
		}
		unsure = unsure || answer.Code != http.StatusTooManyRequests
		again, outage := q.again(req.Context(), answer)
		switch {
		case outage != nil:
			return nil, outage
		case !again:
			return resp, err
		}
		if try, err = copyRequest(req); err != nil {
			return nil, err
		}
	}
}

// streams reports whether the answer to a request is a stream or another protocol.
func streams(req *http.Request) bool {
	query := req.URL.Query()
	return query.Get("watch") == "true" || query.Get("watch") == "1" || query.Get("follow") == "true" || req.Header.Get("Upgrade") != ""
}

// creates reports whether a request creates an object.
func creates(req *http.Request) bool {
	if req.Method != http.MethodPost || len(req.URL.Query()["dryRun"]) > 0 {
		return false
	}
	path := strings.TrimSuffix(req.URL.Path, "/")
	return !strings.HasSuffix(path, "reviews") && !strings.HasSuffix(path, "/token")
}

// repeatable reports whether a request can be sent again unchanged after an answer. A created
// object with a generated name cannot be recognized. A request with a resourceVersion must be
// rebuilt after a concurrent write.
func repeatable(req *http.Request, a Answer) bool {
	switch class := Classify(a); {
	case class == Conflict && req.Method == http.MethodPatch:
		sent, err := sentObject(req)
		return req.Header.Get("Content-Type") != string(types.JSONPatchType) && (err != nil || sent.Metadata.ResourceVersion == "")
	case class == Conflict && req.Method == http.MethodPut:
		sent, err := sentObject(req)
		return err == nil && sent.Metadata.ResourceVersion == ""
	case class == Transient && creates(req) && a.Code != http.StatusTooManyRequests:
		sent, err := sentObject(req)
		return err == nil && sent.Metadata.Name != ""
	}
	return true
}

// ready reports whether the API server of a request is ready, which includes its storage. If it
// is, an error that the request always gets is about that request.
func (t *transport) ready(req *http.Request) bool {
	prefix, _, found := strings.Cut(req.URL.Path, "/api")
	return found && t.probe(req, prefix+"/readyz") == http.StatusOK
}

// unavailable returns the API of a request if the API server answers requests for its discovery
// with 503 too: another server serves the API, and cannot be reached. Otherwise it returns nil.
func (t *transport) unavailable(req *http.Request) *UnavailableError {
	prefix, path, found := strings.Cut(req.URL.Path, "/apis/")
	parts := strings.Split(path, "/")
	if !found || len(parts) < 2 {
		return nil
	}
	api := parts[0] + "/" + parts[1]
	code := t.probe(req, prefix+"/apis/"+api)
	if code != http.StatusServiceUnavailable {
		return nil
	}
	return &UnavailableError{API: api, Why: Answer{Code: int32(code)}.Cause()}
}

// probe sends a GET request to the server of another request, once, and returns the status code of
// the answer; 0 without an answer.
func (t *transport) probe(req *http.Request, path string) int {
	ctx, cancel := context.WithTimeout(req.Context(), probeTimeout)
	defer cancel()
	at := *req.URL
	at.Path, at.RawPath, at.RawQuery = path, "", ""
	probe, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return 0
	}
	probe.Header = req.Header.Clone()
	probe.Header.Del("Content-Type")
	resp, err := t.send(probe)
	if err != nil {
		return 0
	}
	return resp.StatusCode
}

// dropRetryAfter removes Retry-After, on which client-go would repeat the request itself.
func dropRetryAfter(resp *http.Response) *http.Response {
	if resp != nil {
		resp.Header.Del("Retry-After")
	}
	return resp
}

// copyRequest returns a copy of a request with its body from the start.
func copyRequest(req *http.Request) (*http.Request, error) {
	again := req.Clone(req.Context())
	if req.GetBody == nil {
		return again, nil
	}
	body, err := req.GetBody()
	again.Body = body
	return again, err
}

// send sends a request and reads the answer to its end. An incomplete answer is an error.
func (t *transport) send(req *http.Request) (*http.Response, error) {
	if err := t.retrier.refusal(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	timer := time.AfterFunc(tryTimeout, func() { cancel(errSilent) })
	defer timer.Stop()
	if t.retrier.options.Remote {
		ctx = Paced(ctx)
		defer t.retrier.ReleaseSlotAfter(patience)()
	} else {
		ctx = unpaced(ctx)
		defer t.retrier.ReleaseSlotAfter(ownPatience)()
	}
	defer context.AfterFunc(t.retrier.inFlight, func() { cancel(ErrStopped) })()
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	if err == nil {
		resp.Body, err = read(resp)
	}
	if err != nil {
		if errors.Is(context.Cause(ctx), errSilent) {
			err = errSilent
		}
		return nil, err
	}
	return resp, nil
}

// read reads the body of an answer into memory.
func read(resp *http.Response) (io.ReadCloser, error) {
	defer resp.Body.Close() //nolint:errcheck // the body is complete
	var body bytes.Buffer
	if n := resp.ContentLength; n > 0 && n < 1<<20 {
		body.Grow(int(n) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(resp.Body); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return io.NopCloser(&body), nil
}

// responseAnswer returns the Answer of a response, whose body can still be read.
func responseAnswer(resp *http.Response, err error) Answer {
	if err != nil {
		return Answer{Err: &lostError{err}}
	}
	if resp.StatusCode < http.StatusBadRequest {
		return Answer{Code: int32(resp.StatusCode)}
	}
	head, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	resp.Body = &rest{Reader: io.MultiReader(bytes.NewReader(head), resp.Body), Closer: resp.Body}
	a := Answer{}
	if status, ok := decodeStatus(resp.Header.Get("Content-Type"), head); ok {
		a = answerOf(status)
	}
	a.Code = int32(resp.StatusCode)
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		a.RetryAfter = time.Duration(seconds) * time.Second
	}
	return a
}

// decodeStatus returns the Status in the body of an error of an API server.
func decodeStatus(contentType string, body []byte) (metav1.Status, bool) {
	var status metav1.Status
	kind, _, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
		return status, false
	case kind == runtime.ContentTypeJSON:
		return status, json.Unmarshal(body, &status) == nil
	case kind != runtime.ContentTypeProtobuf:
		return status, false
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, &status)
	found, ok := object.(*metav1.Status)
	return status, err == nil && ok && found == &status
}

// rest is the body of an answer whose head was read.
type rest struct {
	io.Reader
	io.Closer
}

// sendable reports whether the body of a request can be sent again.
func sendable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}
