// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

const leaderText = `{"kind":"Status","message":"etcdserver: leader changed"}`

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
