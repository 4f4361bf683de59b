// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
)

// asking renders whether the cluster serves a kind.
func asking(t *testing.T, group string) []byte {
	return pack(t, "note", "1.0.0", map[string]string{"templates/cm.yaml": fmt.Sprintf(
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  version: {{ .Capabilities.APIVersions.Has %q | quote }}\n  kind: {{ .Capabilities.APIVersions.Has %q | quote }}\n",
		group+"/v1", group+"/v1/Thing")})
}

// define makes a definition and returns once the server calls it established.
func (w *world) define(group string) {
	w.t.Helper()
	crd := &unstructured.Unstructured{}
	w.must(yaml.Unmarshal([]byte(definition(group, "v1")), crd))
	w.must(suite.client.Create(w.t.Context(), crd))
	untilTrue(w, "the definition to be established", func() bool {
		for _, c := range w.definition(group).Status.Conditions {
			if c.Type == "Established" && c.Status == "True" {
				return true
			}
		}
		return false
	})
}

// TestNewDefinitionsAreSeen: a release uses a CRD that was created a moment ago, although not every
// release runs discovery. The chart reads the capabilities, so that no failure triggers a retry.
func TestNewDefinitionsAreSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.namespace + ".example.com"
	w.publish("asking", "1.0.0", asking(t, group))
	// The controller may learn about a CRD a little later than the test.
	install := func(name, want string) {
		t.Helper()
		cm := &corev1.ConfigMap{}
		n := 0
		untilTrue(w, name+" to render "+want, func() bool {
			name := fmt.Sprintf("%s-%d", name, n)
			n++
			hr := w.release(name, nil, func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "asking" })
			w.untilReady(hr)
			w.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, cm))
			return cm.Data["version"] == want && cm.Data["kind"] == want
		})
	}
	install("before", "false")
	w.define(group)
	install("after", "true")
	w.must(suite.client.Delete(t.Context(), w.definitionObject(group)))
	untilTrue(w, "the definition to go", func() bool { return w.definition(group) == nil })
	install("gone", "false")
}

func (w *world) definitionObject(group string) client.Object {
	u := &unstructured.Unstructured{}
	w.must(yaml.Unmarshal([]byte(definition(group, "v1")), u))
	return u
}

// TestDiscoveryIsAskedOnce: not once per action, and not again for definitions that
// are as they were.
func TestDiscoveryIsAskedOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	// Not parallel: CRDs of other tests would lead to discovery.
	b := newBench(t)
	var discovered atomic.Int64
	config := rest.CopyConfig(suite.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			if p := req.URL.Path; p == "/api" || p == "/apis" || p == "/version" || strings.HasPrefix(p, "/openapi") {
				discovered.Add(1)
			}
			return next.RoundTrip(req)
		})
	})
	// After the install, time jumps to when all has settled.
	var settled atomic.Bool
	pool := cluster.NewConnections(config, cluster.Options{Now: func() time.Time {
		if settled.Load() {
			return time.Now().Add(time.Minute)
		}
		return time.Now()
	}})
	pool.SetAPIsWatched(true)
	group := b.namespace + ".example.com"
	archive := pack(t, "note", "1.0.0", map[string]string{
		"crds/thing.yaml": definition(group, "v1"), "templates/thing.yaml": thingTemplate(group, "v1"),
	})
	var err error
	b.conn, err = pool.For(cluster.Identity{})
	b.must(err)
	spec := helmv2.HelmReleaseSpec{Upgrade: &helmv2.Upgrade{CRDs: helmv2.CRDsCreateReplace}}
	b.mustRun(install, archive, nil, spec)
	settled.Store(true)
	b.mustRun(upgrade, archive, nil, spec)
	first := discovered.Load()
	for range 5 {
		b.mustRun(upgrade, archive, nil, spec)
	}
	if got := discovered.Load() - first; got != 0 || first == 0 {
		t.Errorf("two actions sent %d discovery requests, and five more %d", first, got)
	}
}
