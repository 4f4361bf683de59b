// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	hunter = "hunter2"
	server = "https://api.example.com:6443"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// send sends a request to a server that answers it, and returns the body of the answer.
func send(t *testing.T, address string, code int, kind, body string) (*http.Response, string, error) {
	t.Helper()
	wrap, err := Transport(server + "/path")
	if err != nil {
		t.Fatal(err)
	}
	next := roundTripper(func(*http.Request) (*http.Response, error) {
		header := http.Header{"Content-Type": {kind}, "Retry-After": {"7"}}
		// The body arrives byte by byte.
		return &http.Response{StatusCode: code, Status: hunter, Header: header, Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(body)))}, nil
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := wrap(next).RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close() //nolint:errcheck // it cannot fail
	got, err := io.ReadAll(resp.Body)
	return resp, string(got), err
}

func protobufStatus(t *testing.T) string {
	t.Helper()
	status := metav1.Status{Status: metav1.StatusFailure, Message: "no", Code: 403}
	raw, err := status.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	object := runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: "Status", APIVersion: "v1"}, Raw: raw}
	if raw, err = object.Marshal(); err != nil {
		t.Fatal(err)
	}
	return protobufPrefix + string(raw)
}

// TestErrorAnswers: of error answers only the Status of an API server is shown, in lines of one
// text each. All others are described.
func TestErrorAnswers(t *testing.T) {
	t.Parallel()
	const asJSON = "application/json"
	const described = "403 Forbidden with application/json, which is no Status of Kubernetes"
	status := func(rest string) string { return `{"kind":"Status","apiVersion":"v1"` + rest + `}` }
	for name, tc := range map[string]struct{ reason, kind, body, want string }{
		"Status":     {"a Status is shown", asJSON, status(`,"metadata":{},"status":"Failure","message":"no","reason":"Forbidden","details":{"name":"a"},"code":403`), `"message":"no"`},
		"Charset":    {"parameters of the media type do not matter", asJSON + "; charset=utf-8", status(`,"message":"no"`), `"message":"no"`},
		"Protobuf":   {"so is one in Protobuf", runtime.ContentTypeProtobuf, protobufStatus(t), `"message":"no"`},
		"Lines":      {"lines are joined, and stay as they are", asJSON, status(`,"message":"two:\n  one  of\r\n\n  two\n","details":{"causes":[{"message":"a\nb","field":"c\nd"}]}`), `"message":"two: one  of; two","details":{"causes":[{"message":"a; b","field":"c; d"}]}`},
		"Kind":       {"another kind is not shown", asJSON, `{"kind":"Secret","apiVersion":"v1","message":"hunter2"}`, described},
		"NoKind":     {"nor no kind", asJSON, `{"message":"hunter2"}`, described},
		"Group":      {"nor a Status of another group", asJSON, `{"kind":"Status","apiVersion":"example.com/v1","message":"hunter2"}`, described},
		"Field":      {"nor with an unknown field", asJSON, status(`,"message":"hunter2","token":"hunter2"`), described},
		"More":       {"nor with more after it", asJSON, status(`,"message":"hunter2"`) + " hunter2", described},
		"Wrong":      {"nor with a field of another type", asJSON, status(`,"message":["hunter2"]`), described},
		"NoJSON":     {"nor other texts", asJSON, "hunter2", described},
		"HTML":       {"nor pages", "text/html", "<p>hunter2", "403 Forbidden with text/html, which is no Status of Kubernetes"},
		"JSONinHTML": {"whatever they contain", "text/html", status(`,"message":"hunter2"`), "403 Forbidden with text/html, which is no Status of Kubernetes"},
		"NoType":     {"no type is shown that is none", "hunter2 hunter2", "hunter2", "403 Forbidden with no known media type"},
		"LongType":   {"nor a long one", "hunter2/" + strings.Repeat("hunter2", 10), "hunter2", "403 Forbidden with no known media type"},
		"NoProto":    {"nor invalid Protobuf", runtime.ContentTypeProtobuf, protobufPrefix + hunter, "403 Forbidden with application/vnd.kubernetes.protobuf, which is no Status"},
		"LongCause":  {"a long cause is left out", asJSON, status(`,"details":{"causes":[{"message":"hunter2` + strings.Repeat(" ", maxMessage) + `"}]}`), "403 Forbidden with application/json, whose message is too long"},
		"Long":       {"a long message is left out", asJSON, status(`,"message":"hunter2` + strings.Repeat(" ", maxMessage) + `"`), "403 Forbidden with application/json, whose message is too long"},
		"Longest":    {"a longer body is not decoded", asJSON, strings.Repeat(" ", maxStatus) + status(`,"message":"hunter2"`), described},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, got, err := send(t, server+"/path/api/v1/secrets", http.StatusForbidden, tc.kind, tc.body)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got, tc.want) || strings.Contains(got+resp.Status+resp.Header.Get("Content-Type"), hunter) {
				t.Errorf("%s: %q", tc.reason, got)
			}
			if strings.HasPrefix(got, "{") != json.Valid([]byte(got)) || strings.HasPrefix(got, "{") != (resp.Header.Get("Content-Type") == asJSON) {
				t.Errorf("%s: %q is %s", tc.reason, got, resp.Header.Get("Content-Type"))
			}
			if resp.ContentLength != int64(len(got)) || resp.Header.Get("Retry-After") != "7" {
				t.Errorf("length %d of %d, %v", resp.ContentLength, len(got), resp.Header)
			}
		})
	}
}

