// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/page"
	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/page/live"
	"github.com/pintle-dev/pintle/internal/page/site"
)

// Visitors of the page.
const (
	// viewer may get the HelmReleases of all namespaces, and no Secrets.
	viewer = "viewer"
	// editor may edit one namespace, with its Secrets.
	editor = "editor"
	// unprivileged has a valid token and no rights.
	unprivileged = "unprivileged"
	// anonymous has no token, and needs one. guest has none and is the user of --ui-anonymous-user,
	// who may get the HelmReleases of one namespace.
	anonymous = "anonymous"
	guest     = "guest"
	// wrong has a token that the API server does not know, and deleted one of a ServiceAccount that
	// no longer exists.
	wrong   = "wrong"
	deleted = "deleted"
)

func visitors() []string {
	return []string{viewer, editor, unprivileged, anonymous, guest, wrong, deleted}
}

// dryRun is the end of a recorded request that writes nothing.
const dryRun = " as a dry run"

// recorder records the requests of the page to the API server.
type recorder struct {
	mu       sync.Mutex
	requests []string
}

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper {
	return transport(func(req *http.Request) (*http.Response, error) {
		r.mu.Lock()
		request := req.Method + " " + req.URL.Path
		if slices.Equal(req.URL.Query()["dryRun"], []string{"All"}) {
			request += dryRun
		}
		r.requests = append(r.requests, request)
		r.mu.Unlock()
		return next.RoundTrip(req)
	})
}

// writes returns the requests that are no reads.
func (r *recorder) writes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, request := range r.requests {
		if !strings.HasPrefix(request, http.MethodGet+" ") {
			all = append(all, request)
		}
	}
	return all
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.requests)
}

// pages is the web page of one controller, without and with an anonymous user.
type pages struct {
	*world
	recorder *recorder
	// addresses are those of the page for visitors.
	addresses map[string]string
	tokens    map[string]string
	routes    []string
}

// servePages starts the page as main does.
func (w *world) servePages() *pages {
	w.t.Helper()
	p := &pages{world: w, recorder: &recorder{}, addresses: map[string]string{}, tokens: map[string]string{}}
	config := rest.CopyConfig(suite.config)
	config.Wrap(p.recorder.wrap)
	connections := cluster.NewConnections(suite.config, cluster.Options{Now: time.Now, TransportWrapper: p.recorder.wrap})
	finder := &controller.ConnectionFinder{Live: suite.client, Clusters: connections, DefaultServiceAccount: "helm-release"}
	reviews, err := client.New(config, client.Options{Scheme: controller.Scheme(), Mapper: suite.client.RESTMapper()})
	w.must(err)
	source := &access.Source{
		Rights: access.NewRights(reviews, time.Now), Kept: suite.client, Live: suite.client, As: access.AsRelease(finder.Peek, controller.Scheme()),
		Compare: access.CompareAsRelease(finder.Peek, controller.Scheme(), nil, time.Now), Readiness: access.ReadinessAsRelease(finder.Peek, controller.Scheme()),
		Charts: chart.NewStore(chart.Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: maxArtifact}),
		Scheme: controller.Scheme(), Now: time.Now, KeepsOperations: func() bool { return true },
	}
	informers, err := cache.New(suite.config, cache.Options{Scheme: controller.Scheme()})
	w.must(err)
	go func() { _ = informers.Start(w.t.Context()) }()
	kinds := []live.Kind{{Object: &helmv2.HelmRelease{}, Resource: helmv2.GroupVersion.WithResource("helmreleases"), Path: "/releases/"}}
	for visitor, user := range map[string]string{anonymous: "", guest: w.namespace + "-guest"} {
		limits := page.NewLimits(time.Now)
		all, err := site.New(site.Options{
			User: access.NewAuthenticator(reviews, user, time.Now).User, Source: source, Now: time.Now, Enter: limits.Enter,
			Health: func() site.Health { return site.Health{} }, Live: live.New(informers, kinds, time.Now),
		})
		w.must(err)
		p.routes = all.Routes()
		p.addresses[visitor] = p.serve(&page.Server{Site: all, Limits: limits})
	}
	p.addVisitors()
	return p
}

