// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// allRequests returns one request of each kind that clients of a connection send.
func allRequests(t *testing.T, c *Connection) map[string]func(context.Context) error {
	t.Helper()
	getter := c.WithRetrier(nil)
	config, err := getter.ToRESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	discovery, err := getter.ToDiscoveryClient()
	if err != nil {
		t.Fatal(err)
	}
	typed, untyped, meta := kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config), metadata.NewForConfigOrDie(config)
	shared := dynamic.New(mustRESTClient(t, c))
	things := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	thing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}}}
	return map[string]func(context.Context) error{
		"get": func(ctx context.Context) error {
			_, err := typed.CoreV1().Secrets("a").Get(ctx, "a", metav1.GetOptions{})
			return err
		},
		"list": func(ctx context.Context) error {
			_, err := untyped.Resource(things).List(ctx, metav1.ListOptions{})
			return err
		},
		"metadata": func(ctx context.Context) error {
			_, err := meta.Resource(things).List(ctx, metav1.ListOptions{})
			return err
		},
		"shared": func(ctx context.Context) error {
			_, err := shared.Resource(things).List(ctx, metav1.ListOptions{})
			return err
		},
		"create": func(ctx context.Context) error {
			_, err := untyped.Resource(things).Create(ctx, thing, metav1.CreateOptions{})
			return err
		},
		"apply": func(ctx context.Context) error {
			_, err := untyped.Resource(things).Apply(ctx, "a", thing, metav1.ApplyOptions{FieldManager: "m"})
			return err
		},
		"delete": func(ctx context.Context) error {
			return untyped.Resource(things).Delete(ctx, "a", metav1.DeleteOptions{})
		},
		"watch": func(ctx context.Context) error {
			_, err := untyped.Resource(things).Watch(ctx, metav1.ListOptions{})
			return err
		},
		"logs": func(ctx context.Context) error {
			return typed.CoreV1().Pods("a").GetLogs("a", &corev1.PodLogOptions{}).Do(ctx).Error()
		},
		"discovery": func(context.Context) error { _, err := discovery.ServerGroups(); return err },
		"version":   func(context.Context) error { _, err := discovery.ServerVersion(); return err },
		"openapi":   func(context.Context) error { _, err := discovery.OpenAPISchema(); return err },
		"path":      func(ctx context.Context) error { return discovery.RESTClient().Get().AbsPath("/apis").Do(ctx).Error() },
	}
}

func mustRESTClient(t *testing.T, c *Connection) rest.Interface {
	t.Helper()
	config, err := c.ToRESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config = dynamic.ConfigFor(config)
	config.GroupVersion = &schema.GroupVersion{}
	client, err := rest.RESTClientForConfigAndClient(config, c.HTTPClient())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestNoRedirects: no request of a connection follows a redirect, so no other host receives its
// body or its credentials.
func TestNoRedirects(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		stolen.Add(1)
		http.Error(rw, "hunter2", http.StatusForbidden)
	}))
	t.Cleanup(thief.Close)
	redirect := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, thief.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	plain, encrypted := httptest.NewServer(redirect), httptest.NewTLSServer(redirect)
	t.Cleanup(plain.Close)
	t.Cleanup(encrypted.Close)
	w := Workload{Address: encrypted.URL, CA: pemOf(encrypted), Audiences: []string{"there"}, ServiceAccount: types.NamespacedName{Namespace: "apps", Name: "tenant"}}
	pool, clock := newPool(t, &rest.Config{Host: plain.URL, BearerToken: "local"})
	pool.SetTokenRequester((&fakeTokens{now: clock.Now}).token)
	for identity, id := range map[string]Identity{
		"Local": {User: "u"}, "Kubeconfig": {Kubeconfig: kubeconfigFor(plain.URL, "token"), User: "u"}, "Workload": {Workload: &w},
	} {
		for name, request := range allRequests(t, pool.mustFor(t, id)) {
			err := request(t.Context())
			if err == nil || !strings.Contains(err.Error(), "answers with a redirect (307 Temporary Redirect), which is not followed") {
				t.Errorf("%s, %s: %v", identity, name, err)
			}
		}
	}
	if n := stolen.Load(); n > 0 {
		t.Errorf("%d requests were repeated to another host", n)
	}
}

// TestForeignAnswers: what another server than an API server answers is not quoted, whatever
// client has sent the request.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	var code atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(int(code.Load()))
		_, _ = rw.Write([]byte(`{"access_token":"hunter2"}`))
	}))
	t.Cleanup(server.Close)
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	for _, status := range []int{http.StatusOK, http.StatusForbidden, http.StatusNotFound, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		code.Store(int32(status))
		for name, request := range allRequests(t, pool.mustFor(t, Identity{Kubeconfig: kubeconfigFor(server.URL, "token")})) {
			if err := request(t.Context()); err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%d, %s: %v", status, name, err)
			}
		}
	}
}

// TestForeignProtocols: neither a server nor a proxy that is no web server is quoted, by requests
// nor by probes.
func TestForeignProtocols(t *testing.T) {
	t.Parallel()
	foreign := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close() //nolint:errcheck // the answer is invalid anyway
		if r.Method == http.MethodConnect {
			_, _ = conn.Write([]byte("HTTP/1.1 407 hunter2\r\n\r\n"))
			return
		}
		_, _ = conn.Write([]byte("SSH-2.0-hunter2\r\n"))
	}))
	t.Cleanup(foreign.Close)
	proxied := strings.Replace(string(kubeconfigFor("https://api.example.com", "token")), `"server"`, `"proxy-url":"`+foreign.URL+`","server"`, 1)
	for name, tc := range map[string]struct{ kubeconfig, want string }{
		"Server": {string(kubeconfigFor(foreign.URL, "token")), "malformed HTTP response (not shown)"},
		"Proxy":  {proxied, "the proxy answers 407 Proxy Authentication Required"},
	} {
		pool, _ := newPool(t, &rest.Config{Host: "http://local"})
		connection := pool.mustFor(t, Identity{Kubeconfig: []byte(tc.kubeconfig)})
		_, sent := connection.discovery.server.ServerVersion()
		for how, err := range map[string]error{"request": sent, "probe": connection.gate.probe(t.Context())} {
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s, %s: %v", name, how, err)
			}
		}
	}
}
