// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// server is a transport that answers requests by a function of their number, from one.
type server struct {
	sent   int
	answer func(n int) (*http.Response, error)
}

func (s *server) RoundTrip(*http.Request) (*http.Response, error) {
	s.sent++
	return s.answer(s.sent)
}

func ok() (*http.Response, error) { return answer(200, "application/json", "{}"), nil }

// failing fails the first n requests.
func failing(n int, fail func() (*http.Response, error)) *server {
	return &server{answer: func(i int) (*http.Response, error) {
		if i <= n {
			return fail()
		}
		return ok()
	}}
}

func reset() (*http.Response, error) { return nil, syscall.ECONNRESET }

func code(n int) func() (*http.Response, error) {
	return func() (*http.Response, error) { return answer(n, "application/json", `{"kind":"Status"}`), nil }
}

func send(t *testing.T, r *Retrier, next http.RoundTripper, method, at string) (int, error) {
	t.Helper()
	return sendBody(t, r, next, method, at, `{"metadata":{"generateName":"p-","resourceVersion":"1"}}`)
}

// sendBody is send with a body.
func sendBody(t *testing.T, r *Retrier, next http.RoundTripper, method, at, body string) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, "https://api"+at, strings.NewReader(body)) //nolint:usetesting // requests of Helm have no context of their own
	if err != nil {
		t.Fatal(err)
	}
	resp, err := r.Transport(next).RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // the body is in memory
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, nil
}

// TestTransportRepeats: idempotent requests are repeated after transient failures.
func TestTransportRepeats(t *testing.T) {
	t.Parallel()
	conflict := func() (*http.Response, error) {
		return answer(409, "application/json", `{"kind":"Status","reason":"Conflict","code":409}`), nil
	}
	broken := func() (*http.Response, error) {
		resp := answer(200, "application/json", "")
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), errReader{}))
		return resp, nil
	}
	cases := map[string]struct {
		reason string
		method string
		at     string
		fail   func() (*http.Response, error)
		want   int
		sent   int
	}{
		"Get":              {"a read is repeated", http.MethodGet, "/api/v1/pods/p", reset, 200, 3},
		"Incomplete":       {"an incomplete answer is an error", http.MethodGet, "/api/v1/pods/p", broken, 200, 3},
		"Patch":            {"applying is idempotent", http.MethodPatch, "/api/v1/pods/p", code(500), 200, 3},
		"PatchConflict":    {"a patch with a resourceVersion has to be rebuilt", http.MethodPatch, "/api/v1/pods/p", conflict, 409, 1},
		"UpdateConflict":   {"an update with a resourceVersion has to be rebuilt", http.MethodPut, "/api/v1/pods/p", conflict, 409, 1},
		"Delete":           {"a deletion is repeated", http.MethodDelete, "/api/v1/pods/p", code(504), 200, 3},
		"TooMany":          {"a throttled request was not carried out", http.MethodPost, "/api/v1/pods", code(429), 200, 3},
		"CreateUnnamed":    {"an object with a generated name cannot be recognized", http.MethodPost, "/api/v1/pods", code(500), 500, 1},
		"DryRun":           {"a dry run creates nothing", http.MethodPost, "/api/v1/pods?dryRun=All", code(500), 200, 3},
		"Review":           {"a review creates nothing", http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", code(500), 200, 3},
		"Watch":            {"the reader of a watch repeats it", http.MethodGet, "/api/v1/pods?watch=true", code(500), 500, 1},
		"NotFound":         {"repeating does not create an object", http.MethodGet, "/api/v1/pods/p", code(404), 404, 1},
		"Forbidden":        {"repeating does not grant rights", http.MethodGet, "/api/v1/pods/p", code(403), 403, 1},
		"UnprocessableObj": {"an invalid object stays invalid", http.MethodPatch, "/api/v1/pods/p", code(422), 422, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := New(t.Context(), Options{Now: time.Now, Timeout: time.Minute})
				defer r.End()
				next := failing(2, tc.fail)
				got, err := send(t, r, next, tc.method, tc.at)
				if err != nil || got != tc.want || next.sent != tc.sent {
					t.Errorf("%s: got %d, %v after %d requests; want %d after %d", tc.reason, got, err, next.sent, tc.want, tc.sent)
				}
				if r.Outage() != nil {
					t.Errorf("%s: outage %v", tc.reason, r.Outage())
				}
			})
		})
	}
}

