// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/client-go/rest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/worker"
)

// TestMain limits the time of the fuzzer for making an input smaller, which is a minute by default. The
// executable has the packages of Helm and Kubernetes, and goroutines of theirs change its coverage at
// any time. So the fuzzer spends all of that minute on nearly each input.
func TestMain(m *testing.M) {
	flag.Parse()
	if limit := flag.Lookup("test.fuzzminimizetime"); limit.Value.String() == limit.DefValue {
		if err := limit.Value.Set("10x"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// rendering returns an input with a value in each field that is sent.
func rendering() Rendering {
	return Rendering{
		Chart: Chart{
			Name: "web", Version: "1.2.0", Digest: "sha256:a", Archive: []byte(strings.Repeat("archive", 10_000)),
			Values: map[string]any{"n": int64(3), "f": 3.0}, Defaults: map[string]any{}, PostRender: PostRender{
				Strategy: "combined", Metadata: &helmv2.CommonMetadata{Labels: map[string]string{"a": "b"}},
				Renderers: []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{
					Patches: []helmv2.Patch{{Patch: "a: b", Target: &helmv2.Selector{Kind: "Pod"}}}, Images: []helmv2.Image{{Name: "app", NewTag: "2"}},
				}}},
			},
		},
		Hooks: true, Release: "app", Namespace: "prod", Revision: 7, Timeout: time.Minute, APIs: []string{"a/v1"},
		Capabilities: &chartutil.Capabilities{KubeVersion: chartutil.KubeVersion{Version: "v1.34.0", Major: "1", Minor: "34"}, APIVersions: []string{"v1", "apps/v1"}},
	}
}

// TestRequests: a request arrives as it was sent.
func TestRequests(t *testing.T) {
	t.Parallel()
	in := rendering()
	message, err := encodeRequest(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeRequest(message)
	if diff := cmp.Diff(&in, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestValues: templates print numbers of different types differently, and nil defaults are those of
// the archive.
func TestValues(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]map[string]any{
		"Nil": nil, "Empty": {},
		"Numbers": {"int64": int64(-3), "float": 3.0, "large": 1e300, "least": int64(math.MinInt64), "most": int64(math.MaxInt64)},
		"Others":  {"": nil, "t": true, "f": false, "s": "\xff text", "l": []any{int64(1), nil, []any{}}, "m": map[string]any{"m": map[string]any{}}},
	} {
		message, err := encodeRequest(Rendering{Chart: Chart{Values: values, Defaults: values}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := DecodeRequest(message)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff([]map[string]any{values, values}, []map[string]any{got.Values, got.Defaults}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var deep any
	for range 10_000 {
		deep = []any{deep}
	}
	message, err := encodeRequest(Rendering{Chart: Chart{Values: map[string]any{"deep": deep}}})
	if err == nil {
		_, err = DecodeRequest(message)
	}
	if err != nil {
		t.Errorf("values as deep as JSON may be: %v", err)
	}
}

func FuzzDecodeRequest(f *testing.F) {
	in := rendering()
	in.Archive = []byte("archive") // the fuzzer is slow with long inputs
	message, err := encodeRequest(in)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(message)
	f.Fuzz(func(t *testing.T, message []byte) {
		if r, err := DecodeRequest(message); err == nil && r == nil {
			t.Error("neither a request nor an error")
		}
	})
}

// encodeAny encodes a response that the functions of a worker may not return.
func encodeAny(r response) ([]byte, error) {
	if r.Rendered != nil {
		return encode(r, 0, r.Rendered.Chart)
	}
	return encode(r, 0, nil)
}

// FuzzDecodeResponse: the controller survives all bytes of a worker, and what it accepts is complete.
func FuzzDecodeResponse(f *testing.F) {
	for _, r := range []response{
		{Unloadable: "no\xff"},
		{Misfit: "no\xff"},
		{Facts: &Facts{Name: "web\xff"}},
		{CRDs: &CRDs{Files: []helmchart.CRD{{Name: "a", File: &helmchart.File{Name: "a"}}}}},
		{Rendered: &Rendered{Manifest: "a: \xff\n", Chart: []byte(`{"metadata":{"name":"web"}}`), Hooks: []*helmrelease.Hook{{Name: "h"}}}},
		{Facts: &Facts{}, Rendered: &Rendered{Hooks: []*helmrelease.Hook{nil}}},
		{CRDs: &CRDs{Files: []helmchart.CRD{{Name: "a"}}}},
	} {
		message, err := encodeAny(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		r, err := decodeResponse(message)
		if unloadable, ok := errors.AsType[*Unloadable](err); ok && !utf8.ValidString(unloadable.Text) {
			t.Errorf("%q is not UTF-8", unloadable.Text)
		}
		if err != nil {
			return
		}
		if r.Facts != nil && !utf8.ValidString(r.Facts.Name+r.Facts.Version+r.Facts.AppVersion) {
			t.Errorf("%+v is not UTF-8", *r.Facts)
		}
		if r.CRDs != nil && slices.ContainsFunc(r.CRDs.Files, func(f helmchart.CRD) bool { return f.File == nil }) {
			t.Error("a file has no content")
		}
		if r.Rendered != nil && slices.Contains(r.Rendered.Hooks, nil) {
			t.Error("a hook is missing")
		}
	})
}

// scripted is a worker that returns errors, and then responses, one after the other.
type scripted struct {
	responses [][]byte
	errs      []error
	calls     []worker.Call
}

func (s *scripted) Call(_ context.Context, c worker.Call, _ worker.Answer) ([]byte, error) {
	s.calls = append(s.calls, c)
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		return nil, err
	}
	next := s.responses[0]
	s.responses = s.responses[1:]
	return next, nil
}

func must(t *testing.T, message []byte, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return message
}

// TestRendered: a rendered chart arrives as it was sent, with the metadata of its chart.
func TestRendered(t *testing.T) {
	t.Parallel()
	want := Rendered{
		Manifest: "a: \xff\n", Notes: "notes", Chart: []byte(`{"metadata":{"name":"web","version":"1.2.0"},"lock":null}`),
		Metadata: &helmchart.Metadata{Name: "web", Version: "1.2.0"},
		Hooks:    []*helmrelease.Hook{{Name: "h", Kind: "Job", Path: "p", Manifest: "m: \xfe", Weight: 3, Events: []helmrelease.HookEvent{"test"}}},
	}
	message, err := EncodeRendered(&want)
	w := &scripted{responses: [][]byte{must(t, message, err)}}
	got, err := New(w).Render(t.Context(), rendering(), &rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(w.calls) != 1 || w.calls[0].Timeout != time.Minute || w.calls[0].Traced {
		t.Errorf("%d calls", len(w.calls))
	}
}

// TestUnusableResponses: a response that is not complete or exceeds a limit is an error.
func TestUnusableResponses(t *testing.T) {
	t.Parallel()
	encoded := func(r response) []byte {
		message, err := encodeAny(r)
		return must(t, message, err)
	}
	good := encoded(response{Rendered: &Rendered{}})
	for name, tc := range map[string]struct {
		message []byte
		want    string
	}{
		"Nothing":    {nil, "cannot be read"},
		"Another":    {encoded(response{Facts: &Facts{}}), "it has no rendered chart"},
		"Incomplete": {good[:len(good)-1], "cannot be read"},
		"Longer":     {append(bytes.Clone(good), 0), "cannot be read: the metadata of the chart"},
		"NoHook":     {encoded(response{Rendered: &Rendered{Hooks: []*helmrelease.Hook{nil}}}), "a hook is missing"},
		"NoChart":    {good, "it has no rendered chart"},
		"Null":       {encoded(response{Rendered: &Rendered{Chart: []byte(`{"metadata":null}`)}}), "it has no rendered chart"},
		"Several":    {encoded(response{Facts: &Facts{}, CRDs: &CRDs{}, Rendered: &Rendered{Hooks: []*helmrelease.Hook{nil}}}), "a hook is missing"},
		"NoMetadata": {encoded(response{Rendered: &Rendered{Chart: []byte("[1")}}), "the metadata of the chart"},
		"Deep":       {bytes.Repeat([]byte{0x81}, 1000), "cannot be read: cbor: exceeded max nested level 8"},
		"Announced":  {[]byte{0xa1, 0x68, 'R', 'e', 'n', 'd', 'e', 'r', 'e', 'd', 0xa1, 0x65, 'H', 'o', 'o', 'k', 's', 0x9a, 0x7f, 0xff, 0xff, 0xff}, "cannot be read: cbor: exceeded max number of elements 100000"},
		"Fields":     {append([]byte{0xb8, 65}, make([]byte, 130)...), "cannot be read: cbor: exceeded max number of key-value pairs 64"},
		"Repeated":   {[]byte{0xa2, 0x65, 'F', 'a', 'c', 't', 's', 0xa0, 0x65, 'F', 'a', 'c', 't', 's', 0xa0}, "cannot be read: cbor: found duplicate map key"},
		"Tag":        {append([]byte{0xc1}, good...), "cannot be read"},
		"Large":      {encoded(response{Rendered: &Rendered{Manifest: strings.Repeat("x", maxRendered+1)}}), "the chart renders more than 33554432 bytes"},
	} {
		w := &scripted{responses: [][]byte{tc.message}}
		if _, err := New(w).Render(t.Context(), rendering(), &rest.Config{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %s", name, err, tc.want)
		}
	}
	for name, r := range map[string]response{"no CRDs": {}, "a file without content": {CRDs: &CRDs{Files: []helmchart.CRD{{Name: "a"}}}}} {
		w := &scripted{responses: [][]byte{encoded(r)}}
		if _, err := New(w).CRDs(t.Context(), Chart{}); !errors.Is(err, errMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := &scripted{responses: [][]byte{encoded(response{})}}
	if _, err := New(w).Identify(t.Context(), "", "", nil); !errors.Is(err, errMessage) {
		t.Errorf("a chart without facts: %v", err)
	}
}

// TestHostileMemory: a response that stands for many small values takes no more than a multiple of its
// size.
func TestHostileMemory(t *testing.T) {
	const size = 1 << 20
	array := func(element string, n int) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{0x9a}, uint32(n)), strings.Repeat(element, n)...)
	}
	field := func(name string, value []byte) []byte {
		return slices.Concat([]byte{0xa1, 0x60 + byte(len(name))}, []byte(name), value)
	}
	manyEvents := field("events", array("\x60", maxFiles))
	for name, content := range map[string][]byte{
		"Hooks":  field("Rendered", field("Hooks", array("\xa0", maxFiles))),
		"Files":  field("CRDs", field("Files", array("\xa0", maxFiles))),
		"Events": field("Rendered", field("Hooks", array(string(manyEvents), size/len(manyEvents)))),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = decodeResponse(content)
		runtime.ReadMemStats(&after)
		most := uint64(32<<20 + 64*len(content))
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > most {
			t.Errorf("%s: %d bytes were allocated for %d", name, allocated, len(content))
		} else {
			t.Logf("%s: %d bytes were allocated for %d", name, allocated, len(content))
		}
	}
}

// TestEnds: the end of a worker is described by the limit and the note, and other errors stay as they
// are.
func TestEnds(t *testing.T) {
	t.Parallel()
	other := errors.New("other")
	for want, err := range map[string]error{
		"rendering chart web 1.2.0 took more than 256 MiB of memory, and was ended":                                &worker.Died{Limit: worker.Memory, MaxMemory: 256 << 20},
		"rendering chart web 1.2.0: template web/a took more than 32 MiB of stack, and was ended":                  &worker.Died{Limit: worker.Stack, MaxStack: 32 << 20, Note: "template web/a"},
		"rendering chart web 1.2.0 took more than 256 MiB of memory, or more than 32 MiB of stack, and was ended":  &worker.Died{Limit: worker.MemoryOrStack, MaxMemory: 256 << 20, MaxStack: 32 << 20},
		"rendering chart web 1.2.0 took more than 10s of CPU time, and was ended":                                  &worker.Died{Limit: worker.CPU, MaxCPU: 10 * time.Second},
		"rendering chart web 1.2.0: template web/a has not ended in time, which is 1m0s":                           &worker.Died{Limit: worker.Deadline, Err: context.DeadlineExceeded, Note: "template web/a"},
		"rendering chart web 1.2.0 ended its process: exit status 7":                                               &worker.Died{Limit: worker.Unexpected, Text: "exit status 7"},
		"rendering chart web 1.2.0 was killed twice: signal 9 (killed); the container or the node may lack memory": &worker.Died{Limit: worker.Killed, Text: "signal 9 (killed)"},
		"rendering chart web 1.2.0 has not begun: no worker process is available: all of them were busy for 2m0s":  &worker.Unavailable{Cause: "all of them were busy for 2m0s"},
		"failed": &worker.Failure{Text: "failed"},
		"other":  other,
	} {
		_, got := New(&scripted{errs: []error{err, err}}).Render(t.Context(), rendering(), &rest.Config{})
		if got == nil || got.Error() != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

// TestTraces: a call that ends its worker is repeated once. If the worker was killed from outside,
// that one decides. Otherwise it has little time, and a death stands.
func TestTraces(t *testing.T) {
	t.Parallel()
	const none worker.Limit = ""
	memory, killed := &worker.Died{Limit: worker.Memory}, &worker.Died{Limit: worker.Killed}
	late := &worker.Died{Limit: worker.Deadline, Note: "template web/a"}
	for _, tc := range []struct {
		reason  string
		errs    []error
		timeout time.Duration
		want    worker.Limit
		note    string
	}{
		{"killed once", []error{killed}, time.Minute, none, ""},
		{"killed twice", []error{killed, killed}, time.Minute, worker.Killed, ""},
		{"killed, and then ended by the call", []error{killed, late}, time.Minute, worker.Deadline, "template web/a"},
		{"ended by the call, and then not", []error{memory}, traceTimeout, none, ""},
		{"ended by the call twice", []error{memory, late}, traceTimeout, worker.Memory, "template web/a"},
		{"ended by the call, and then killed", []error{memory, killed}, traceTimeout, worker.Memory, ""},
		{"ended by the call, and then no worker", []error{memory, &worker.Unavailable{}}, traceTimeout, worker.Memory, ""},
	} {
		message, err := EncodeRendered(&Rendered{Manifest: "a: b"})
		w := &scripted{errs: tc.errs, responses: [][]byte{must(t, message, err)}}
		got, err := New(w).Render(t.Context(), rendering(), &rest.Config{})
		died, dead := errors.AsType[*worker.Died](err)
		if dead != (tc.want != none) || dead && (died.Limit != tc.want || died.Note != tc.note) || err == nil && got.Manifest != "a: b" {
			t.Errorf("%s: %v", tc.reason, err)
		}
		again := w.calls[1]
		if len(w.calls) != 2 || w.calls[0].Traced || !again.Traced || again.Timeout != tc.timeout || len(again.Request) < len(rendering().Archive) {
			t.Errorf("%s: %d calls, repeated within %s with %d bytes", tc.reason, len(w.calls), again.Timeout, len(again.Request))
		}
	}
	if memory.Note != "" {
		t.Error("the error of the caller was changed")
	}
	// An action that was cancelled meanwhile does not wait for the second call.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &scripted{errs: []error{memory}}
	in := rendering()
	in.Tenant = "prod"
	if _, err := New(w).Render(ctx, in, &rest.Config{}); err == nil || len(w.calls) != 1 || w.calls[0].Tenant != "prod" {
		t.Errorf("%v after %+v", err, w.calls)
	}
}

// TestUnavailable: a call without a worker is described as an outage, even if the worker of a first
// one was killed.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	none := &worker.Unavailable{Cause: "starting one failed: no memory", Since: time.Unix(5, 0)}
	for _, errs := range [][]error{{none}, {&worker.Died{Limit: worker.Killed}, none}} {
		_, err := New(&scripted{errs: errs}).Identify(t.Context(), "", "", nil)
		outage, ok := errors.AsType[*Unavailable](err)
		if !ok || !errors.Is(err, none) {
			t.Fatalf("got %v", err)
		}
		server, since, cause := outage.Outage()
		if server != "the rendering of charts" || !since.Equal(none.Since) || cause != "no worker process is available: starting one failed: no memory" {
			t.Errorf("%s since %s: %s", server, since, cause)
		}
	}
}

func TestReadable(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/api/v1": true, "/apis/apps/v1": true, "/api/v1/secrets": true, "/api/v1/namespaces/prod": true, "/api/v1/namespaces": true,
		"/api/v1/namespaces/prod/secrets": true, "/apis/apps/v1/namespaces/prod/deployments/web": true, "/apis/g/v1/things/one": true,
		"/version": false, "/": false, "": false, "/healthz": false, "/api": false, "/apis/apps": false, "/metrics": false,
		"/api/v1/namespaces/prod/pods/web/log": false, "/api/v1/namespaces/prod/services/web/proxy/x": false, "/api/v1/nodes/n/proxy": false,
		"/api/v1/watch/secrets": false, "/apis/apps/v1/watch/deployments": false, "/apis/apps/v1/watch/namespaces/prod/deployments": false,
		"/api/v1/namespaces/../secrets": false, "/api/v1//secrets": false, "/api/v1/secrets/": false, "/api/v1/%2e%2e/x": false, `/api/v1/..\\x`: false,
	} {
		if readable(path) != want {
			t.Errorf("%s: %t", path, !want)
		}
	}
}

// server is an API server in memory.
type server func(*http.Request) (*http.Response, error)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// TestLookups: reads are sent to the address of the connection with its identity, and nothing else
// is sent.
func TestLookups(t *testing.T) {
	t.Parallel()
	var sent []string
	body := "{}"
	l := &lookups{config: &rest.Config{
		Host: "https://cluster:6443/prefix", Timeout: time.Minute, Username: "u", Password: "p",
		Transport: server(func(r *http.Request) (*http.Response, error) {
			sent = append(sent, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Accept"))
			if _, limited := r.Context().Deadline(); !limited {
				t.Error("the request has no timeout")
			}
			return &http.Response{
				StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}, "Content-Type": {"application/json"}, "Set-Cookie": {"x"}},
				Body: io.NopCloser(strings.NewReader(body)),
			}, nil
		}),
	}}
	query := "limit=1"
	ask := func(name, path string) (Answer, error) {
		request, err := EncodeGet(Get{Path: path, Query: query, Accept: "application/json"})
		message, err := l.answer(t.Context(), name, must(t, request, err))
		if err != nil {
			return Answer{}, err
		}
		return DecodeAnswer(message)
	}
	got, err := ask(FunctionGet, "/api/v1/namespaces/prod/secrets/a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Answer{Status: 429, ContentType: "application/json", RetryAfter: "1", Body: []byte("{}")}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := ask(FunctionGet, "/api/v1/namespaces/prod/pods/a/exec"); !errors.Is(err, errRequest) {
		t.Errorf("a subresource: %v", err)
	}
	for _, query = range []string{"watch=true", "limit=1&watch=1", "watch", "%77atch=true", "watch=false&watch=true", "a;watch=true"} {
		if _, err := ask(FunctionGet, "/api/v1/namespaces/prod/secrets"); !errors.Is(err, errRequest) {
			t.Errorf("%s: %v", query, err)
		}
	}
	query = "limit=1"
	if _, err := l.answer(t.Context(), FunctionResolve, []byte("host")); !errors.Is(err, errRequest) {
		t.Errorf("a host: %v", err)
	}
	l.resolve = func(_ context.Context, host string) ([]string, error) { return []string{"192.0.2.1", host}, nil }
	if got, err := l.answer(t.Context(), FunctionResolve, []byte("::1")); err != nil || string(got) != "192.0.2.1 ::1" {
		t.Errorf("an allowed host: %q, %v", got, err)
	}
	if _, err := ask("delete", "/api/v1/namespaces/prod/secrets/a"); !errors.Is(err, errRequest) {
		t.Errorf("another request: %v", err)
	}
	if want := []string{"GET https://cluster:6443/prefix/api/v1/namespaces/prod/secrets/a?limit=1 Basic dTpw application/json"}; !cmp.Equal(want, sent) {
		t.Errorf("sent %q", sent)
	}
	body = strings.Repeat("x", maxBody+1)
	if _, err := ask(FunctionGet, "/api/v1/secrets"); err == nil || err.Error() != "the answer has more than 67043328 bytes" {
		t.Errorf("a large answer: %v", err)
	}
}

func TestPathBelow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ server, url, want string }{
		{"https://cluster/prefix/", "https://cluster/prefix/api/v1", "/api/v1"},
		{"https://cluster", "https://cluster/api/v1", "/api/v1"},
		{"cluster:8080", "http://cluster:8080/api/v1", "/api/v1"},
	} {
		u, err := url.Parse(tc.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := PathBelow(tc.server, u); got != tc.want {
			t.Errorf("%s at %s: %s", tc.url, tc.server, got)
		}
	}
}
