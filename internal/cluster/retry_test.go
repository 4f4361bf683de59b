// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/apiretry"
)

const leaderText = `{"kind":"Status","apiVersion":"v1","message":"etcdserver: leader changed"}`

// TestRetryOnce: each client of a connection repeats a request once.
func TestRetryOnce(t *testing.T) {
	t.Parallel()
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(leaderText))
	}))
	t.Cleanup(server.Close)
	for name, id := range map[string]Identity{"Local": {User: "u"}, "Remote": {Kubeconfig: kubeconfigFor(server.URL, "t")}} {
		pool, _ := newPool(t, &rest.Config{Host: server.URL})
		config, err := pool.mustFor(t, id).ToRESTConfig()
		if err != nil {
			t.Fatal(err)
		}
		requests = 0
		config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
		client, err := rest.UnversionedRESTClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		err = client.Get().AbsPath("/version").Do(context.WithoutCancel(t.Context())).Error()
		if err == nil || requests != 2 {
			t.Errorf("%s: %d requests: %v", name, requests, err)
		}
	}
}

// TestAnswersAreLimited: a compressed list of API groups of a few kilobytes that decompresses to more
// than the limit is an error of the server's answer. The cluster counts as reachable.
func TestAnswersAreLimited(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	blanks := bytes.Repeat([]byte(" "), 1<<20)
	for range 17 {
		if _, err := zip.Write(blanks); err != nil {
			t.Fatal(err)
		}
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/version" {
			_, _ = w.Write([]byte(`{"major":"1","minor":"36","gitVersion":"v1.36.0"}`))
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(zipped.Bytes())
	}))
	t.Cleanup(server.Close)
	for name, id := range map[string]Identity{"Local": {User: "u"}, "Remote": {Kubeconfig: kubeconfigFor(server.URL, "t")}} {
		pool, _ := newPool(t, &rest.Config{Host: server.URL})
		connection := pool.mustFor(t, id)
		_, _, err := connection.Capabilities()
		if want := "the answer of the API server at " + strings.TrimPrefix(server.URL, "http://") + " has more than 16777216 bytes"; err == nil || !strings.Contains(err.Error(), want) || apiretry.IsTransient(err) {
			t.Errorf("%s: %v", name, err)
		}
		if connection.gate != nil && connection.gate.isOpen() {
			t.Errorf("%s: the breaker is open", name)
		}
	}
}

// TestPaced: reads of other clusters are limited in time, and those of the own cluster are not.
func TestPaced(t *testing.T) {
	t.Parallel()
	pace := fmt.Sprintf("%T", apiretry.Pace(nil))
	for name, id := range map[string]Identity{"Local": {User: "u"}, "Remote": {Kubeconfig: kubeconfigFor("http://other", "t")}} {
		pool, _ := newPool(t, &rest.Config{Host: "http://own"})
		found := false
		for next := pool.mustFor(t, id).HTTPClient().Transport; next != nil; {
			found = found || fmt.Sprintf("%T", next) == pace
			around, ok := next.(interface{ WrappedRoundTripper() http.RoundTripper })
			if !ok {
				break
			}
			next = around.WrappedRoundTripper()
		}
		if found != (name == "Remote") {
			t.Errorf("%s: paced is %t", name, found)
		}
	}
}
