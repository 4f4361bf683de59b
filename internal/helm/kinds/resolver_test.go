// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/test/apitest"
)

// world is an API server in memory that counts its requests.
type world struct {
	*apitest.Server

	conn *cluster.Connection
	// paths are those of all requests.
	paths []string
	// answers are status codes by path.
	answers map[string]int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Server: apitest.New(t), answers: map[string]int{}}
	w.Offered = map[string][]string{
		"example.com/v1": {apitest.Entry("widgets", "Widget")},
		"batch/v1":       {apitest.Entry("cronjobs", "CronJob"), apitest.Entry("jobs", "Job")},
	}
	w.Refuse = func(_, path string) int {
		w.paths = append(w.paths, path)
		return w.answers[path]
	}
	var err error
	if w.conn, err = cluster.Connect(w.Config()); err != nil {
		t.Fatal(err)
	}
	return w
}

func kind(group, version, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: name}
}

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

func crd(group, name string) map[string]any {
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": strings.ToLower(name) + "s." + group},
		"spec": map[string]any{"group": group, "names": map[string]any{"kind": name}},
	}
}

// TestResolve: the state of a kind, and its mapping, follow from requests about its group.
func TestResolve(t *testing.T) {
	t.Parallel()
	gone := kind("gone.example.com", "v1", "Thing")
	for name, tc := range map[string]struct {
		gvk     schema.GroupVersionKind
		answers map[string]int
		crds    []map[string]any
		state   State
		// resource is "<group>/<version>/<resource>".
		resource    string
		unavailable string
		denied      bool
	}{
		"Served":         {gvk: kind("example.com", "v1", "Widget"), state: Served, resource: "example.com/v1/widgets"},
		"Core":           {gvk: kind("", "v1", "ConfigMap"), state: Served, resource: "/v1/configmaps"},
		"Moved":          {gvk: kind("batch", "v1beta1", "CronJob"), state: Moved, resource: "batch/v1/cronjobs"},
		"MovedGroup":     {gvk: kind("extensions", "v1beta1", "Ingress"), state: Moved, resource: "networking.k8s.io/v1/ingresses"},
		"NoGroup":        {gvk: gone, state: Gone},
		"NoKind":         {gvk: kind("example.com", "v1", "Gadget"), state: Gone},
		"NoCoreKind":     {gvk: kind("", "v1", "Gadget"), state: Gone},
		"CoreFails":      {gvk: kind("", "v1", "Gadget"), answers: map[string]int{"/api": 500}, unavailable: "answered with 500 Internal Server Error"},
		"GroupFails":     {gvk: gone, answers: map[string]int{"/apis/gone.example.com": 503}, unavailable: "answered with 503 Service Unavailable"},
		"GroupDenied":    {gvk: gone, answers: map[string]int{"/apis/gone.example.com": 403}, denied: true},
		"VersionFails":   {gvk: kind("example.com", "v2", "Widget"), answers: map[string]int{"/apis/example.com/v1": 429}, unavailable: "answered with 429 Too Many Requests"},
		"VersionDenied":  {gvk: kind("example.com", "v2", "Widget"), answers: map[string]int{"/apis/example.com/v1": 401}, denied: true},
		"CRD":            {gvk: gone, crds: []map[string]any{crd("gone.example.com", "Thing")}, unavailable: "CustomResourceDefinition things.gone.example.com exists, but is not served"},
		"OtherCRDs":      {gvk: gone, crds: []map[string]any{crd("example.com", "Thing"), crd("gone.example.com", "Gadget")}, state: Gone},
		"CRDsDenied":     {gvk: gone, crds: []map[string]any{crd("gone.example.com", "Thing")}, answers: map[string]int{crds: 403}, state: Gone},
		"CRDsFail":       {gvk: gone, answers: map[string]int{crds: 500}, unavailable: "answered with 500 Internal Server Error"},
		"CRDFails":       {gvk: gone, crds: []map[string]any{crd("gone.example.com", "Thing")}, answers: map[string]int{crds + "/things.gone.example.com": 503}, unavailable: "answered with 503 Service Unavailable"},
		"SuccessorFails": {gvk: kind("extensions", "v1beta1", "Ingress"), answers: map[string]int{"/apis/networking.k8s.io": 503}, unavailable: "answered with 503 Service Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, c := range tc.crds {
				name, _ := c["metadata"].(map[string]any)["name"].(string)
				w.Put(crds+"/"+name, c)
			}
			r := New(t.Context(), w.conn, nil)
			if _, err := r.Resolve(kind("", "v1", "Secret")); err != nil {
				t.Fatal(err)
			}
			w.answers = tc.answers
			got, err := r.Resolve(tc.gvk)
			var part *apiretry.UnavailableError
			if errors.As(err, &part) != (tc.unavailable != "") || part != nil && part.Why != tc.unavailable || (err != nil) != (tc.denied || part != nil) {
				t.Fatalf("error %v, want %q", err, tc.unavailable)
			}
			if err != nil {
				return
			}
			resource := ""
			if got.Mapping != nil {
				at := got.Mapping.Resource
				resource = at.Group + "/" + at.Version + "/" + at.Resource
			}
			if got.State != tc.state || resource != tc.resource {
				t.Errorf("state %d, resource %q; want %d, %q", got.State, resource, tc.state, tc.resource)
			}
		})
	}
}

