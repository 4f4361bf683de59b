// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // client-go returns and takes its types
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	streaming "k8s.io/streaming/pkg/httpstream"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// portForwardTransport is an http.RoundTripper that sends requests to Services of a cluster through
// the API server and a Pod, as kubectl port-forward does. NetworkPolicies may forbid the proxy of the
// API server to reach a Pod, and do not affect the kubelet. Requests to other hosts are sent
// directly. It is safe for concurrent use.
type portForwardTransport struct {
	Config *rest.Config
	// Client reads Services and Pods.
	Client client.Reader
	// Base sends requests to forwarded ports and to other hosts.
	Base http.RoundTripper

	mu sync.Mutex
	// forwarded are the local addresses by "<host>:<port>".
	forwarded map[string]string
	stops     []chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (t *portForwardTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	key, ok := serviceOf(req.URL.Hostname())
	if !ok || req.URL.Scheme != "http" {
		return t.Base.RoundTrip(req)
	}
	address, err := t.address(req.Context(), key, req.URL)
	if err != nil {
		return nil, fmt.Errorf("port-forward to Service %s: %w", key, err)
	}
	host := req.URL.Host
	req = req.Clone(req.Context())
	req.URL.Host, req.Host = address, host
	return t.Base.RoundTrip(req)
}

// Close ends all forwards.
func (t *portForwardTransport) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, stop := range t.stops {
		close(stop)
	}
	t.stops, t.forwarded = nil, nil
}

// serviceOf returns the Service that a host in the DNS of a cluster names.
func serviceOf(host string) (key client.ObjectKey, ok bool) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if net.ParseIP(host) != nil || len(parts) < 3 || parts[2] != "svc" {
		return key, false
	}
	return client.ObjectKey{Namespace: parts[1], Name: parts[0]}, true
}

// address returns the local address that is forwarded to a Service.
func (t *portForwardTransport) address(ctx context.Context, key client.ObjectKey, to *url.URL) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.forwarded[to.Host]; ok {
		return known, nil
	}
	port := 80
	if text := to.Port(); text != "" {
		var err error
		if port, err = strconv.Atoi(text); err != nil {
			return "", err
		}
	}
	pod, port, err := t.pod(ctx, key, port)
	if err != nil {
		return "", err
	}
	local, stop, err := t.forward(ctx, pod, port)
	if err != nil {
		return "", err
	}
	if t.forwarded == nil {
		t.forwarded = map[string]string{}
	}
	t.forwarded[to.Host], t.stops = local, append(t.stops, stop)
	return local, nil
}

// pod returns a ready Pod of a Service, and its port for a port of the Service.
func (t *portForwardTransport) pod(ctx context.Context, key client.ObjectKey, port int) (client.ObjectKey, int, error) {
	service := &corev1.Service{}
	if err := t.Client.Get(ctx, key, service); err != nil {
		return client.ObjectKey{}, 0, err
	}
	pods := &corev1.PodList{}
	if err := t.Client.List(ctx, pods, client.InNamespace(key.Namespace), client.MatchingLabels(service.Spec.Selector)); err != nil {
		return client.ObjectKey{}, 0, err
	}
	for i := range pods.Items {
		if len(service.Spec.Selector) > 0 && isReady(&pods.Items[i]) {
			return client.ObjectKeyFromObject(&pods.Items[i]), targetPort(service, &pods.Items[i], port), nil
		}
	}
	return client.ObjectKey{}, 0, fmt.Errorf("none of its %d Pods is ready", len(pods.Items))
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

// targetPort returns the port of a Pod for a port of a Service.
func targetPort(service *corev1.Service, pod *corev1.Pod, port int) int {
	for _, p := range service.Spec.Ports {
		if int(p.Port) != port {
			continue
		}
		if n := p.TargetPort.IntValue(); n > 0 {
			return n
		}
		for _, c := range pod.Spec.Containers {
			for _, named := range c.Ports {
				if named.Name == p.TargetPort.StrVal && named.Name != "" {
					return int(named.ContainerPort)
				}
			}
		}
	}
	return port
}

// forward forwards a local port to a port of a Pod until stop is closed.
func (t *portForwardTransport) forward(ctx context.Context, pod client.ObjectKey, port int) (address string, stop chan struct{}, err error) {
	dialer, err := t.dialer(pod)
	if err != nil {
		return "", nil, err
	}
	stop, ready, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:" + strconv.Itoa(port)}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		return "", nil, err
	}
	go func() { failed <- f.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-failed:
		return "", nil, err
	case <-ctx.Done():
		close(stop)
		return "", nil, context.Cause(ctx)
	}
	ports, err := f.GetPorts()
	if err != nil || len(ports) != 1 {
		close(stop)
		return "", nil, fmt.Errorf("forwarded ports: %w", err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local))), stop, nil
}

// dialer returns a dialer to a Pod by WebSocket, or by SPDY if the API server does not support that.
func (t *portForwardTransport) dialer(pod client.ObjectKey) (httpstream.Dialer, error) {
	to, _, err := rest.DefaultServerUrlFor(t.Config)
	if err != nil {
		return nil, err
	}
	to = to.JoinPath("api/v1/namespaces", pod.Namespace, "pods", pod.Name, "portforward")
	transport, upgrader, err := spdy.RoundTripperFor(t.Config)
	if err != nil {
		return nil, err
	}
	bySPDY := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, to)
	byWebSocket, err := portforward.NewSPDYOverWebsocketDialer(to, t.Config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialer(byWebSocket, bySPDY, func(err error) bool {
		return streaming.IsUpgradeFailure(err) || streaming.IsHTTPSProxyError(err)
	}), nil
}
