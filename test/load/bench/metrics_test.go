// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/test/harness"
)

func serveText(t *testing.T, text string) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	t.Cleanup(server.Close)
	return server
}

func TestControllerFigures(t *testing.T) {
	server := serveText(t, `# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="127.0.0.1:1",method="GET"} 12
rest_client_requests_total{code="<error>",host="127.0.0.1:1",method="PATCH"} 1.5e+02
rest_client_requests_total{code="404",host="127.0.0.1:1",method="GET"} 1
rest_client_requests_totally{code="200"} 1000
controller_runtime_reconcile_total{controller="helmrelease",result="error"} 3
controller_runtime_reconcile_total{controller="helmrelease",result="success"} 4
controller_runtime_reconcile_total{controller="helmchart",result="success"} 100
controller_runtime_active_workers{controller="helmrelease"} 2
workqueue_depth{controller="helmrelease",name="helmrelease",priority="0"} 5
workqueue_depth{controller="helmrelease",name="helmrelease",priority="-100"} 6
workqueue_depth{controller="helmchart",name="helmchart",priority=""} 100
`)
	m, err := harness.Scrape(t.Context(), server.Client(), server.URL)
	f := figuresOf(m)
	if err != nil || f.total() != 163 || !maps.Equal(f.sent, map[string]int{"GET": 13, "PATCH": 150}) {
		t.Errorf("%d requests, %v, %v", f.total(), f.sent, err)
	}
	if f.reconciliations != 7 || f.active != 2 || f.waiting != 11 {
		t.Errorf("%d reconciliations, %d active, %d waiting", f.reconciliations, f.active, f.waiting)
	}
}

func TestSecretBytes(t *testing.T) {
	server := serveText(t, `apiserver_response_sizes_bucket{group="",resource="secrets",verb="GET",le="+Inf"} 1
apiserver_response_sizes_sum{component="apiserver",group="",resource="secrets",verb="GET"} 100
apiserver_response_sizes_sum{component="apiserver",group="",resource="secrets",verb="LIST"} 20
apiserver_response_sizes_sum{component="apiserver",group="x.example.com",resource="secrets",verb="LIST"} 3
apiserver_response_sizes_sum{component="apiserver",group="",resource="pods",verb="LIST"} 4
`)
	if n, err := secretBytes(t.Context(), server.Client(), server.URL); err != nil || n != 120 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestDownloadsAreCounted(t *testing.T) {
	artifacts := serveText(t, "twelve bytes")
	p, err := startProxy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.close() })
	request := func(method string) int {
		req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, "http://"+p.address+"/a.tgz", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	if code := request(http.MethodGet); code != http.StatusServiceUnavailable || p.downloads.Load() != 0 {
		t.Errorf("%d, %d downloads, before there is anything", code, p.downloads.Load())
	}
	p.setTarget(strings.TrimPrefix(artifacts.URL, "http://"))
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} {
		if code := request(method); code != http.StatusOK {
			t.Errorf("%s: %d", method, code)
		}
	}
	if p.downloads.Load() != 2 || p.bytes.Load() != 24 {
		t.Errorf("%d downloads, %d bytes", p.downloads.Load(), p.bytes.Load())
	}
}