// TestResolveRequests: a kind that the cached discovery has costs no request, and another one is
// looked for once.
func TestResolveRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := New(t.Context(), w.conn, nil)
	if _, err := r.Resolve(kind("", "v1", "ConfigMap")); err != nil {
		t.Fatal(err)
	}
	w.paths = nil
	for range 2 {
		for _, gvk := range []schema.GroupVersionKind{kind("example.com", "v1", "Widget"), kind("batch", "v1", "CronJob"), kind("apps", "v1", "Deployment")} {
			if got, err := r.Resolve(gvk); err != nil || got.State != Served {
				t.Fatalf("%v: %+v, %v", gvk, got, err)
			}
		}
	}
	if len(w.paths) > 0 {
		t.Errorf("requests for known kinds: %q", w.paths)
	}
	for range 3 {
		if got, err := r.Resolve(kind("gone.example.com", "v1", "Thing")); err != nil || got.State != Gone {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if want := []string{"/apis/gone.example.com/v1", "/apis/gone.example.com", crds}; !slices.Equal(w.paths, want) {
		t.Errorf("requests %q, want %q", w.paths, want)
	}
}

// TestRediscover: the cached discovery has a version that is no longer served.
func TestRediscover(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Offered["batch/v1beta1"] = []string{apitest.Entry("cronjobs", "CronJob")}
	r, old := New(t.Context(), w.conn, nil), kind("batch", "v1beta1", "CronJob")
	if got, err := r.Resolve(old); err != nil || got.State != Served {
		t.Fatalf("%+v, %v", got, err)
	}
	delete(w.Offered, "batch/v1beta1")
	if got, err := r.Resolve(old); err != nil || got.State != Served {
		t.Fatalf("without a reason to doubt: %+v, %v", got, err)
	}
	got, err := r.Rediscover(old)
	if err != nil || got.State != Moved || got.Mapping.Resource.Version != "v1" {
		t.Fatalf("%+v, %v", got, err)
	}
	w.paths = nil
	if again, err := r.Rediscover(old); err != nil || again != got || len(w.paths) > 0 {
		t.Errorf("the second time: %+v, %v, requests %q", again, err, w.paths)
	}
	if got, err := New(t.Context(), w.conn, nil).Resolve(old); err != nil || got.State != Moved {
		t.Errorf("the cached discovery is still used: %+v, %v", got, err)
	}
}

// TestRepeat: incomplete discovery is repeated, and a denied one is not.
func TestRepeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answers["/apis/gone.example.com"] = http.StatusServiceUnavailable
	calls := 0
	r := New(t.Context(), w.conn, func(_ context.Context, do func() error) error {
		err := do()
		for ; apiretry.IsTransient(err); err = do() {
			if calls++; calls == 3 {
				delete(w.answers, "/apis/gone.example.com")
			}
		}
		return err
	})
	if got, err := r.Resolve(kind("gone.example.com", "v1", "Thing")); err != nil || got.State != Gone || calls != 3 {
		t.Errorf("%+v, %v after %d calls", got, err, calls)
	}
	w.answers["/apis/denied.example.com"] = http.StatusForbidden
	if got, err := r.Resolve(kind("denied.example.com", "v1", "Thing")); err == nil || calls != 3 {
		t.Errorf("%+v, %v after %d calls", got, err, calls)
	}
}

// TestSuccessor: a kind of a new manifest that is not served has a successor if it has moved.
func TestSuccessor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := New(t.Context(), w.conn, nil)
	for gvk, want := range map[schema.GroupVersionKind]string{
		kind("batch", "v1beta1", "CronJob"):      "batch/v1",
		kind("extensions", "v1beta1", "Ingress"): "networking.k8s.io/v1",
		kind("gone.example.com", "v1", "Thing"):  "",
	} {
		if got := r.Successor(gvk).String(); got != want {
			t.Errorf("%v: %q, want %q", gvk, got, want)
		}
	}
	w.answers["/apis/batch"] = http.StatusForbidden
	if got := r.Successor(kind("batch", "v1beta1", "CronJob")); !got.Empty() {
		t.Errorf("unknown, but %v", got)
	}
}
