// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// world is an API server that counts requests, a proxy before it, and a client.
type world struct {
	*testing.T
	*Proxy
	client *http.Client
	// carriedOut counts the requests that reached the server.
	carriedOut atomic.Int32
	// ended receives the faults that were injected.
	ended chan Fault
	// headers are those of the last request.
	headers http.Header
	mu      sync.Mutex
}

// start returns a world in which all requests have one fault.
func start(t *testing.T, fault Fault) *world {
	t.Helper()
	w := &world{T: t, ended: make(chan Fault, 100)}
	server := httptest.NewUnstartedServer(w)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	p, err := Start(Options{
		Server: server.URL, CA: ca, Slow: 50 * time.Millisecond, Silent: 50 * time.Millisecond,
		Decide: func(Request) Fault { return fault },
		Done:   func(_ Request, f Fault) { w.ended <- f },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	w.Proxy = p
	w.client = w.connect(true)
	return w
}

func (w *world) connect(http2 bool) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.CA)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: http2}
	if !http2 {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	w.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// ServeHTTP is the API server. It answers a watch with one event a millisecond.
func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.carriedOut.Add(1)
	w.mu.Lock()
	w.headers = r.Header.Clone()
	w.mu.Unlock()
	if r.URL.Query().Get("watch") != "true" {
		_, _ = fmt.Fprintf(out, "%s %s %s", r.Proto, r.Method, body)
		return
	}
	for i := 0; r.Context().Err() == nil; i++ {
		_, _ = fmt.Fprintln(out, "event", i)
		_ = http.NewResponseController(out).Flush()
		time.Sleep(time.Millisecond)
	}
}

