// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestPauses: each pause is twice the one before, up to a limit, with jitter.
func TestPauses(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for range 50 {
		q := (&Retrier{}).start()
		for i, want := range []time.Duration{200, 400, 800, 1600, 3200, 5000, 5000} {
			want *= time.Millisecond
			got := q.next(0)
			if got < want/2 || got >= want*3/2 {
				t.Fatalf("pause %d is %s, want %s and jitter", i+1, got, want)
			}
			seen[got] = true
		}
	}
	if len(seen) < 50 {
		t.Errorf("of 350 pauses %d differ", len(seen))
	}
}

// TestPatience: an action releases its slot when a request fails, or is about to wait, for longer
// than two seconds. It acquires a slot before the request ends.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var given, taken time.Time
		r := New(t.Context(), Options{Now: time.Now, ReleaseSlot: func() func() {
			given = time.Now()
			return func() { taken = time.Now() }
		}})
		defer r.End()
		began := time.Now()
		next := failing(12, reset)
		if _, err := send(t, r, next, http.MethodGet, "/api"); err != nil {
			t.Fatal(err)
		}
		if after := given.Sub(began); given.IsZero() || after > patience {
			t.Errorf("the slot is given back after %s", after)
		}
		if !taken.Equal(time.Now()) {
			t.Errorf("the slot is taken again at %s, and the request ends at %s", taken, time.Now())
		}
	})
}

// TestReleaseSlotAfter: a slot is released after a time, and acquired again by the returned function.
func TestReleaseSlotAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		released, acquired := 0, 0
		r := New(t.Context(), Options{Now: time.Now, ReleaseSlot: func() func() {
			released++
			return func() { acquired++ }
		}})
		defer r.End()
		for _, tc := range []struct {
			after time.Duration
			want  int
		}{{time.Second - 1, 0}, {time.Second + 1, 1}} {
			resume := r.ReleaseSlotAfter(time.Second)
			time.Sleep(tc.after)
			synctest.Wait()
			if released != tc.want || acquired != 0 {
				t.Errorf("after %s: released %d times, acquired %d times", tc.after, released, acquired)
			}
			resume()
			time.Sleep(time.Minute)
			if released != tc.want || acquired != tc.want {
				t.Errorf("after the end: released %d times, acquired %d times", released, acquired)
			}
		}
		// Both happen at the same time.
		for range 100 {
			resume := r.ReleaseSlotAfter(time.Second)
			time.Sleep(time.Second)
			resume()
			synctest.Wait()
			if released != acquired {
				t.Fatalf("released %d times, acquired %d times", released, acquired)
			}
		}
		(*Retrier)(nil).ReleaseSlotAfter(time.Second)()
	})
}

// TestConcurrentWrites: the request decides how a conflict is handled. It is not repeated
// for ever.
func TestConcurrentWrites(t *testing.T) {
	t.Parallel()
	const apply, merge, jsonPatch = "application/apply-patch+yaml", "application/merge-patch+json", "application/json-patch+json"
	for name, tc := range map[string]struct {
		reason, method, kind, body string
		conflicts, sent, want      int
	}{
		"Apply":       {"applying names no version", http.MethodPatch, apply, `{}`, 2, 3, 200},
		"Merge":       {"neither does merging", http.MethodPatch, merge, `{}`, 2, 3, 200},
		"JSONPatch":   {"it may test what was there", http.MethodPatch, jsonPatch, `[]`, 2, 1, 409},
		"Unversioned": {"the update replaces whatever is there", http.MethodPut, "application/json", `{"metadata":{"name":"p"}}`, 2, 3, 200},
		"Versioned":   {"the update is of what was read", http.MethodPut, "application/json", `{"metadata":{"name":"p","resourceVersion":"7"}}`, 2, 1, 409},
		"Create":      {"another client creates the object", http.MethodPost, "application/json", `{"metadata":{"name":"p"}}`, 2, 3, 200},
		"Forever":     {"another client goes on writing", http.MethodPatch, apply, `{}`, forever, maxConflicts, 409},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := New(t.Context(), Options{Now: time.Now})
				defer r.End()
				next := failing(tc.conflicts, func() (*http.Response, error) {
					return answer(409, "application/json", `{"kind":"Status","reason":"Conflict","code":409}`), nil
				})
				req, err := http.NewRequestWithContext(t.Context(), tc.method, "https://api/api/v1/pods/p", strings.NewReader(tc.body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", tc.kind)
				resp, err := r.Transport(next).RoundTrip(req)
				if err != nil || resp.StatusCode != tc.want || next.sent != tc.sent || r.Outage() != nil {
					t.Errorf("%s: answered with %v, %v after %d requests, want %d after %d", tc.reason, resp, err, next.sent, tc.want, tc.sent)
				}
			})
		})
	}
}

