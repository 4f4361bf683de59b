// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pintle-dev/pintle/internal/options"
)

func TestProfilesAreOptional(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want int
	}{
		{nil, http.StatusNotFound},
		{[]string{"--enable-pprof"}, http.StatusOK},
	} {
		o, err := options.Parse(tc.args, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		for path, handler := range managerOptions(o).Metrics.ExtraHandlers {
			mux.Handle(path, handler)
		}
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine", "/debug/pprof/symbol"} {
			answer := httptest.NewRecorder()
			mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
			if answer.Code != tc.want {
				t.Errorf("%v: %s is answered by %d, want %d", tc.args, path, answer.Code, tc.want)
			}
		}
	}
}

// TestCacheIsSmall: what it leaves out is tested where it is decided.
func TestCacheIsSmall(t *testing.T) {
	for _, args := range [][]string{nil, {"--watch-all-namespaces=false"}} {
		t.Setenv("RUNTIME_NAMESPACE", "here")
		o, err := options.Parse(args, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		got := managerOptions(o)
		if got.Cache.DefaultTransform == nil || len(got.Cache.ByObject) != 2 || got.Client.Cache == nil {
			t.Errorf("%v: the manager holds more than it should", args)
		}
	}
}
