// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// apiServer answers discovery for the core group, and for the group example.com after add.
type apiServer struct {
	*httptest.Server

	mu       sync.Mutex
	requests []string
	added    bool
	// broken is true if the group exists and requests for it fail.
	broken bool
	// denied is the user whose requests are denied.
	denied string
	// versions is the number of versions of a further group.
	versions int
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.URL.Path)
	if s.denied != "" && r.Header.Get("Impersonate-User") == s.denied {
		http.Error(w, "denied by the test", http.StatusForbidden)
		return
	}
	if s.broken && strings.Contains(r.URL.Path, "example.com") {
		http.Error(w, "broken by the test", http.StatusServiceUnavailable)
		return
	}
	groups := ""
	if s.added || s.broken {
		groups = `{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}`
	}
	if s.versions > 0 {
		listed := strings.TrimSuffix(strings.Repeat(`{"groupVersion":"many.example.com/v1","version":"v1"},`, s.versions), ",")
		groups = `{"name":"many.example.com","versions":[` + listed + `]}`
	}
	answers := map[string]string{
		"/version":             `{"major":"1","minor":"33","gitVersion":"v1.33.0"}`,
		"/api":                 `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":                `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + groups + `]}`,
		"/api/v1":              `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","namespaced":true,"kind":"ConfigMap","verbs":["get"]}]}`,
		"/apis/example.com/v1": `{"kind":"APIResourceList","groupVersion":"example.com/v1","resources":[{"name":"things","namespaced":true,"kind":"Thing","verbs":["get"]}]}`,
	}
	answer, ok := answers[r.URL.Path]
	if !ok || strings.Contains(r.URL.Path, "example.com") && !s.added {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(answer))
}

func (s *apiServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *apiServer) add()             { s.set(func() { s.added, s.broken = true, false }) }
func (s *apiServer) addBroken()       { s.set(func() { s.broken = true }) }
func (s *apiServer) deny(user string) { s.set(func() { s.denied = user }) }

// manyGroups returns discovery of n CRDs, each in a group of its own.
func manyGroups(n int) (groups []*metav1.APIGroup, resources []*metav1.APIResourceList) {
	for i := range n {
		name := fmt.Sprintf("group-%d.example.com", i)
		v := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
		groups = append(groups, &metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
		resources = append(resources, &metav1.APIResourceList{GroupVersion: v.GroupVersion, APIResources: []metav1.APIResource{
			{Name: "things", SingularName: "thing", Kind: "Thing", Namespaced: true}, {Name: "things/status", Kind: "Thing", Namespaced: true},
		}})
	}
	return groups, resources
}

// count returns the number of requests.
func (s *apiServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// TestConnectSendsNothing: an unused connection sends no request.
func TestConnectSendsNothing(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t)
	c, err := Connect(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if n := s.count(); n != 0 {
		t.Errorf("an unused connection sent %d requests", n)
	}
	if ns, _, err := c.ToRawKubeConfigLoader().Namespace(); err == nil {
		t.Errorf("the loader returned the namespace %q", ns)
	}
}

// TestConnectErrors: the error of an invalid configuration contains the host.
func TestConnectErrors(t *testing.T) {
	t.Parallel()
	_, err := Connect(&rest.Config{Host: "https://a", TLSClientConfig: rest.TLSClientConfig{Insecure: true, CAData: []byte("no certificate")}})
	if err == nil || !strings.Contains(err.Error(), "https://a") {
		t.Errorf("the error does not contain the host: %v", err)
	}
}

// TestConfigIsCopied: a change of a configuration does not reach the connection.
func TestConfigIsCopied(t *testing.T) {
	t.Parallel()
	given := &rest.Config{Host: "http://first"}
	c, err := Connect(given)
	if err != nil {
		t.Fatal(err)
	}
	given.Host = "http://changed"
	first, err := c.ToRESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	first.Impersonate.UserName = "other"
	second, _ := c.ToRESTConfig()
	if second.Host != "http://first" || second.Impersonate.UserName != "" {
		t.Errorf("a change of one copy reached another: host %s, user %q", second.Host, second.Impersonate.UserName)
	}
}

// TestDiscoveryAndMapperAreShared: repeated lookups cause no further requests.
func TestDiscoveryAndMapperAreShared(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t)
	c, err := Connect(&rest.Config{Host: s.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		d, err := c.ToDiscoveryClient()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.ServerResourcesForGroupVersion("v1"); err != nil {
			t.Fatal(err)
		}
	}
	once := s.count()
	d, _ := c.ToDiscoveryClient()
	if _, err := d.ServerResourcesForGroupVersion("v1"); err != nil || s.count() != once {
		t.Errorf("discovery was requested again: %d requests after %d, %v", s.count(), once, err)
	}

	mapping := func(kind schema.GroupKind) string {
		t.Helper()
		m, err := c.ToRESTMapper()
		if err != nil {
			t.Fatal(err)
		}
		found, err := m.RESTMapping(kind, "v1")
		if err != nil {
			return err.Error()
		}
		return found.Resource.Resource
	}
	if diff := cmp.Diff("configmaps", mapping(schema.GroupKind{Kind: "ConfigMap"})); diff != "" {
		t.Errorf("ConfigMap (-want +got):\n%s", diff)
	}
	once = s.count()
	mapping(schema.GroupKind{Kind: "ConfigMap"})
	if s.count() != once {
		t.Error("the mapper requested a known kind again")
	}
}

// TestMapperFindsNewKinds: a kind is found after its CRD was created, as by a chart.
func TestMapperFindsNewKinds(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t)
	c, err := Connect(&rest.Config{Host: s.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := c.ToRESTMapper()
	thing := schema.GroupKind{Group: "example.com", Kind: "Thing"}
	if _, err := m.RESTMapping(thing, "v1"); err == nil {
		t.Fatal("an unknown kind was found")
	}
	s.mu.Lock()
	s.added = true
	s.mu.Unlock()
	found, err := m.RESTMapping(thing, "v1")
	if err != nil || found.Resource.Resource != "things" {
		t.Errorf("the added kind is not found: %v, %v", found, err)
	}
}
