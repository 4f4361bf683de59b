// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"      //nolint:staticcheck // client-go returns and takes its types
	"k8s.io/apimachinery/pkg/util/httpstream/spdy" //nolint:staticcheck // see above
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// apiServer forwards ports of the Pod flux-system/ready to a server. It supports SPDY, and no
// WebSockets.
type apiServer struct {
	backend  string
	forwards atomic.Int32
}

// ServeHTTP implements http.Handler.
func (a *apiServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path != "/api/v1/namespaces/flux-system/pods/ready/portforward" || !strings.HasPrefix(strings.ToLower(req.Header.Get("Upgrade")), "spdy") {
		http.Error(w, "not supported", http.StatusBadRequest)
		return
	}
	if _, err := httpstream.Handshake(req, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	a.forwards.Add(1)
	streams := make(chan httpstream.Stream)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, req, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	for connection != nil {
		select {
		case <-connection.CloseChan():
			return
		case s := <-streams:
			go a.copy(s)
		}
	}
}

// copy connects a data stream with the backend.
func (a *apiServer) copy(s httpstream.Stream) {
	if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
		_ = s.Close()
		return
	}
	backend, err := net.Dial("tcp", a.backend)
	if err != nil || s.Headers().Get(corev1.PortHeader) != "9090" {
		_ = s.Reset()
		return
	}
	go func() { _, _ = io.Copy(backend, s) }()
	_, _ = io.Copy(s, backend)
}

// sourceController returns the Service of source-controller, and two Pods.
func sourceController() []client.Object {
	pod := func(name string, ready corev1.ConditionStatus) client.Object {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: name, Labels: map[string]string{"app": "source-controller"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 9090}}}}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	service := func(name, app string) client.Object {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: name},
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": app}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}},
			},
		}
	}
	return []client.Object{
		pod("away", corev1.ConditionFalse), pod("ready", corev1.ConditionTrue), service("source-controller", "source-controller"), service("none", "none"),
	}
}

// TestTransport: a request to a Service is sent to a port of a ready Pod, with its own host. Others are
// sent directly.
func TestTransport(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+r.URL.Path)
	}))
	t.Cleanup(backend.Close)
	api := &apiServer{backend: strings.TrimPrefix(backend.URL, "http://")}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	transport := &portForwardTransport{
		Config: &rest.Config{Host: server.URL}, Client: fake.NewClientBuilder().WithObjects(sourceController()...).Build(),
		Base: &http.Transport{DisableKeepAlives: true},
	}
	c := &http.Client{Transport: transport}
	get := func(url string) (string, error) {
		resp, err := c.Get(url)
		if err != nil {
			return "", err
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	}
	const host = "source-controller.flux-system.svc.cluster.local."
	for range 2 {
		if got, err := get("http://" + host + "/chart.tgz"); err != nil || got != host+"/chart.tgz" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if n := api.forwards.Load(); n != 1 {
		t.Errorf("%d ports were forwarded for two requests", n)
	}
	if got, err := get(backend.URL + "/direct"); err != nil || !strings.HasSuffix(got, "/direct") || api.forwards.Load() != 1 {
		t.Errorf("directly: %q, %v", got, err)
	}
	if _, err := get("http://none.flux-system.svc/"); err == nil || !strings.Contains(err.Error(), "port-forward to Service flux-system/none: none of its 0 Pods is ready") {
		t.Errorf("without Pods: %v", err)
	}
	address := transport.forwarded[host]
	transport.Close()
	// The listener is closed in the background.
	for {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		_ = conn.Close()
	}
}

// TestServiceOf: hosts in the DNS of a cluster name a Service.
func TestServiceOf(t *testing.T) {
	for host, want := range map[string]string{
		"source-controller.flux-system.svc.cluster.local.": "flux-system/source-controller", "a.b.svc": "b/a",
		"a.b.example.com": "", "localhost": "", "127.0.0.1": "", "::1": "",
	} {
		key, ok := serviceOf(host)
		if got := key.String(); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s, %t", host, got, ok)
		}
	}
}
