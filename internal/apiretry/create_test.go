// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

const sentJob = `{"metadata":{"name":"j","labels":{"a":"b"},"annotations":{"pintle.dev/attempt":"uid.3"}},"spec":{}}`

// TestCreateUnanswered: a creation is repeated until the object exists, and an object of another
// client is not taken for it.
func TestCreateUnanswered(t *testing.T) {
	t.Parallel()
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "j", Labels: map[string]string{"version": "3"}},
		Data:       map[string][]byte{"release": []byte("abc")},
	}
	var raw bytes.Buffer
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if err := info.Serializer.Encode(secret, &raw); err != nil {
		t.Fatal(err)
	}
	const exists = `{"kind":"Status","reason":"AlreadyExists","code":409}`
	cases := map[string]struct {
		reason string
		kind   string
		sent   string
		// first is the code of the first answer; zero is no answer.
		first int
		live  string
		want  int
	}{
		"Lost":       {"the first attempt was carried out", "application/json", sentJob, 0, sentJob, 201},
		"FiveAfter":  {"the same, answered with an error", "application/json", sentJob, 500, sentJob, 201},
		"Defaulted":  {"the API server adds to what is sent", "application/json", sentJob, 0, strings.Replace(sentJob, `"a":"b"`, `"a":"b","c":"d"`, 1), 201},
		"Others":     {"another attempt created it", "application/json", sentJob, 0, strings.Replace(sentJob, "uid.3", "uid.2", 1), 409},
		"Unmarked":   {"no label or annotation identifies the object", "application/json", `{"metadata":{"name":"j"}}`, 0, `{"metadata":{"name":"j"}}`, 409},
		"TurnedAway": {"the first attempt was not carried out", "application/json", sentJob, 429, sentJob, 409},
		"Secret":     {"a record counts by its content", runtime.ContentTypeProtobuf, raw.String(), 0, `{"metadata":{"name":"j","labels":{"version":"3"}},"data":{"release":"YWJj"}}`, 201},
		"OtherData":  {"another process recorded something else", runtime.ContentTypeProtobuf, raw.String(), 0, `{"metadata":{"name":"j","labels":{"version":"3"}},"data":{"release":"eHl6"}}`, 409},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := New(t.Context(), Options{Now: time.Now})
				defer r.End()
				posts := 0
				next := roundTripper(func(req *http.Request) (*http.Response, error) {
					if req.Method == http.MethodGet {
						if req.URL.Path != "/api/v1/jobs/j" || req.URL.RawQuery != "" {
							t.Errorf("%s: read %s", tc.reason, req.URL)
						}
						return answer(200, "application/json", tc.live), nil
					}
					switch posts++; {
					case posts > 1:
						return answer(409, "application/json", exists), nil
					case tc.first == 0:
						return nil, io.ErrUnexpectedEOF
					}
					return answer(tc.first, "application/json", `{"kind":"Status"}`), nil
				})
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api/api/v1/jobs?fieldManager=m", strings.NewReader(tc.sent))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", tc.kind)
				resp, err := r.Transport(next).RoundTrip(req)
				if err != nil || resp.StatusCode != tc.want || posts != 2 {
					t.Fatalf("%s: answered with %v, %v after %d attempts, want %d", tc.reason, resp, err, posts, tc.want)
				}
				if body, err := io.ReadAll(resp.Body); err != nil || tc.want == 201 && string(body) != tc.live {
					t.Errorf("%s: the answer is %s, %v", tc.reason, body, err)
				}
			})
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