// TestSilence: a request that the server never answers is repeated.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t.Context(), Options{Now: time.Now})
		defer r.End()
		began, sent := time.Now(), 0
		next := roundTripper(func(req *http.Request) (*http.Response, error) {
			if sent++; sent > 1 {
				return ok()
			}
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		got, err := send(t, r, next, http.MethodPatch, "/api/v1/pods/p")
		if took := time.Since(began); got != 200 || err != nil || sent != 2 || took < tryTimeout || took > tryTimeout+time.Second {
			t.Errorf("got %d, %v after %d requests and %s", got, err, sent, took)
		}
	})
}

// TestSilentServer: an action ends in any case if none of its requests is answered.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	for _, remote := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := New(t.Context(), Options{Now: time.Now, Remote: remote})
			defer r.End()
			begun := time.Now()
			_, err := send(t, r, roundTripper(func(req *http.Request) (*http.Response, error) {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}), http.MethodPatch, "/api/v1/pods/p")
			var outage *Outage
			if took := time.Since(begun); !errors.As(err, &outage) || r.Stopped() == nil || took > Budget+2*tryTimeout {
				t.Errorf("remote %t: ended after %s: %v", remote, took, err)
			}
		})
	}
}

// TestLastingSilence: connections that always break do not count as an answer to the request, also
// if other requests are answered.
func TestLastingSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t.Context(), Options{Now: time.Now})
		defer r.End()
		time.AfterFunc(time.Minute, func() {
			if _, err := send(t, r, failing(0, reset), http.MethodGet, "/api"); err != nil {
				t.Error(err)
			}
		})
		var outage *Outage
		if _, err := send(t, r, failing(forever, reset), http.MethodPatch, "/api"); !errors.As(err, &outage) {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestLastingAnswerAlone: nothing else is sent while a request always gets the same answer. Whether
// that is an outage is found out at the end, by asking the server for its version.
func TestLastingAnswerAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		// code answers the request, and version the one for the version.
		code, version int
		// mended is true if the request succeeds once the version was asked for.
		mended bool
		want   int
		outage bool
	}{
		"Answers": {"the server is well, so the answer is about the request", 500, 200, false, 500, false},
		"Denied":  {"a server that denies the probe may lack its storage", 504, 403, false, 0, true},
		"Over":    {"the outage is just over", 503, 200, true, 200, false},
		"Down":    {"the server is away", 503, 503, false, 0, true},
		"Busy":    {"the server is overloaded", 500, 429, false, 0, true},
		"TooMany": {"an overload is not about the request", 429, 200, false, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := New(t.Context(), Options{Now: time.Now})
				defer r.End()
				asked, began := 0, time.Now()
				next := roundTripper(func(req *http.Request) (*http.Response, error) {
					switch {
					case req.URL.Path == "/prefix/readyz":
						asked++
						return answer(tc.version, "application/json", "{}"), nil
					case asked > 0 && tc.mended:
						return ok()
					}
					return code(tc.code)()
				})
				got, err := send(t, r, next, http.MethodPatch, "/prefix/apis/apps/v1/things/t?force=true")
				var outage *Outage
				if got != tc.want || errors.As(err, &outage) != tc.outage || (r.Outage() != nil) != tc.outage || !tc.outage && err != nil {
					t.Errorf("%s: got %d, %v, want %d", tc.reason, got, err, tc.want)
				}
				if took := time.Since(began); asked > 1 || took < Budget || took > Budget+time.Second {
					t.Errorf("%s: asked %d times, after %s", tc.reason, asked, took)
				}
			})
		})
	}
}

// TestClientGoDoesNotRepeat: nothing invites client-go to repeat an answer that the Retrier lets
// pass.
func TestClientGoDoesNotRepeat(t *testing.T) {
	t.Parallel()
	r := New(t.Context(), Options{Now: time.Now})
	defer r.End()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api/api/v1/pods", strings.NewReader(`{"metadata":{"generateName":"p-"}}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := r.Transport(failing(forever, func() (*http.Response, error) {
		resp := answer(500, "application/json", `{"kind":"Status"}`)
		resp.Header.Set("Retry-After", "1")
		return resp, nil
	})).RoundTrip(req)
	if err != nil || resp.StatusCode != 500 || resp.Header.Get("Retry-After") != "" {
		t.Errorf("answered with %+v, %v", resp, err)
	}
}

// TestStatusInProtobuf: the answers to records are not JSON.
func TestStatusInProtobuf(t *testing.T) {
	t.Parallel()
	status := &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonAlreadyExists,
		Message: "there", Code: 409, Details: &metav1.StatusDetails{RetryAfterSeconds: 3},
	}
	var raw bytes.Buffer
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if err := info.Serializer.Encode(status, &raw); err != nil {
		t.Fatal(err)
	}
	resp := answer(409, runtime.ContentTypeProtobuf, raw.String())
	a := responseAnswer(resp, nil)
	if a.Code != 409 || a.Reason != metav1.StatusReasonAlreadyExists || a.Message != "there" || a.RetryAfter != 3*time.Second {
		t.Errorf("the answer is %+v", a)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(body, raw.Bytes()) {
		t.Errorf("the body is read: %d bytes are left, %v", len(body), err)
	}
}
