// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package evidence reads what tells why an object is not as it should be: its
// pods, events about them, the ends of their logs. What to make of that is the
// business of cause. It reads as the release, asks little, and only when there is
// reason to; what it may not read is left out, and said to be.
package evidence

import (
	"context"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// Bounds of what is read for one answer.
const (
	maxSuspects = 3
	maxPods     = 250
	maxEvents   = 100
	maxSecrets  = 10
)

// source is what can be read of a cluster.
type source interface {
	pods(ctx context.Context, namespace string, options metav1.ListOptions) ([]corev1.Pod, error)
	// warnings returns events of type Warning about the object of that UID.
	warnings(ctx context.Context, namespace, uid string) ([]corev1.Event, error)
	secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	logs(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error)
}

// Connection leads to a cluster, as somebody.
type Connection interface {
	ToRESTConfig() (*rest.Config, error)
	HTTPClient() *http.Client
}

// Examiner finds out about the objects of one release. It may be used concurrently.
type Examiner struct{ from source }

// New returns an examiner that reads by a connection.
func New(way Connection) (*Examiner, error) {
	config, err := way.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	clients, err := corev1client.NewForConfigAndClient(config, way.HTTPClient())
	if err != nil {
		return nil, err
	}
	return &Examiner{from: server{clients}}, nil
}

// server is the source that an API server is.
type server struct{ clients corev1client.CoreV1Interface }

func (s server) pods(ctx context.Context, namespace string, options metav1.ListOptions) ([]corev1.Pod, error) {
	options.Limit = maxPods
	list, err := s.clients.Pods(namespace).List(ctx, options)
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (s server) warnings(ctx context.Context, namespace, uid string) ([]corev1.Event, error) {
	list, err := s.clients.Events(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.uid=" + uid + ",type=" + corev1.EventTypeWarning, Limit: maxEvents,
	})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (s server) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return s.clients.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) logs(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
	return s.clients.Pods(namespace).GetLogs(pod, options).Stream(ctx)
}
