// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"math"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
)

// TestRejectedTokens: the API server answers 401 to a token of a ServiceAccount. The request is sent
// once more with a new token. If that is rejected too, the action fails.
func TestRejectedTokens(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	token := b.administrator().Status
	// rejects is how many tokens the API server is to reject.
	var rejects, requested, rejected atomic.Int32
	connections := cluster.NewConnections(suite.config, cluster.Options{Now: time.Now, TransportWrapper: func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if err == nil && resp.StatusCode == http.StatusUnauthorized {
				rejected.Add(1)
			}
			return resp, err
		})
	}})
	connections.SetTokenRequester(func(context.Context, types.NamespacedName, []string) (string, time.Time, error) {
		if requested.Add(1) > rejects.Load() {
			return token.Token, token.ExpirationTimestamp.Time, nil
		}
		return "rejected." + token.Token, token.ExpirationTimestamp.Time, nil
	})
	var err error
	b.conn, err = connections.For(cluster.Identity{Workload: &cluster.Workload{
		Address: suite.config.Host, CA: string(suite.config.CAData),
		ServiceAccount: types.NamespacedName{Namespace: b.namespace, Name: "administrator"},
	}})
	b.must(err)
	rejects.Store(math.MaxInt32)
	archive := configMapChart(t, "1.0.0")
	for range 2 {
		requested.Store(0)
		rejected.Store(0)
		out := b.run(install, archive, nil, helmv2.HelmReleaseSpec{})
		if !apierrors.IsUnauthorized(out.Err) || out.Interrupted != nil {
			t.Errorf("the install ends with %v, interrupted %+v", out.Err, out.Interrupted)
		}
		if requested.Load() != 2 || rejected.Load() != 1 {
			t.Errorf("%d tokens were requested, %d requests were rejected", requested.Load(), rejected.Load())
		}
	}
	rejects.Store(1)
	requested.Store(0)
	rejected.Store(0)
	b.mustRun(install, archive, nil, helmv2.HelmReleaseSpec{})
	if requested.Load() != 2 || rejected.Load() != 0 {
		t.Errorf("%d tokens were requested, %d requests were rejected", requested.Load(), rejected.Load())
	}
}
