// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

// dying is a transport that ends the process of an action at one request, as far as the API server
// can tell: no request follows.
type dying struct {
	next http.RoundTripper

	mu sync.Mutex
	// at is the number of the request at which the process ends; zero for none. If carriedOut is
	// set, the API server carries out the request.
	at         int
	carriedOut bool
	end        func()
	sent       int
	// hooks counts the creations of ConfigMaps by name, and log has the requests.
	hooks map[string]int
	log   []string
}

func (d *dying) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Get("watch") != "" || strings.Count(req.URL.Path, "/") < 4 {
		return d.next.RoundTrip(req)
	}
	d.mu.Lock()
	d.sent++
	hit, dead := d.sent == d.at, d.at > 0 && d.sent > d.at
	d.log = append(d.log, req.Method+" "+req.URL.Path)
	d.mu.Unlock()
	if hit {
		defer d.end()
	}
	if dead || hit && !d.carriedOut {
		return nil, io.ErrUnexpectedEOF
	}
	resp, err := d.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusCreated && req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/configmaps") && req.URL.Query().Get("dryRun") == "" {
		d.mu.Lock()
		d.hooks[nameOf(req)]++
		d.mu.Unlock()
	}
	if hit {
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

// nameOf returns the last part of the name of the object that a request creates.
func nameOf(req *http.Request) string {
	body, err := req.GetBody()
	if err != nil {
		return err.Error()
	}
	defer body.Close() //nolint:errcheck // it is in memory
	var object metav1.PartialObjectMetadata
	if err := json.NewDecoder(body).Decode(&object); err != nil {
		return err.Error()
	}
	return object.Name[strings.LastIndex(object.Name, "-")+1:]
}

// begin resets the counters.
func (d *dying) begin(at int, carriedOut bool, end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.carriedOut, d.end, d.sent, d.hooks, d.log = at, carriedOut, end, 0, map[string]int{}, nil
}

const resumedHook = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-%[1]s
  annotations: {helm.sh/hook: "%[2]s", helm.sh/hook-delete-policy: "%[3]s"}
`

// TestProcessDies: a process ends at each request of an action, before or after the API server has
// carried it out. Another process resumes the action. There is one revision, whose text is applied
// although the chart renders differently each time, and each hook is created once.
func TestProcessDies(t *testing.T) {
	t.Parallel()
	const pre, post = "pre-install,pre-upgrade,pre-rollback,pre-delete", "post-install,post-upgrade,post-rollback,post-delete"
	archive := pack(t, "note", "1.0.0", map[string]string{
		"templates/app.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {v: {{ randAlphaNum 12 | quote }}}\n",
		"templates/pre.yaml":    fmt.Sprintf(resumedHook, "pre", pre, "before-hook-creation"),
		"templates/second.yaml": fmt.Sprintf(resumedHook, "second", pre, "hook-succeeded"),
		"templates/post.yaml":   fmt.Sprintf(resumedHook, "post", post, "before-hook-creation,hook-succeeded"),
		"templates/test.yaml":   fmt.Sprintf(resumedHook, "test", "test", "before-hook-creation"),
	})
	b := newBench(t)
	requests := b.dieAll(t, archive, 0, false)
	var group errgroup.Group
	group.SetLimit(4)
	for i := range requests {
		for _, carriedOut := range []bool{false, true} {
			// The sample has each of the two ends, and requests of the whole action.
			if testing.Short() && (i%8 != 4 || carriedOut != (i%16 == 4)) {
				continue
			}
			group.Go(func() error {
				b.dieAll(t, archive, i+1, carriedOut)
				return nil
			})
		}
	}
	_ = group.Wait()
}

// dieAll installs, upgrades, tests, rolls back and uninstalls a release. At the request of the given
// number of each, the process ends. It returns the largest number of requests of an action.
func (b *bench) dieAll(t *testing.T, archive []byte, at int, carriedOut bool) (most int) {
	t.Helper()
	d := &dying{}
	config := rest.CopyConfig(suite.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { d.next = next; return d })
	conn, err := cluster.Connect(config)
	if err != nil {
		t.Error(err)
		return 0
	}
	one := &bench{world: b.world, conn: conn, runner: b.runner, name: fmt.Sprintf("d-%d-%t", at, carriedOut)}
	target := release.Target{Name: one.name, Namespace: b.namespace, StorageNamespace: b.namespace}
	all := map[string]int{"pre": 1, "second": 1, "post": 1}
	for _, s := range []struct {
		action   release.HelmAction
		revision int
		hooks    map[string]int
	}{
		{install, 1, all},
		{upgrade, 2, all},
		{release.Test{Timeout: install.Timeout}, 2, map[string]int{"test": 1}},
		{release.Rollback{Timeout: install.Timeout, Version: 1}, 3, all},
		{release.Uninstall{Timeout: install.Timeout, Target: target}, 0, all},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		d.begin(at, carriedOut, func() { cancel(release.ErrShutdown) })
		out := one.runUntil(ctx, s.action, archive, nil, helmv2.HelmReleaseSpec{})
		ended := ctx.Err() == nil
		cancel(nil)
		d.mu.Lock()
		what, log := fmt.Sprintf("%s, request %d, carried out: %t", release.Name(s.action), at, carriedOut), strings.Join(d.log, "\n")
		most = max(most, d.sent)
		d.at = 0
		d.mu.Unlock()
		if !ended {
			next, err := one.decide(s.action, s.revision)
			if err != nil {
				t.Errorf("%s: %v", what, err)
				return most
			}
			out = release.Outcome{}
			if next != nil {
				out = one.run(next, archive, nil, helmv2.HelmReleaseSpec{})
			}
		}
		if out.Err != nil {
			t.Errorf("%s: %v\n%s", what, out.Err, log)
			return most
		}
		d.mu.Lock()
		hooks := maps.Clone(d.hooks)
		d.mu.Unlock()
		if diff := cmp.Diff(s.hooks, hooks); diff != "" {
			t.Errorf("%s: created hooks (-want +got):\n%s%s", what, diff, log)
		}
		one.applied(t, what, s.revision)
	}
	return most
}

// decide returns the action that the controller would decide on after an interruption, nil if there
// is none.
func (b *bench) decide(a release.HelmAction, revision int) (release.HelmAction, error) {
	all, err := b.runner.History(b.t.Context(), b.conn, release.Target{Name: b.name, Namespace: b.namespace, StorageNamespace: b.namespace}, nil)
	if err != nil {
		return nil, err
	}
	version := 0
	if len(all) > 0 && all[0].Pending() {
		version = all[0].Version
	}
	done := version == 0 && len(all) > 0 && all[0].Version == revision
	switch a := a.(type) {
	case release.Install:
		if a.Resume = version; !done {
			return a, nil
		}
	case release.Upgrade:
		if a.Resume = version; !done {
			return a, nil
		}
	case release.Rollback:
		if a.Resume = version; !done {
			return a, nil
		}
	case release.Uninstall:
		if len(all) > 0 {
			return a, nil
		}
	default:
		return a, nil
	}
	return nil, nil //nolint:nilnil // the action has ended
}

// applied checks that the revision is the newest one and deployed, and that its text is applied.
func (b *bench) applied(t *testing.T, what string, revision int) {
	t.Helper()
	if revision == 0 {
		if left := b.stored(b.name); len(left) > 0 {
			t.Errorf("%s: %d records are left", what, len(left))
		}
		return
	}
	newest := b.record(b.name, revision)
	status, _, _ := unstructured.NestedString(newest, "info", "status")
	manifest, _ := newest["manifest"].(string)
	cm := &corev1.ConfigMap{}
	err := suite.client.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: b.name}, cm)
	if err != nil || status != string(helmv2.StatusDeployed) || !strings.Contains(manifest, cm.Data["v"]) {
		t.Errorf("%s: %v, data %v; revision %d is %s:\n%s", what, err, cm.Data, revision, status, manifest)
	}
	if stored := b.stored(b.name); slices.ContainsFunc(stored, func(s corev1.Secret) bool { return s.Labels["status"] == "failed" }) || len(stored) != revision {
		t.Errorf("%s: %d records", what, len(stored))
	}
}