const (
	secrets = "/api/v1/namespaces/prod/secrets"
	object  = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"app"}}`
)

func (w *world) post() (*http.Response, string, error) {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.URL+secrets, strings.NewReader(object))
	if err != nil {
		w.Fatal(err)
	}
	// An outage closes idle connections. A client that has not noticed it yet writes into one.
	request.Close = true
	request.Header.Set("Authorization", "Bearer token")
	request.Header.Add("Impersonate-Group", "a")
	request.Header.Add("Impersonate-Group", "b")
	response, err := w.client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

func TestPassesOn(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		w := start(t, None)
		w.client = w.connect(http2)
		response, body, err := w.post()
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{false: 1, true: 2}[http2]; response.ProtoMajor != want {
			t.Errorf("HTTP/%d to the client, want %d", response.ProtoMajor, want)
		}
		if want := "HTTP/2.0 POST " + object; body != want {
			t.Errorf("body %q, want %q", body, want)
		}
		if got := w.headers.Get("Authorization"); got != "Bearer token" {
			t.Errorf("Authorization is %q", got)
		}
		if got := w.headers.Values("Impersonate-Group"); len(got) != 2 || got[0] != "a" || got[1] != "b" {
			t.Errorf("Impersonate-Group is %q", got)
		}
		if len(w.ended) != 0 {
			t.Error("a request without a fault is reported")
		}
	}
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		fault Fault
		// code is 0 if there is no answer, and reason is that of its Status, if it is one.
		code       int
		reason     metav1.StatusReason
		retryAfter string
		carriedOut int32
	}{
		{fault: TooMany, code: 429, reason: metav1.StatusReasonTooManyRequests},
		{fault: TooManyRetryAfter, code: 429, reason: metav1.StatusReasonTooManyRequests, retryAfter: "1"},
		{fault: Internal, code: 500, reason: metav1.StatusReasonInternalError},
		{fault: BadGateway, code: 502},
		{fault: Unavailable, code: 503, reason: metav1.StatusReasonServiceUnavailable},
		{fault: GatewayTimeout, code: 504},
		{fault: Conflict, code: 409, reason: metav1.StatusReasonConflict},
		{fault: Reset},
		{fault: Lost, carriedOut: 1},
		{fault: InternalDone, code: 500, reason: metav1.StatusReasonInternalError, carriedOut: 1},
		{fault: Slow, code: 200, carriedOut: 1},
		{fault: Silent},
	} {
		t.Run(string(tc.fault), func(t *testing.T) {
			w := start(t, tc.fault)
			began := time.Now()
			response, body, err := w.post()
			if (err != nil) != (tc.code == 0) {
				t.Fatalf("error %v", err)
			}
			if got := w.carriedOut.Load(); got != tc.carriedOut {
				t.Errorf("carried out %d times, want %d", got, tc.carriedOut)
			}
			if got := <-w.ended; got != tc.fault {
				t.Errorf("%q is reported to have ended", got)
			}
			if (tc.fault == Slow || tc.fault == Silent) && time.Since(began) < 50*time.Millisecond {
				t.Error("it took no time")
			}
			if tc.code == 0 {
				return
			}
			if response.StatusCode != tc.code || response.Header.Get("Retry-After") != tc.retryAfter {
				t.Errorf("answer %d, Retry-After %q", response.StatusCode, response.Header.Get("Retry-After"))
			}
			status := &metav1.Status{}
			err = json.Unmarshal([]byte(body), status)
			if tc.reason != "" && (err != nil || status.Kind != "Status" || status.Reason != tc.reason || int(status.Code) != tc.code) {
				t.Errorf("answer %s, want a Status with reason %s", body, tc.reason)
			}
		})
	}
}

func TestAllFaultsAreTested(t *testing.T) {
	if n := len(Faults()); n != 12 {
		t.Errorf("%d faults: TestFaults has 12", n)
	}
}

// watch begins a watch and returns its lines.
func (w *world) watch() *bufio.Scanner {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.URL+secrets+"?watch=true", nil)
	if err != nil {
		w.Fatal(err)
	}
	response, err := w.client.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = response.Body.Close() })
	return bufio.NewScanner(response.Body)
}

func TestWatches(t *testing.T) {
	w := start(t, None)
	events := w.watch()
	for i := range 3 {
		if !events.Scan() || events.Text() != fmt.Sprint("event ", i) {
			t.Fatalf("event %q, error %v: events are not passed on at once", events.Text(), events.Err())
		}
	}
	if n := w.CutWatches(); n != 1 {
		t.Errorf("%d watches were cut", n)
	}
	for events.Scan() {
		// Lines in transit.
	}
	if events.Err() == nil {
		t.Error("the watch ended well, and not by a broken stream")
	}
	if n := w.CutWatches(); n != 0 {
		t.Errorf("%d watches were cut that had ended", n)
	}
	if _, _, err := w.post(); err != nil {
		t.Errorf("after that: %v", err)
	}
}

func TestLostWatchEnds(t *testing.T) {
	w := start(t, Lost)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL+secrets+"?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := w.client.Do(request); err == nil {
		_ = response.Body.Close()
		t.Error("it was answered")
	}
}

func TestOutage(t *testing.T) {
	w := start(t, None)
	events := w.watch()
	events.Scan()
	outage, end := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- w.Outage(outage, time.Hour) }()
	for events.Scan() {
		// Lines in transit.
	}
	if events.Err() == nil {
		t.Error("the watch ended well")
	}
	if _, _, err := w.post(); err == nil {
		t.Error("a new connection is not refused")
	}
	end()
	if err := <-over; err == nil {
		t.Error("no error after the end of its context")
	}
	if _, _, err := w.post(); err != nil {
		t.Errorf("after the outage: %v", err)
	}
	if err := w.Outage(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.post(); err != nil {
		t.Errorf("after the second outage: %v", err)
	}
}

func TestStartRejects(t *testing.T) {
	for name, o := range map[string]Options{
		"no certificate": {Server: "https://127.0.0.1:1", CA: []byte("x")},
		"no URL":         {Server: "https://127.0.0.1:x"},
	} {
		if p, err := Start(o); err == nil {
			_ = p.Close()
			t.Errorf("%s: no error", name)
		}
	}
}