// serve starts a server on a free port of loopback, until the test ends.
func (p *pages) serve(s *page.Server) string {
	p.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	p.must(err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(p.t.Context(), listener) }()
	p.t.Cleanup(func() {
		if err := <-done; err != nil {
			p.t.Error(err)
		}
	})
	return listener.Addr().String()
}

// addVisitors creates the ServiceAccounts, rights and tokens of visitors.
func (p *pages) addVisitors() {
	p.t.Helper()
	for _, name := range []string{viewer, editor, unprivileged, deleted} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
		p.must(suite.client.Create(p.t.Context(), account))
		token := &authenticationv1.TokenRequest{}
		p.must(suite.client.SubResource("token").Create(p.t.Context(), account, token))
		p.tokens[name] = token.Status.Token
		if name == deleted {
			p.must(suite.client.Delete(p.t.Context(), account))
		}
	}
	p.tokens[wrong] = "wrong." + p.tokens[viewer]
	read := []string{"get", "list", "watch"}
	view := rbacv1.PolicyRule{APIGroups: []string{helmv2.GroupVersion.Group}, Resources: []string{"helmreleases"}, Verbs: read}
	edit := rbacv1.PolicyRule{APIGroups: []string{"", helmv2.GroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"*"}}
	release := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets", "events"}, Verbs: []string{"*"}}
	all := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: p.namespace + "-" + viewer}, Rules: []rbacv1.PolicyRule{view}}
	bound := &rbacv1.ClusterRoleBinding{
		ObjectMeta: all.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: all.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: p.namespace, Name: viewer}},
	}
	for _, o := range []client.Object{all, bound} {
		p.must(suite.client.Create(p.t.Context(), o))
		p.t.Cleanup(func() { _ = suite.client.Delete(context.Background(), o) })
	}
	p.must(suite.client.Create(p.t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "helm-release"}}))
	p.bind(editor, edit, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: p.namespace, Name: editor})
	p.bind(guest, view, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: p.namespace + "-guest"})
	p.bind("helm-release", release, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: p.namespace, Name: "helm-release"})
	accounts := "system:serviceaccount:" + p.namespace + ":"
	for _, user := range []string{accounts + viewer, accounts + editor, p.namespace + "-guest"} {
		p.untilAllowed(user, view)
	}
	p.untilAllowed(accounts+"helm-release", release)
}

// bind gives a subject a right in the namespace of the test.
func (p *pages) bind(name string, rule rbacv1.PolicyRule, subject rbacv1.Subject) {
	p.t.Helper()
	meta := metav1.ObjectMeta{Namespace: p.namespace, Name: name + "-page"}
	p.must(suite.client.Create(p.t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}))
	p.must(suite.client.Create(p.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}, Subjects: []rbacv1.Subject{subject},
	}))
}

// inTime opens a page until all its sections have been read in time, as a user with a slow machine
// does.
func inTime[T any](open func() (answer T, body string)) (answer T, body string) {
	for {
		answer, body = open()
		if !strings.Contains(body, "it was not read within") {
			return answer, body
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// fetch sends a request of a visitor. It returns the status code, or the address of a redirect, and
// the body. A body without an end, that of an event stream, is not read.
func (p *pages) fetch(visitor, method, path string) (answer, body string) {
	p.t.Helper()
	return inTime(func() (string, string) { return p.send(visitor, method, path) })
}

func (p *pages) send(visitor, method, path string) (answer, body string) {
	p.t.Helper()
	address := p.addresses[anonymous]
	if visitor == guest {
		address = p.addresses[guest]
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+address+path, nil)
	p.must(err)
	if token := p.tokens[visitor]; token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	// Each visitor has an address, as limits are those of an address.
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(slices.Index(visitors(), visitor)))}
	transport := &http.Transport{DialContext: (&net.Dialer{LocalAddr: from}).DialContext, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	p.must(err)
	defer func() { _ = resp.Body.Close() }()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.Status, ""
	}
	content, err := io.ReadAll(resp.Body)
	p.must(err)
	if to := resp.Header.Get("Location"); to != "" {
		to, _, _ = strings.Cut(to, "?")
		return "to " + to, string(content)
	}
	return resp.Status, string(content)
}
