// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package evidence reads the state of the cluster that shows why an object failed: its Pods, events
// about them, and the ends of their logs. Package diagnosis derives the cause. Requests use the
// identity of the release, are few, and are sent only after a failure or during a long wait.
// Resources that the identity may not read are left out and listed in the details.
//
// Files, top-down:
//
//	examine.go   Reader.Examine: the diagnosis of one release's objects
//	log.go       ReadLog: the end of a container's log
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

// Limits of the requests for one diagnosis.
const (
	maxSuspects = 3
	maxPods     = 250
	maxEvents   = 100
	maxSecrets  = 10
)

// source reads from a cluster. Tests replace it.
type source interface {
	pods(ctx context.Context, namespace string, options metav1.ListOptions) ([]corev1.Pod, error)
	// warnings returns the events of type Warning about the object with a UID.
	warnings(ctx context.Context, namespace, uid string) ([]corev1.Event, error)
	secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	logs(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error)
}

// Connection is a connection to a cluster with an identity.
type Connection interface {
	ToRESTConfig() (*rest.Config, error)
	HTTPClient() *http.Client
}

// Reader diagnoses the objects of one release. It is safe for concurrent use.
type Reader struct{ from source }

// New returns a Reader that uses a connection.
func New(connection Connection) (*Reader, error) {
	config, err := connection.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	clients, err := corev1client.NewForConfigAndClient(config, connection.HTTPClient())
	if err != nil {
		return nil, err
	}
	return &Reader{from: server{clients}}, nil
}

// server is a source that reads from the API server.
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
