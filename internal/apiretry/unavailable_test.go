// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestUnavailableAPI: an API that the API server forwards to another server, which is away, is an
// outage. Answers of an API that is served are about the request.
func TestUnavailableAPI(t *testing.T) {
	t.Parallel()
	const path = "/prefix/apis/metrics.example.com/v1/namespaces/n/things/t"
	for name, tc := range map[string]struct {
		path string
		// object and discovery are the answers about an object and about its API.
		object, discovery int
		// busy is true if other requests succeed meanwhile.
		busy bool
		own  string
		want int
	}{
		"Away":         {path, 503, 503, false, "", 0},
		"AwayAndBusy":  {path, 503, 503, true, "", 0},
		"Discovery":    {"/prefix/apis/metrics.example.com/v1", 503, 503, false, "", 0},
		"Served":       {path, 503, 200, false, "", 503},
		"ServedBusy":   {path, 503, 200, true, "", 503},
		"NotServed":    {path, 503, 404, false, "", 503},
		"NoDiscovery":  {path, 503, 403, false, "", 503},
		"Own":          {path, 503, 503, false, "metrics.example.com/v1", 503},
		"Core":         {"/prefix/api/v1/namespaces/n/pods/p", 503, 503, false, "", 503},
		"GroupAlone":   {"/prefix/apis/metrics.example.com", 503, 503, false, "", 503},
		"OtherFailure": {path, 500, 503, false, "", 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := New(t.Context(), Options{Now: time.Now})
				defer r.End()
				r.Own([]string{tc.own})
				next := roundTripper(func(req *http.Request) (*http.Response, error) {
					switch req.URL.Path {
					case tc.path:
						if tc.busy {
							r.recordSuccess(time.Now().Add(time.Millisecond))
						}
						return code(tc.object)()
					case "/prefix/apis/metrics.example.com/v1":
						return code(tc.discovery)()
					}
					return ok()
				})
				began := time.Now()
				got, err := send(t, r, next, http.MethodDelete, tc.path)
				var outage *Outage
				if got != tc.want || errors.As(err, &outage) != (tc.want == 0) {
					t.Fatalf("got %d, %v, want %d", got, err, tc.want)
				}
				if took := time.Since(began); took < Budget || took > Budget+time.Minute {
					t.Errorf("it was decided after %s", took)
				}
				if outage != nil && (outage.Server != "API metrics.example.com/v1 of the API server" || outage.Cause != "answered with 503 Service Unavailable" || r.Stopped() == nil) {
					t.Errorf("the outage is %+v, and stops the action: %v", outage, r.Stopped())
				}
			})
		})
	}
}

// TestPartOfServer: an unavailable part is repeated like a request without an answer, and is not
// taken for the server.
func TestPartOfServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var faults Faults
		r := New(t.Context(), Options{Now: time.Now, Faults: &faults})
		defer r.End()
		calls := 0
		err := r.Do(t.Context(), func() error {
			// Discovery itself answers.
			r.recordSuccess(time.Now())
			calls++
			return &UnavailableError{API: "example.com/v1", Why: "no list of its kinds"}
		})
		var outage *Outage
		if !errors.As(err, &outage) || r.Outage() != outage || calls < 10 {
			t.Fatalf("after %d calls: %v", calls, err)
		}
		if outage.Server != "API example.com/v1 of the API server" || outage.Cause != "no list of its kinds" {
			t.Errorf("the outage is %+v", outage)
		}
		if faults.settling("the API server", time.Now()) {
			t.Error("the API server counts as away")
		}
	})
}
