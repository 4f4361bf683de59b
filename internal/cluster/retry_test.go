// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// answers is a transport that gives the answers it was told, one after the other.
type answers struct {
	list   []*http.Response
	bodies []string
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	body := ""
	if req.Body != nil {
		raw, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		body = string(raw)
	}
	a.bodies = append(a.bodies, body)
	if len(a.bodies) > len(a.list) {
		return nil, errors.New("asked too often")
	}
	return a.list[len(a.bodies)-1], nil
}

func answer(code int, kind, body string) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body))}
}

const leaderText = `{"kind":"Status","message":"etcdserver: leader changed"}`

func TestRetryOnLeaderChange(t *testing.T) {
	t.Parallel()
	good := answer(200, "application/json", "good")
	cases := map[string]struct {
		reason string
		first  *http.Response
		body   io.Reader
		times  int
		want   string
	}{
		"LeaderChanged":  {"the next try may succeed", answer(500, "application/json", leaderText), nil, 2, "good"},
		"ProposalLost":   {"the same", answer(503, "application/json; charset=utf-8", `{"message":"rpc error: raft proposal dropped"}`), nil, 2, "good"},
		"WithBody":       {"a body that can be had again is sent again", answer(500, "application/json", leaderText), strings.NewReader("content"), 2, "good"},
		"BodyOnce":       {"a body that is gone cannot be sent again", answer(500, "application/json", leaderText), io.MultiReader(strings.NewReader("content")), 1, leaderText},
		"OtherError":     {"any other error is told, whole", answer(500, "application/json", strings.Repeat("x", 2*maxError)), nil, 1, strings.Repeat("x", 2*maxError)},
		"NotJSON":        {"it is not of the API server", answer(500, "text/plain", leaderText), nil, 1, leaderText},
		"NoServersFault": {"an object may contain the words", answer(200, "application/json", leaderText), nil, 1, leaderText},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			next := &answers{list: []*http.Response{tc.first, good}}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://h", tc.body)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := retryOnLeaderChange(next).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			if err != nil || string(got) != tc.want {
				t.Errorf("%s: the answer is %.80q, %v", tc.reason, got, err)
			}
			if len(next.bodies) != tc.times || tc.body != nil && next.bodies[tc.times-1] != "content" {
				t.Errorf("%s: it was sent %q, want %d times", tc.reason, next.bodies, tc.times)
			}
			good.Body = io.NopCloser(strings.NewReader("good"))
		})
	}
}

// TestRetryOnce: every client made of a connection tries twice, not two times two.
func TestRetryOnce(t *testing.T) {
	t.Parallel()
	times := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		times++
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
		times = 0
		config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
		client, err := rest.UnversionedRESTClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		err = client.Get().AbsPath("/version").Do(context.WithoutCancel(t.Context())).Error()
		if err == nil || times != 2 {
			t.Errorf("%s: asked %d times: %v", name, times, err)
		}
	}
}