// TestPatchConflict: a patch without a resourceVersion is repeated after a conflict.
func TestPatchConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t.Context(), Options{Now: time.Now})
		defer r.End()
		next := failing(2, func() (*http.Response, error) {
			return answer(409, "application/json", `{"kind":"Status","reason":"Conflict","code":409}`), nil
		})
		if got, err := sendBody(t, r, next, http.MethodPatch, "/api/v1/pods/p", `{"metadata":{"labels":{"a":"b"}}}`); err != nil || got != 200 || next.sent != 3 {
			t.Errorf("got %d, %v after %d requests", got, err, next.sent)
		}
	})
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// forever fails all requests.
const forever = 1 << 30

// TestBudget: a request is repeated until the budget of its action is spent.
func TestBudget(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		timeout time.Duration
		cancel  time.Duration
		fail    func() (*http.Response, error)
		want    time.Duration
	}{
		"Outage":       {"an outage lasts up to the budget", 10 * time.Minute, 0, reset, Budget},
		"Timeout":      {"the timeout of the action bounds the budget", time.Minute, 0, reset, time.Minute},
		"ShortTimeout": {"a result has to be recorded", time.Second, 0, code(503), leastBudget},
		"Cancelled":    {"a shutdown shortens the budget", 10 * time.Minute, 5 * time.Second, code(503), 15 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.cancel > 0 {
					time.AfterFunc(tc.cancel, cancel)
				}
				r := New(ctx, Options{Now: time.Now, Timeout: tc.timeout})
				defer r.End()
				began := time.Now()
				_, err := send(t, r, failing(forever, tc.fail), http.MethodGet, "/api")
				var outage *Outage
				if !errors.As(err, &outage) || r.Outage() == nil || !outage.Since.Equal(began) {
					t.Errorf("%s: the error is %v", tc.reason, err)
				}
				if took := time.Since(began); took < tc.want || took > tc.want+time.Second {
					t.Errorf("%s: it took %s, want %s", tc.reason, took, tc.want)
				}
				// During the outage the next request fails at once.
				began = time.Now()
				if _, err := send(t, r, failing(forever, tc.fail), http.MethodGet, "/api"); err == nil || time.Since(began) > 0 {
					t.Errorf("%s: the next request took %s: %v", tc.reason, time.Since(began), err)
				}
				// Nothing is sent any more: the next action begins where this one has ended.
				next := failing(0, tc.fail)
				if _, err := send(t, r, next, http.MethodGet, "/api"); !errors.Is(err, ErrStopped) || next.sent > 0 {
					t.Errorf("%s: after the outage: %d requests, %v", tc.reason, next.sent, err)
				}
			})
		})
	}
}

// TestLastingAnswer: a 5xx is the answer if the server answers other requests meanwhile.
func TestLastingAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t.Context(), Options{Now: time.Now})
		defer r.End()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 100 {
				time.Sleep(time.Second)
				if _, err := send(t, r, failing(0, reset), http.MethodGet, "/api"); err != nil {
					t.Error(err)
				}
			}
		}()
		got, err := send(t, r, failing(forever, code(500)), http.MethodPatch, "/api")
		if got != 500 || err != nil || r.Outage() != nil {
			t.Errorf("got %d, %v, %v", got, err, r.Outage())
		}
		<-done
	})
}

// TestRetryAfter: the pause is at least Retry-After, up to a maximum.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]time.Duration{"7": 7 * time.Second, "300": longestRetryAfter} {
		synctest.Test(t, func(t *testing.T) {
			r := New(t.Context(), Options{Now: time.Now})
			defer r.End()
			began := time.Now()
			next := failing(1, func() (*http.Response, error) {
				resp, err := code(429)()
				resp.Header.Set("Retry-After", after)
				return resp, err
			})
			if got, err := send(t, r, next, http.MethodGet, "/api"); got != 200 || err != nil || time.Since(began) != want {
				t.Errorf("Retry-After %s: %d, %v after %s", after, got, err, time.Since(began))
			}
		})
	}
}

