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

// TestParseWorkloadOfCloud: the data of a ConfigMap select a cluster of a cloud or are rejected.
func TestParseWorkloadOfCloud(t *testing.T) {
	t.Parallel()
	tenant := types.NamespacedName{Namespace: "apps", Name: "tenant"}
	unnamed := types.NamespacedName{Namespace: "apps"}
	for name, tc := range map[string]struct {
		reason  string
		data    map[string]string
		options WorkloadOptions
		want    *Workload
		wantErr string
	}{
		"Controller": {
			reason: "without a ServiceAccount it is the controller itself", data: map[string]string{"provider": "aws", "cluster": someEKS},
			want: &Workload{Cloud: "aws", Resource: someEKS, ServiceAccount: unnamed},
		},
		"Account": {
			reason: "the cloud sets the audiences of tokens", data: map[string]string{"provider": "azure", "cluster": someAKS, "serviceAccountName": "tenant"},
			options: WorkloadOptions{AllowServiceAccounts: true}, want: &Workload{Cloud: "azure", Resource: someAKS, ServiceAccount: tenant},
		},
		"Default": {
			reason: "a flag sets the ServiceAccount", data: map[string]string{"provider": "gcp", "cluster": someGKE},
			options: WorkloadOptions{DefaultServiceAccount: "tenant", AllowServiceAccounts: true}, want: &Workload{Cloud: "gcp", Resource: someGKE, ServiceAccount: tenant},
		},
		"Everything": {
			reason: "the path of a gateway selects the cluster", options: WorkloadOptions{AllowServiceAccounts: true},
			data: map[string]string{"provider": "gcp", "address": "Gateway/v1/far/", "ca.crt": "pem", "audiences": "a\nb", "serviceAccountName": "tenant"},
			want: &Workload{Cloud: "gcp", Address: "https://gateway:443/v1/far", CA: "pem", Audiences: []string{"a", "b"}, ServiceAccount: tenant},
		},
		"Gated":        {data: map[string]string{"provider": "aws", "cluster": someEKS, "serviceAccountName": "tenant"}, wantErr: "serviceAccountName requests tokens"},
		"GatedGeneric": {data: map[string]string{"provider": "generic", "address": "a", "serviceAccountName": "tenant"}, wantErr: "feature gate ObjectLevelWorkloadIdentity"},
		"NoCluster":    {data: map[string]string{"provider": "azure"}, wantErr: "cluster is missing: its form for azure is /subscriptions/"},
		"NamelessAWS": {
			reason: "tokens are bound to a name", options: WorkloadOptions{AllowServiceAccounts: true}, wantErr: "cluster is missing: its form for aws is arn:",
			data: map[string]string{"provider": "aws", "address": "a", "ca.crt": "pem", "serviceAccountName": "tenant"},
		},
		"NamelessController": {
			reason: "the cloud has to confirm the address", wantErr: "cluster is missing: its form for gcp",
			data: map[string]string{"provider": "gcp", "address": "a", "ca.crt": "pem"},
		},
		"OtherCloud": {data: map[string]string{"provider": "gcp", "cluster": someEKS}, wantErr: "cluster is not a valid name: its form for gcp"},
		"Password":   {data: map[string]string{"provider": "gcp", "cluster": someGKE, "address": "https://hunter:hunter@api"}, wantErr: "address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseWorkload(tc.data, "apps", tc.options)
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

// fakeCloud is a cloud with one cluster.
type fakeCloud struct {
	pool   *Connections
	clock  *clock
	server *httptest.Server
	// err is the error of lookups, and lookups is their number.
	err     error
	lookups int
	// seen are the tokens that the cluster received.
	seen     []string
	enqueued []string
}

func newFakeCloud(t *testing.T, o Options) *fakeCloud {
	t.Helper()
	s := &fakeCloud{}
	s.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.seen = append(s.seen, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"gitVersion":"v1"}`))
	}))
	t.Cleanup(s.server.Close)
	o.CloudLookup = func(context.Context, *Workload, TokenRequester) (Access, error) {
		s.lookups++
		return Access{Address: s.server.URL, CA: []byte(pemOf(s.server)), Token: fmt.Sprint("t", s.lookups), Expires: s.clock.Now().Add(15 * time.Minute)}, s.err
	}
	s.pool, s.clock = newPoolWith(t, &rest.Config{Host: "http://local"}, o)
	s.pool.gates.probing.Store(true)
	s.pool.SetCallbacks(Callbacks{Enqueue: func(key types.NamespacedName) { s.enqueued = append(s.enqueued, key.Name) }})
	return s
}

func cloudIdentity() Identity { return Identity{Workload: &Workload{Cloud: "aws", Resource: someEKS}} }

// probe sends the probes that are due, as Start does.
func (s *fakeCloud) probe(t *testing.T) {
	t.Helper()
	due, _ := s.pool.gates.probes()
	for key, g := range due {
		s.pool.gates.probe(t.Context(), key, g)
	}
}

func (s *fakeCloud) locate(name string) (Identity, *Unreachable) {
	return s.pool.Locate(cloudIdentity(), types.NamespacedName{Name: name})
}

// reconcile sends a request if Locate admits it.
func (s *fakeCloud) reconcile(t *testing.T) error {
	t.Helper()
	id, unknown := s.locate("a")
	if unknown != nil {
		return unknown
	}
	connection := s.pool.mustFor(t, id)
	connection.gate.breaker.phase = phaseReachable
	return s.request(connection)
}

func (s *fakeCloud) request(connection *Connection) error {
	d, _ := connection.ToDiscoveryClient()
	_, err := d.ServerVersion()
	return err
}

// TestLocate: a cloud is looked up in the background, once for all HelmReleases, and again before
// its token expires.
func TestLocate(t *testing.T) {
	t.Parallel()
	s := newFakeCloud(t, Options{})
	if _, err := s.pool.Peek(cloudIdentity()); err == nil || len(s.pool.gates.byDigest) > 0 {
		t.Errorf("a cluster that was not located: %v, %d gates", err, len(s.pool.gates.byDigest))
	}
	for _, name := range []string{"a", "b"} {
		if _, unknown := s.locate(name); unknown == nil || !unknown.Checking || unknown.Cloud != "aws" || s.lookups != 0 {
			t.Fatalf("%s: %+v, %d lookups", name, unknown, s.lookups)
		}
	}
	s.probe(t)
	if len(s.enqueued) != 2 || s.lookups != 1 {
		t.Fatalf("enqueued are %v, %d lookups", s.enqueued, s.lookups)
	}
	for range 2 {
		if err := s.reconcile(t); err != nil {
			t.Fatal(err)
		}
	}
	if conn, err := s.pool.Peek(cloudIdentity()); err != nil || conn.Host() != s.server.URL {
		t.Errorf("a cluster that was located: %v", err)
	}
	s.clock.pass(11 * time.Minute)
	if err := s.reconcile(t); err != nil {
		t.Fatal(err)
	}
	s.clock.pass(time.Minute)
	var unknown *Unreachable
	if err := s.reconcile(t); !errors.As(err, &unknown) || !unknown.Checking || s.lookups != 1 {
		t.Fatalf("with an old token: %v, %d lookups", err, s.lookups)
	}
	s.probe(t)
	if err := s.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"t1", "t1", "t1", "t2"}, s.seen); diff != "" {
		t.Errorf("tokens that the cluster received (-want +got):\n%s", diff)
	}
}

// TestCloudRejects: the message quotes the error of the cloud, and only probes repeat the lookup.
func TestCloudRejects(t *testing.T) {
	t.Parallel()
	s := newFakeCloud(t, Options{})
	_, _ = s.locate("a")
	s.probe(t)
	id, _ := s.locate("a")
	connection := s.pool.mustFor(t, id)
	connection.gate.breaker.phase = phaseReachable

	s.clock.pass(time.Hour)
	s.err = &quoted{}
	if err := s.request(connection); err == nil || s.lookups != 2 {
		t.Fatalf("got %v, %d lookups", err, s.lookups)
	}
	if rejected := s.pool.Admit(connection, types.NamespacedName{Name: "a"}); rejected == nil || !rejected.Checking {
		t.Errorf("admitted with %v", rejected)
	}
	s.probe(t)
	if err := s.request(connection); err == nil || s.lookups != 3 {
		t.Errorf("got %v, %d lookups", err, s.lookups)
	}
	rejected := s.pool.Admit(connection, types.NamespacedName{Name: "a"})
	want := "the cloud has not given access to " + someEKS + " since 1970-01-01T01:16:40Z: 403 no"
	if rejected == nil || rejected.Checking || rejected.Error() != want || rejected.Key != "cluster" {
		t.Errorf("got %v, want %s", rejected, want)
	}
	if connection.gate.breaker.phase != phaseReachable {
		t.Error("the cluster is suspected")
	}
	s.err = nil
	s.clock.pass(time.Minute)
	s.probe(t)
	if err := s.request(connection); err != nil {
		t.Error(err)
	}
	if len(s.enqueued) < 2 || s.pool.Admit(connection, types.NamespacedName{Name: "a"}) != nil {
		t.Errorf("enqueued are %v", s.enqueued)
	}
}

// quoted is an error whose text must not be quoted.
type quoted struct{}

func (*quoted) Error() string { return "secret" }
func (*quoted) Cause() string { return "403 no" }

// TestNoTokenCache: without a cache every request fetches a token at once.
func TestNoTokenCache(t *testing.T) {
	t.Parallel()
	s := newFakeCloud(t, Options{NoTokenCache: true, MaxTokenAge: time.Hour})
	_, _ = s.locate("a")
	s.probe(t)
	for range 3 {
		if err := s.reconcile(t); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"t2", "t3", "t4"}, s.seen); diff != "" {
		t.Errorf("tokens that the cluster received (-want +got):\n%s", diff)
	}
}

// TestLocatorStays: the gate of a cloud is kept while a cluster that it located is used.
func TestLocatorStays(t *testing.T) {
	t.Parallel()
	s := newFakeCloud(t, Options{})
	_, _ = s.locate("a")
	s.probe(t)
	id, _ := s.locate("a")
	connection := s.pool.mustFor(t, id)
	s.clock.pass(maxIdle)
	connection.gate.touch(s.clock.Now())
	s.pool.mustFor(t, Identity{})
	if s.pool.gates.byDigest[connection.locator.digest] == nil {
		t.Error("the gate of the cloud was removed")
	}
	s.clock.pass(maxIdle)
	s.pool.mustFor(t, Identity{})
	if len(s.pool.gates.byDigest) != 0 {
		t.Errorf("%d gates stay", len(s.pool.gates.byDigest))
	}
}

// TestChangedAccount: another identity in the cloud has a lookup of its own.
func TestChangedAccount(t *testing.T) {
	t.Parallel()
	w := cloudIdentity().Workload
	changed := *w
	changed.Annotations = map[string]string{"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/other"}
	if w.lookupDigest() == changed.lookupDigest() || w.digest() == changed.digest() || w.lookupDigest() == w.digest() {
		t.Error("they share a lookup")
	}
}
