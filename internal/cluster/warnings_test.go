// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/client-go/rest"
)

type recorded []string

func (h *recorded) HandleWarningHeader(_ int, _, text string) { *h = append(*h, text) }

// TestWarnings: a warning that may quote an object is dropped.
func TestWarnings(t *testing.T) {
	const useful = "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+"
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		for _, text := range []string{useful, `{\"kind\":\"Secret\",\"data\":\"aHVudGVyMg==\"}`, `Secret {\"a\":\"hunter2\"} is deprecated in v1`} {
			rw.Header().Add("Warning", `299 - "`+text+`"`)
		}
		_, _ = rw.Write([]byte(`{"major":"1"}`))
	}))
	t.Cleanup(server.Close)
	var got recorded
	connection, err := Connect(&rest.Config{Host: server.URL, WarningHandler: &got})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.discovery.server.ServerVersion(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []string{useful}) {
		t.Errorf("passed on: %q", got)
	}
}
