// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// answers is a transport that returns a list of answers.
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
		return nil, errors.New("too many requests")
	}
	return a.list[len(a.bodies)-1], nil
}

func answer(code int, kind, body string) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body))}
}

const leaderText = `{"kind":"Status","message":"etcdserver: leader changed"}`

func TestOnLeaderChange(t *testing.T) {
	t.Parallel()
	good := answer(200, "application/json", "good")
	cases := map[string]struct {
		reason string
		first  *http.Response
		body   io.Reader
		times  int
		want   string
	}{
		"LeaderChanged":  {"the next attempt may succeed", answer(500, "application/json", leaderText), nil, 2, "good"},
		"ProposalLost":   {"the same", answer(503, "application/json; charset=utf-8", `{"message":"rpc error: raft proposal dropped"}`), nil, 2, "good"},
		"WithBody":       {"a body that can be had again is sent again", answer(500, "application/json", leaderText), strings.NewReader("content"), 2, "good"},
		"BodyOnce":       {"a body that is gone cannot be sent again", answer(500, "application/json", leaderText), io.MultiReader(strings.NewReader("content")), 1, leaderText},
		"OtherError":     {"another error is returned whole", answer(500, "application/json", strings.Repeat("x", 2*maxStatus)), nil, 1, strings.Repeat("x", 2*maxStatus)},
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
			resp, err := OnLeaderChange(next).RoundTrip(req)
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
