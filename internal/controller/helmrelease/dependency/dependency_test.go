// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/watch"
)

// discovered is an API server that tells which kinds it serves, and has one object of
// each name that it is given.
type discovered struct {
	mu sync.Mutex
	// kinds are "<group>/<version>/<plural>/<kind>".
	kinds   []string
	objects []string
	gets    []string
	as      []string
}

func (d *discovered) serve(kinds ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kinds = kinds
}

// RoundTrip implements http.RoundTripper: nothing goes over a network, which no clock
// of a test could wait for.
func (d *discovered) RoundTrip(req *http.Request) (*http.Response, error) {
	rw := httptest.NewRecorder()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer(rw, req)
	return rw.Result(), nil
}

func (d *discovered) answer(rw http.ResponseWriter, req *http.Request) {
	rw.Header().Set("Content-Type", "application/json")
	write := func(o any) { _ = json.NewEncoder(rw).Encode(o) }
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	groups, resources := d.lists()
	switch {
	case req.URL.Path == "/version":
		write(map[string]string{"major": "1", "minor": "34"})
	case req.URL.Path == "/api":
		write(metav1.APIVersions{Versions: []string{}})
	case req.URL.Path == "/apis":
		write(groups)
	case len(parts) == 3 && resources[parts[1]+"/"+parts[2]] != nil:
		write(resources[parts[1]+"/"+parts[2]])
	case len(parts) > 4 && slices.Contains(d.objects, parts[len(parts)-1]):
		d.gets, d.as = append(d.gets, req.URL.Path), append(d.as, req.Header.Get("Impersonate-User"))
		write(map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": map[string]any{"name": parts[len(parts)-1]}})
	default:
		if len(parts) > 4 {
			d.gets, d.as = append(d.gets, req.URL.Path), append(d.as, req.Header.Get("Impersonate-User"))
		}
		rw.WriteHeader(http.StatusNotFound)
		write(metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	}
}

func (d *discovered) lists() (metav1.APIGroupList, map[string]*metav1.APIResourceList) {
	groups, resources := metav1.APIGroupList{}, map[string]*metav1.APIResourceList{}
	for _, k := range d.kinds {
		p := strings.Split(k, "/")
		gv := metav1.GroupVersionForDiscovery{GroupVersion: p[0] + "/" + p[1], Version: p[1]}
		groups.Groups = append(groups.Groups, metav1.APIGroup{Name: p[0], Versions: []metav1.GroupVersionForDiscovery{gv}, PreferredVersion: gv})
		resources[gv.GroupVersion] = &metav1.APIResourceList{GroupVersion: gv.GroupVersion, APIResources: []metav1.APIResource{{Name: p[2], Kind: p[3], Namespaced: true}}}
	}
	return groups, resources
}

func (d *discovered) connections() *cluster.Connections {
	return cluster.NewConnections(&rest.Config{Host: "http://apiserver", Transport: d}, cluster.Options{Now: time.Now})
}

// targets records the objects that are awaited.
type targets struct {
	mu      sync.Mutex
	awaited map[types.NamespacedName]string
}

func (o *targets) WatchObjects(key types.NamespacedName, c watch.Cluster, objects []watch.Target) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.awaited[key] = c.ID + " " + fmt.Sprint(objects)
}

func (o *targets) Forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.awaited, key)
}

func awaits(unserved bool, kind, name string) error {
	return &release.Blocked{Err: &inputs.PendingDependency{
		Object:   inputs.Object{Kind: schema.GroupVersionKind{Group: "a.b", Version: "v1", Kind: kind}, Key: types.NamespacedName{Namespace: "infra", Name: name}},
		Unserved: unserved,
	}}
}

func TestSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, objects := &discovered{}, &targets{awaited: map[types.NamespacedName]string{}}
		var mu sync.Mutex
		var enqueued []string
		var memory controller.Table[State]
		a := NewSubscriptions(objects, server.connections(), &memory, func(key types.NamespacedName) {
			mu.Lock()
			defer mu.Unlock()
			enqueued = append(enqueued, key.Name)
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = a.Start(ctx) })
		expect := func(why string, names ...string) {
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(enqueued)
			if !slices.Equal(enqueued, names) {
				t.Errorf("%s: %v are enqueued, want %v", why, enqueued, names)
			}
			enqueued = nil
		}
		app, other, third := types.NamespacedName{Name: "app"}, types.NamespacedName{Name: "other"}, types.NamespacedName{Name: "third"}
		a.Await(app, awaits(true, "Thing", "x"))
		a.Await(other, awaits(true, "Else", "x"))
		a.Await(third, awaits(true, "Thing", "y"))
		a.CapabilitiesChanged()
		expect("nothing is served")
		a.CapabilitiesChanged()
		// A kind is served some time after its definition is there.
		time.Sleep(3 * time.Second)
		a.Await(third, nil)
		server.serve("a.b/v1/things/Thing")
		expect("a kind is served", "app")
		a.Await(app, awaits(false, "Thing", "x"))
		if got := objects.awaited[app]; got != "local [{a.b/v1, Resource=things infra x}]" {
			t.Errorf("awaited is %q", got)
		}
		a.CapabilitiesChanged()
		expect("it waits for an object now")
		a.Await(app, &release.Blocked{})
		if len(objects.awaited) != 0 {
			t.Errorf("no HelmRelease waits for an object: %v", objects.awaited)
		}
		server.serve("a.b/v1/elses/Else")
		// It came between the read and now.
		a.Await(app, awaits(true, "Else", "z"))
		expect("at once", "app", "other")
		a.Forget(app)
		if kinds := a.kinds(); len(kinds) != 0 {
			t.Errorf("no HelmRelease waits, but for %v", kinds)
		}
		cancel()
		running.Wait()
	})
}

// TestNamesake: objects of other kinds with the name are read with the identity of the release, of
// served kinds only, and not in each reconciliation.
func TestNamesake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &discovered{objects: []string{"infra"}}
		now := time.Unix(1000, 0)
		var memory controller.Table[State]
		d := &Objects{Connections: &controller.ConnectionFinder{Clusters: server.connections()}, Memory: &memory, Now: func() time.Time { return now }}
		kinds := []schema.GroupKind{{Group: "a.b", Kind: "First"}, {Group: "a.b.c", Kind: "Second"}}
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
		hr.Spec.ServiceAccountName = "web"
		ask := func(name string) (schema.GroupKind, bool) {
			return d.Namesake(t.Context(), hr, kinds, types.NamespacedName{Namespace: "prod", Name: name})
		}
		if _, found := ask("infra"); found || len(server.gets) != 0 {
			t.Errorf("of kinds that are not served: %t, %v", found, server.gets)
		}
		server.serve("a.b.c/v2/seconds/Second", "x.y/v1/firsts/First")
		d.Connections.Clusters.APIsChanged()
		if _, found := ask("infra"); found {
			t.Error("it was asked for a moment ago")
		}
		now = now.Add(namesakeTTL)
		if kind, found := ask("infra"); !found || kind != kinds[1] {
			t.Errorf("it is there: %t, %v", found, kind)
		}
		if _, found := ask("infra"); !found || !slices.Equal(server.gets, []string{"/apis/a.b.c/v2/namespaces/prod/seconds/infra"}) {
			t.Errorf("it is known: %t, %v", found, server.gets)
		}
		if !slices.Equal(server.as, []string{"system:serviceaccount:apps:web"}) {
			t.Errorf("asked as %v", server.as)
		}
		if _, found := ask("another"); found || len(server.gets) != 2 {
			t.Errorf("another name: %t, %v", found, server.gets)
		}
		hr.Spec.ServiceAccountName = ""
		if ask("another"); len(server.gets) != 3 || server.as[2] != "" {
			t.Errorf("another identity may read more: %v as %v", server.gets, server.as)
		}
	})
}
