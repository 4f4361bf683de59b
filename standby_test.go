// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	"github.com/pintle-dev/pintle/internal/leader"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/options"
)

// leases serves the Leases of a name in all namespaces: one is renewed in namespace "other".
func leases(t *testing.T) *httptest.Server {
	t.Helper()
	now := metav1.NowMicro()
	list := coordinationv1.LeaseList{
		TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "LeaseList"},
		Items: []coordinationv1.Lease{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: leaseName(&options.Options{})},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To("other-1"), LeaseDurationSeconds: ptr.To[int32](600),
				AcquireTime: &metav1.MicroTime{Time: now.Add(-time.Hour)}, RenewTime: &now,
			},
		}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/coordination.k8s.io/v1/leases" || r.URL.Query().Get("fieldSelector") != "metadata.name="+list.Items[0].Name {
			http.Error(w, r.URL.String(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(list); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// TestStandby: a controller of all namespaces waits while a Lease of its name is renewed in another
// namespace, and reports that. With --allow-second-controller it does not look for others.
func TestStandby(t *testing.T) {
	server := leases(t)
	t.Setenv("RUNTIME_NAMESPACE", "here")
	for name, tc := range map[string]struct {
		args []string
		want bool
	}{
		"Waits":        {[]string{"--enable-leader-election"}, true},
		"Allowed":      {[]string{"--enable-leader-election", "--allow-second-controller"}, false},
		"OneNamespace": {[]string{"--enable-leader-election", "--watch-all-namespaces=false"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := options.Parse(tc.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			registry := prometheus.NewRegistry()
			m, err := metrics.New(registry)
			if err != nil {
				t.Fatal(err)
			}
			e, err := newElection(&rest.Config{Host: server.URL}, o, m)
			if err != nil {
				t.Fatal(err)
			}
			if _, waits := e.fence.Interface.(*leader.StandbyLock); waits != tc.want {
				t.Errorf("the lock looks for others: %t, want %t", waits, tc.want)
			}
			if !tc.want {
				return
			}
			recorder := record.NewFakeRecorder(1)
			e.recorder.EventRecorder = recorder
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error)
			go func() { _, _, err := e.fence.Get(ctx); ended <- err }()
			select {
			case event := <-recorder.Events:
				if want := "Warning Standby Lease other/" + leaseName(o) + " is renewed by other-1"; !strings.HasPrefix(event, want) {
					t.Errorf("the event is %q, want %q", event, want)
				}
			case err := <-ended:
				t.Fatalf("it does not wait: %v", err)
			}
			if n := gaugeOf(t, registry, "pintle_standby"); n != 1 {
				t.Errorf("pintle_standby is %v", n)
			}
			cancel()
			if err := <-ended; err == nil {
				t.Error("the Lease was read while another controller leads")
			}
		})
	}
}

// gaugeOf returns the value of a gauge without labels; -1 if there is none.
func gaugeOf(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range all {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return -1
}
