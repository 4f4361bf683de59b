// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const (
	someEKS = "arn:aws:eks:eu-west-1:123456789012:cluster/far"
	someAKS = "/subscriptions/11111111-2222-3333-4444-555555555555/resourcegroups/g/providers/Microsoft.ContainerService/managedClusters/far"
	someGKE = "projects/p/locations/l/clusters/far"
)

func TestParseWorkloadOfCloud(t *testing.T) {
	t.Parallel()
	tenant := types.NamespacedName{Namespace: "apps", Name: "tenant"}
	nobody := types.NamespacedName{Namespace: "apps"}
	for name, tc := range map[string]struct {
		reason  string
		data    map[string]string
		terms   WorkloadOptions
		want    *Workload
		wantErr string
	}{
		"Itself": {
			reason: "nobody is named, so it is the controller", data: map[string]string{"provider": "aws", "cluster": someEKS},
			want: &Workload{Cloud: "aws", Resource: someEKS, ServiceAccount: nobody},
		},
		"Account": {
			reason: "the cloud says whom tokens are for", data: map[string]string{"provider": "azure", "cluster": someAKS, "serviceAccountName": "tenant"},
			terms: WorkloadOptions{AllowServiceAccounts: true}, want: &Workload{Cloud: "azure", Resource: someAKS, ServiceAccount: tenant},
		},
		"Default": {
			reason: "the flag names somebody", data: map[string]string{"provider": "gcp", "cluster": someGKE},
			terms: WorkloadOptions{DefaultServiceAccount: "tenant", AllowServiceAccounts: true}, want: &Workload{Cloud: "gcp", Resource: someGKE, ServiceAccount: tenant},
		},
		"Everything": {
			reason: "the path of a gateway says where it leads", terms: WorkloadOptions{AllowServiceAccounts: true},
			data: map[string]string{"provider": "gcp", "address": "Gateway/v1/far/", "ca.crt": "pem", "audiences": "a\nb", "serviceAccountName": "tenant"},
			want: &Workload{Cloud: "gcp", Address: "https://gateway:443/v1/far", CA: "pem", Audiences: []string{"a", "b"}, ServiceAccount: tenant},
		},
		"Gated":        {data: map[string]string{"provider": "aws", "cluster": someEKS, "serviceAccountName": "tenant"}, wantErr: "serviceAccountName asks for tokens"},
		"GatedGeneric": {data: map[string]string{"provider": "generic", "address": "a", "serviceAccountName": "tenant"}, wantErr: "feature gate ObjectLevelWorkloadIdentity"},
		"NoCluster":    {data: map[string]string{"provider": "azure"}, wantErr: "cluster is missing: for azure it is like /subscriptions/"},
		"NamelessAWS": {
			reason: "tokens are for a name", terms: WorkloadOptions{AllowServiceAccounts: true}, wantErr: "cluster is missing: for aws it is like arn:",
			data: map[string]string{"provider": "aws", "address": "a", "ca.crt": "pem", "serviceAccountName": "tenant"},
		},
		"NamelessItself": {
			reason: "the cloud has to confirm the address", wantErr: "cluster is missing: for gcp",
			data: map[string]string{"provider": "gcp", "address": "a", "ca.crt": "pem"},
		},
		"OtherCloud": {data: map[string]string{"provider": "gcp", "cluster": someEKS}, wantErr: "cluster is not the name of one: for gcp"},
		"Password":   {data: map[string]string{"provider": "gcp", "cluster": someGKE, "address": "https://hunter:hunter@api"}, wantErr: "address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseWorkload(tc.data, "apps", tc.terms)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) || strings.Contains(err.Error(), "hunter") {
					t.Errorf("got %v, %v, want %s", got, err, tc.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

// sky is a cloud with one cluster.
type sky struct {
	pool   *Connections
	clock  *clock
	server *httptest.Server
	// err is what the cloud says, and asked how often.
	err   error
	asked int
	seen  []string
	woken []string
}

func newSky(t *testing.T) *sky {
	t.Helper()
	s := &sky{}
	s.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.seen = append(s.seen, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"gitVersion":"v1"}`))
	}))
	t.Cleanup(s.server.Close)
	s.pool, s.clock = newPool(t, &rest.Config{Host: "http://local"})
	s.pool.probing.Store(true)
	s.pool.SetCallbacks(Callbacks{Enqueue: func(who types.NamespacedName) { s.woken = append(s.woken, who.Name) }})
	s.pool.WithCloudLookup(func(context.Context, *Workload, TokenRequester) (Access, error) {
		s.asked++
		return Access{Address: s.server.URL, CA: []byte(pemOf(s.server)), Token: fmt.Sprint("t", s.asked), Expires: s.clock.Now().Add(15 * time.Minute)}, s.err
	})
	return s
}

func far1() Identity { return Identity{Workload: &Workload{Cloud: "aws", Resource: someEKS}} }

// probe does what Start would.
func (s *sky) probe(t *testing.T) {
	t.Helper()
	due, _ := s.pool.probes()
	for key, g := range due {
		s.pool.probe(t.Context(), key, g)
	}
}

func (s *sky) locate(name string) (Identity, *Unreachable) {
	return s.pool.Locate(far1(), types.NamespacedName{Name: name})
}

// visit sends a request if it is let.
func (s *sky) visit(t *testing.T) error {
	t.Helper()
	id, unknown := s.locate("a")
	if unknown != nil {
		return unknown
	}
	way := s.pool.mustFor(t, id)
	way.gate.breaker.phase = sound
	return s.request(way)
}

func (s *sky) request(way *Connection) error {
	d, _ := way.ToDiscoveryClient()
	_, err := d.ServerVersion()
	return err
}

// TestLocate: nobody waits for a cloud but who asks it, once for all, and again before
// what it said expires.
func TestLocate(t *testing.T) {
	t.Parallel()
	s := newSky(t)
	for _, name := range []string{"a", "b"} {
		if _, unknown := s.locate(name); unknown == nil || !unknown.Checking || unknown.Cloud != "aws" || s.asked != 0 {
			t.Fatalf("%s: %+v, asked %d times", name, unknown, s.asked)
		}
	}
	s.probe(t)
	if len(s.woken) != 2 || s.asked != 1 {
		t.Fatalf("woken are %v, asked %d times", s.woken, s.asked)
	}
	for range 2 {
		if err := s.visit(t); err != nil {
			t.Fatal(err)
		}
	}
	s.clock.pass(11 * time.Minute)
	if err := s.visit(t); err != nil {
		t.Fatal(err)
	}
	s.clock.pass(time.Minute)
	var unknown *Unreachable
	if err := s.visit(t); !errors.As(err, &unknown) || !unknown.Checking || s.asked != 1 {
		t.Fatalf("with an old token: %v, asked %d times", err, s.asked)
	}
	s.probe(t)
	if err := s.visit(t); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"t1", "t1", "t1", "t2"}, s.seen); diff != "" {
		t.Errorf("the cluster saw (-want +got):\n%s", diff)
	}
}

// TestCloudRefuses: what the cloud says is told, and it is not asked by requests again,
// only by probes.
func TestCloudRefuses(t *testing.T) {
	t.Parallel()
	s := newSky(t)
	_, _ = s.locate("a")
	s.probe(t)
	id, _ := s.locate("a")
	way := s.pool.mustFor(t, id)
	way.gate.breaker.phase = sound

	s.clock.pass(time.Hour)
	s.err = &quoted{}
	if err := s.request(way); err == nil || s.asked != 2 {
		t.Fatalf("got %v, asked %d times", err, s.asked)
	}
	if refused := s.pool.Admit(way, types.NamespacedName{Name: "a"}); refused == nil || !refused.Checking {
		t.Errorf("admitted with %v", refused)
	}
	s.probe(t)
	if err := s.request(way); err == nil || s.asked != 3 {
		t.Errorf("got %v, asked %d times", err, s.asked)
	}
	refused := s.pool.Admit(way, types.NamespacedName{Name: "a"})
	want := "there has been no way to " + someEKS + " since 1970-01-01T01:16:40Z: 403 no; it is tried again within 1m0s"
	if refused == nil || refused.Checking || refused.Error() != want || refused.Key != "cluster" {
		t.Errorf("got %v, want %s", refused, want)
	}
	if way.gate.breaker.phase != sound {
		t.Error("the cluster is suspected")
	}
	s.err = nil
	s.clock.pass(time.Minute)
	s.probe(t)
	if err := s.request(way); err != nil {
		t.Error(err)
	}
	if len(s.woken) < 2 || s.pool.Admit(way, types.NamespacedName{Name: "a"}) != nil {
		t.Errorf("woken are %v", s.woken)
	}
}

// quoted has a text that must not be told.
type quoted struct{}

func (*quoted) Error() string { return "secret" }
func (*quoted) Cause() string { return "403 no" }

// TestKeepNothing: without a cache every request asks for a token, and none waits.
func TestKeepNothing(t *testing.T) {
	t.Parallel()
	s := newSky(t)
	s.pool.WithMaxTokenAge(0)
	_, _ = s.locate("a")
	s.probe(t)
	for range 3 {
		if err := s.visit(t); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"t2", "t3", "t4"}, s.seen); diff != "" {
		t.Errorf("the cluster saw (-want +got):\n%s", diff)
	}
}

// TestLocatorStays as long as a cluster does that was found through it.
func TestLocatorStays(t *testing.T) {
	t.Parallel()
	s := newSky(t)
	_, _ = s.locate("a")
	s.probe(t)
	id, _ := s.locate("a")
	way := s.pool.mustFor(t, id)
	s.clock.pass(maxIdle)
	way.gate.touch(s.clock.Now())
	s.pool.mustFor(t, Identity{})
	if s.pool.gates[way.locator.key] == nil {
		t.Error("nobody asks the cloud any more")
	}
	s.clock.pass(maxIdle)
	s.pool.mustFor(t, Identity{})
	if len(s.pool.gates) != 0 {
		t.Errorf("%d gates stay", len(s.pool.gates))
	}
}

// TestChangedAccount: another identity in the cloud is looked up anew.
func TestChangedAccount(t *testing.T) {
	t.Parallel()
	w := far1().Workload
	changed := *w
	changed.Annotations = map[string]string{"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/other"}
	if w.lookup() == changed.lookup() || w.digest() == changed.digest() || w.lookup() == w.digest() {
		t.Error("they share what was found")
	}
}
