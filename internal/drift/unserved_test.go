// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestUnservedKinds: objects whose kinds are gone are excluded, and looked for again at the next
// comparison. The API server may serve them again.
func TestUnservedKinds(t *testing.T) {
	t.Parallel()
	d := NewDetector(time.Now)
	widget := release.Object{Group: "example.com", Version: "v1", Kind: "Widget", Name: "web"}
	calls, skipped := 0, []release.Object{widget}
	request := Request{
		Release: types.NamespacedName{Name: "web"}, Revision: "1",
		Objects: func(context.Context) ([]*resource.Info, []release.Object, error) {
			calls++
			return nil, skipped, nil
		},
		Changed: func(schema.GroupVersionResource, string, string, string, string) Change { return Unchanged },
	}
	for want := 1; want <= 2; want++ {
		found, err := d.Detect(t.Context(), request)
		if err != nil || len(found.Objects) > 0 || len(found.Errors) > 0 || len(found.Excluded) != 1 || found.Excluded[0] != widget || calls != want {
			t.Fatalf("%+v, %v after %d calls", found, err, calls)
		}
	}
	skipped = nil
	for range 2 {
		if found, err := d.Detect(t.Context(), request); err != nil || len(found.Excluded) > 0 || calls != 3 {
			t.Fatalf("%+v, %v after %d calls", found, err, calls)
		}
	}
}

type answers string

func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	kind := "application/json"
	if !strings.HasPrefix(string(a), "{") {
		kind = "text/plain"
	}
	return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(string(a))), Request: req}, nil
}

const notFound answers = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`

// clientOf returns a client whose requests are answered by a transport.
func clientOf(t *testing.T, transport http.RoundTripper) *rest.RESTClient {
	t.Helper()
	config := &rest.Config{Host: "http://cluster", Transport: transport, APIPath: "/apis", ContentConfig: resource.UnstructuredPlusDefaultContentConfig()}
	config.GroupVersion = &schema.GroupVersion{Group: "example.com", Version: "v1"}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestKindEndsMeanwhile: an object is removed if the API server says so. A kind that has ceased to be
// served says nothing about its objects, and the comparison is repeated.
func TestKindEndsMeanwhile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer  answers
		removed bool
	}{
		"Removed":  {notFound, true},
		"Unserved": {"404 page not found\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info := infoOf("Widget", "web")
			info.Client = clientOf(t, tc.answer)
			found, err := NewDetector(time.Now).Detect(t.Context(), Request{
				Release: types.NamespacedName{Name: "web"}, Revision: "1",
				Objects: func(context.Context) ([]*resource.Info, []release.Object, error) {
					return []*resource.Info{info}, nil, nil
				},
			})
			if err != nil || found.Removed() != tc.removed || (len(found.Errors) == 1 && found.Errors[0].Transient) == tc.removed {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

// TestExpiredJob: a Job that the cluster deletes after its end is not missed, and not read again.
// Other Jobs are.
func TestExpiredJob(t *testing.T) {
	t.Parallel()
	for spec, removed := range map[string]bool{
		`{"ttlSecondsAfterFinished":0}`: false, `{"ttlSecondsAfterFinished":600}`: false,
		`{}`: true, `{"ttlSecondsAfterFinished":null}`: true,
	} {
		info := infoOf("Job", "migrate")
		info.Client, info.Object = clientOf(t, notFound), decode(t, []byte(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"migrate"},"spec":`+spec+`}`))
		d := NewDetector(time.Now)
		request := Request{Release: types.NamespacedName{Name: "web"}, Revision: "1", Objects: func(context.Context) ([]*resource.Info, []release.Object, error) {
			return []*resource.Info{info}, nil, nil
		}}
		found, err := d.Detect(t.Context(), request)
		if err != nil || found.Removed() != removed || len(found.Errors) > 0 || len(found.Excluded) > 0 {
			t.Errorf("%s: %+v, %v", spec, found, err)
		}
		if again := len(d.stateOf(request.Release, "1").stale(request, time.Now())); removed != (again == 1) {
			t.Errorf("%s: %d objects are read again", spec, again)
		}
	}
}

type panics struct{}

func (panics) RoundTrip(*http.Request) (*http.Response, error) { panic("a Secret") }

// TestPanics: a comparison that panics is the error of its object. The process goes on, and the object
// is compared again.
func TestPanics(t *testing.T) {
	t.Parallel()
	info := infoOf("Widget", "web")
	info.Client = clientOf(t, panics{})
	d := NewDetector(time.Now)
	request := Request{Release: types.NamespacedName{Name: "web"}, Revision: "1", Objects: func(context.Context) ([]*resource.Info, []release.Object, error) {
		return []*resource.Info{info, infoOf("Widget", "broken")}, nil, nil
	}}
	for range 2 {
		found, err := d.Detect(t.Context(), request)
		if err != nil || len(found.Errors) != 2 || found.Errors[0].Name != "web" || found.Errors[0].Err != "panic: string" || !strings.HasPrefix(found.Errors[1].Err, "panic: runtime error: ") {
			t.Errorf("%+v, %v", found, err)
		}
	}
	retrier := apiretry.New(t.Context(), apiretry.Options{Now: time.Now})
	defer retrier.End()
	broken := &objectState{object: release.Object{Name: "web"}, found: &finding{info: info, body: &unstructured.Unstructured{Object: map[string]any{"kind": "Widget"}}}}
	failed := d.correctAll(t.Context(), []*objectState{broken}, Request{Retrier: retrier})
	if len(failed) != 1 || failed[0].Err != "panic: string" || broken.err != "panic: string" || broken.found != nil {
		t.Errorf("%+v, %+v", failed, broken)
	}
}