// TestWebhook: an unreachable webhook is an outage, unless the release itself configures it.
func TestWebhook(t *testing.T) {
	t.Parallel()
	down := func() (*http.Response, error) {
		return answer(500, "application/json", `{"kind":"Status","code":500,"message":"Internal error occurred: failed calling webhook \"w.example.com\": failed to call webhook"}`), nil
	}
	synctest.Test(t, func(t *testing.T) {
		r := New(t.Context(), Options{Now: time.Now})
		defer r.End()
		_, err := send(t, r, failing(forever, down), http.MethodPatch, "/api")
		if err == nil || !strings.HasPrefix(err.Error(), `admission webhook "w.example.com" of the API server has not answered since `) {
			t.Errorf("the error is %v", err)
		}
		r = New(t.Context(), Options{Now: time.Now})
		defer r.End()
		r.Own([]string{"w.example.com"})
		next := failing(forever, down)
		if got, err := send(t, r, next, http.MethodPatch, "/api"); got != 500 || err != nil || next.sent != 1 {
			t.Errorf("own webhook: %d, %v after %d requests", got, err, next.sent)
		}
	})
}

// TestSlot: an action that waits for long releases its slot once.
func TestSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		released, acquired := 0, 0
		r := New(t.Context(), Options{Now: time.Now, ReleaseSlot: func() func() {
			released++
			return func() { acquired++ }
		}})
		defer r.End()
		if _, err := send(t, r, failing(1, reset), http.MethodGet, "/api"); err != nil || released > 0 {
			t.Errorf("a short failure released the slot: %v", err)
		}
		resume := r.ReleaseSlot()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := send(t, r, failing(8, reset), http.MethodGet, "/api"); err != nil {
				t.Error(err)
			}
		}()
		if _, err := send(t, r, failing(8, reset), http.MethodGet, "/api"); err != nil {
			t.Error(err)
		}
		<-done
		if released != 1 || acquired != 0 {
			t.Errorf("released %d times and acquired %d times before the end", released, acquired)
		}
		resume()
		resume()
		if released != 1 || acquired != 1 {
			t.Errorf("released %d times and acquired %d times", released, acquired)
		}
	})
}

// TestSlotOfRepetitions: a request that is repeated for long releases the slot until it has a response.
func TestSlotOfRepetitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		released, acquired := 0, 0
		r := New(t.Context(), Options{Now: time.Now, ReleaseSlot: func() func() {
			released++
			return func() { acquired++ }
		}})
		defer r.End()
		if _, err := send(t, r, failing(8, reset), http.MethodGet, "/api"); err != nil || released != 1 || acquired != 1 {
			t.Errorf("released %d times and acquired %d times: %v", released, acquired, err)
		}
	})
}

// TestDo: a function is called again after transient errors only.
func TestDo(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Resource: "jobs"}
	cases := map[string]struct {
		reason string
		err    error
		sent   int
	}{
		"NoAnswer":   {"a lost answer is transient", &url.Error{Op: "Post", Err: io.EOF}, 3},
		"Internal":   {"a failure of the server is transient", apierrors.NewInternalError(errors.New("etcdserver: request timed out")), 3},
		"Conflict":   {"the caller handles conflicts", apierrors.NewConflict(resource, "n", errors.New("changed")), 1},
		"Exists":     {"repeating does not remove an object", apierrors.NewAlreadyExists(resource, "n"), 1},
		"OtherError": {"other errors are not repeated", errors.New("no such kind"), 1},
		"Cancelled":  {"a cancelled request is not repeated", &url.Error{Op: "Get", Err: context.Canceled}, 1},
		"NotLeader":  {"a request that must not be sent is not repeated", &url.Error{Op: "Get", Err: notSent{}}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := New(t.Context(), Options{Now: time.Now})
				defer r.End()
				sent := 0
				err := r.Do(t.Context(), func() error {
					if sent++; sent > 2 {
						return nil
					}
					return tc.err
				})
				if sent != tc.sent || (err == nil) != (tc.sent > 1) {
					t.Errorf("%s: sent %d times, want %d: %v", tc.reason, sent, tc.sent, err)
				}
			})
		})
	}
	var none *Retrier
	if err := none.Do(t.Context(), func() error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("without a Retrier: %v", err)
	}
}

type notSent struct{}

func (notSent) Error() string { return "not sent" }
func (notSent) NotSent() bool { return true }