// TestAnswers: a successful answer is an object of Kubernetes, or an error without its text.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const object = `{"kind":"Pod","apiVersion":"v1"}`
	for name, tc := range map[string]struct {
		reason, path, body string
		foreign            bool
	}{
		"Object":     {reason: "an object passes", path: "/api/v1/pods", body: object},
		"Order":      {reason: "in any order", path: "/api/v1/pods", body: ` { "items" : [{"a\"]}":[{}]}], "apiVersion" : "v1", "n": 1, "kind" : "PodList" } `},
		"Protobuf":   {reason: "also in Protobuf", path: "/api/v1/pods", body: protobufPrefix + "x"},
		"NoKind":     {reason: "other JSON is quoted by decoders", path: "/api/v1/pods", body: `{"token":"hunter2"}`, foreign: true},
		"NoVersion":  {reason: "as is JSON without a version", path: "/api/v1/pods", body: `{"kind":"hunter2"}`, foreign: true},
		"Nested":     {reason: "keys of nested objects do not count", path: "/api/v1/pods", body: `{"a":{"kind":"x","apiVersion":"v1"},"b":"hunter2"}`, foreign: true},
		"Values":     {reason: "nor do values", path: "/api/v1/pods", body: `{"a":"kind","b":"apiVersion","c":"x"}`, foreign: true},
		"Lists":      {reason: "nor do lists", path: "/api/v1/pods", body: `["kind","x","apiVersion","v1"]`, foreign: true},
		"Structs":    {reason: "kind is a text", path: "/api/v1/pods", body: `{"kind":{"a":"b"},"apiVersion":"v1"}`, foreign: true},
		"EmptyTexts": {reason: "which is not empty", path: "/api/v1/pods", body: `{"kind":"","apiVersion":""}`, foreign: true},
		"Quoted":     {reason: "a quoted quote ends no text", path: "/api/v1/pods", body: `{"a":"\\\",\"kind\":\"x\",\"apiVersion\":\"v1\""}`, foreign: true},
		"HTML":       {reason: "pages are no objects", path: "/api/v1/pods", body: "<p>hunter2", foreign: true},
		"Empty":      {reason: "nor is nothing", path: "/api/v1/pods", foreign: true},
		"Long":       {reason: "a long key is none of ours", path: "/api/v1/pods", body: `{"kindapiVersionkind":"x","apiVersion":"v1"}`, foreign: true},
		"Version":    {reason: "the version is no object", path: "/version", body: `{"major":"1"}`},
		"Groups":     {reason: "lists of the core group have no version", path: "/path/api", body: `{"kind":"APIVersions"}`},
		"OpenAPI":    {reason: "documents of OpenAPI are none", path: "/openapi/v3/api/v1/x/y", body: `{}`},
		"Logs":       {reason: "logs are none", path: "/api/v1/namespaces/a/pods/b/log", body: "x"},
		"Watch":      {reason: "watches have their own decoder", path: "/api/v1/pods?watch=true", body: `{"type":"ADDED"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, got, err := send(t, server+tc.path, http.StatusOK, "application/json", tc.body)
			if foreign := new(ForeignError); errors.As(err, &foreign) != tc.foreign {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if !tc.foreign && got != tc.body {
				t.Errorf("%s: %q", tc.reason, got)
			}
			if err != nil && (strings.Contains(err.Error(), hunter) || !strings.Contains(err.Error(), "the server at api.example.com:6443 is no API server: it answers 200 OK with application/json")) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestOtherHosts: requests are sent to the host of the kubeconfig only.
func TestOtherHosts(t *testing.T) {
	t.Parallel()
	for address, sent := range map[string]bool{
		server + "/api":                      true,
		"https://API.example.com:6443/other": true,
		"http://api.example.com:6443/api":    false,
		"https://api.example.com/api":        false,
		"https://other.example.com:6443/api": false,
	} {
		_, _, err := send(t, address, http.StatusOK, "application/json", "{}")
		if stray := new(StrayError); errors.As(err, &stray) == sent {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestWithoutQuotes: errors about answers that are no HTTP do not quote them, and stay the same
// errors. Errors about the connection stay as they are.
func TestWithoutQuotes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ answer, want string }{
		"Banner":  {"SSH-2.0-" + hunter + "\r\n", "malformed HTTP response (not shown)"},
		"Quotes":  {`"b" \" ` + hunter + "\r\n", "(not shown)"},
		"Code":    {"HTTP/1.1 " + hunter + " OK\r\n\r\n", "malformed HTTP status code (not shown)"},
		"Header":  {"HTTP/1.1 200 OK\r\n" + hunter + "\r\n\r\n", "the answer has an invalid header"},
		"Nothing": {"", "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = listener.Close() })
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = http.ReadRequest(bufio.NewReader(conn))
					_, _ = conn.Write([]byte(tc.answer))
					_ = conn.Close()
				}
			}()
			err = get(t, &http.Transport{}, "http://"+listener.Addr().String())
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), hunter) {
				t.Errorf("got %v", err)
			}
		})
	}
	err := get(t, &http.Transport{}, "http://127.0.0.1:1")
	if operation := new(net.OpError); !errors.As(err, &operation) {
		t.Errorf("refused: %v", err)
	}
}

// TestProxyAnswer: the reason phrase of a proxy is not shown.
func TestProxyAnswer(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte("HTTP/1.1 407 " + hunter + "\r\n\r\n"))
		_ = conn.Close()
	}))
	t.Cleanup(proxy.Close)
	transport := &http.Transport{OnProxyConnectResponse: ProxyAnswer}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, proxy.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	transport.Proxy = http.ProxyURL(req.URL)
	err = get(t, transport, "https://api.example.com")
	if err == nil || !strings.Contains(err.Error(), "the proxy answers 407 Proxy Authentication Required") || strings.Contains(err.Error(), hunter) {
		t.Errorf("got %v", err)
	}
}

// get sends a request through WithoutQuotes.
func get(t *testing.T, transport *http.Transport, address string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := WithoutQuotes(transport).RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	return err
}
