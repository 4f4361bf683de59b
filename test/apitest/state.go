// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Server is an API server in memory. It stores every object and validates none. It is an
// http.RoundTripper, so that a test needs no socket and runs in a synctest bubble.
type Server struct {
	t testing.TB

	Mu      sync.Mutex
	Objects map[string]map[string]any
	// Requests are "<method> <path>" of all writes, without dry runs.
	Requests []string
	// Protobuf are those of requests whose bodies were protobuf.
	Protobuf []string
	// Refuse, if set, returns the status code with which a request is refused, 0 for none.
	Refuse func(method, path string) int
	// Reason, if set, is the message of refused requests.
	Reason string
	// Created, if set, is called with every new object and may change it.
	Created func(object map[string]any)
	// Reads are "GET <path>" of all reads, and "WATCH <path>".
	Reads []string
	// Watchable servers have resourceVersions and watches. Others forbid watches.
	Watchable bool
	// Lags delays events until Deliver is called.
	Lags bool
	// Slow, if set, is called for each request between its processing and its answer.
	Slow func(method, path string)
	// Offered are resources besides the default ones, by group and version.
	Offered map[string][]string

	// cluster is set in a server of NewCluster.
	cluster *cluster
	log     []change
	watches []*watching
	// delivered is the number of events of the log that watches were sent.
	delivered int
	// oldest is the first version that can be watched from.
	oldest int
}

// New returns an empty server.
func New(t testing.TB) *Server {
	t.Helper()
	return &Server{t: t, Objects: map[string]map[string]any{}}
}

// Config returns the configuration of a client of the server.
func (w *Server) Config() *rest.Config {
	return &rest.Config{Host: "http://cluster", Transport: w, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// Reset empties the server.
func (w *Server) Reset() {
	w.Objects, w.log, w.watches, w.Reads, w.Requests = map[string]map[string]any{}, nil, nil, nil, nil
	w.delivered, w.oldest, w.Lags, w.Slow, w.Refuse, w.Created = 0, 0, false, nil, nil, nil
}

// SetUIDs gives new objects UIDs.
func (w *Server) SetUIDs() {
	n := 0
	w.Created = func(object map[string]any) {
		n++
		(&unstructured.Unstructured{Object: object}).SetUID(types.UID(fmt.Sprint("uid-", n)))
	}
}

// CreationTimes returns a function that gives each object a creation time one second after that of
// the object before, from epoch on. It is for Created.
func CreationTimes(epoch time.Time) func(object map[string]any) {
	n := 0
	return func(object map[string]any) {
		n++
		(&unstructured.Unstructured{Object: object}).SetCreationTimestamp(metav1.NewTime(epoch.Add(time.Duration(n) * time.Second)))
	}
}

// change is an event of the log.
type change struct {
	version int
	at      location
	event   []byte
	// object and before are the object and what it was. They are only set in a cluster.
	kind           string
	object, before map[string]any
}

// watching is the body of the answer to a watch. It has no goroutine.
type watching struct {
	at location
	// selected limits the events; nil for all.
	selected *selection
	// from is the version after which events are sent.
	from   int
	ctx    context.Context //nolint:containedctx // that of the request
	events chan []byte
	closed chan struct{}
	// expired receives a value at the end of the watch; nil for never.
	expired <-chan time.Time
	// left is closed when the client closes the body.
	left chan struct{}
	once sync.Once
	rest []byte
}

// Read implements io.Reader.
func (w *watching) Read(p []byte) (int, error) {
	if len(w.rest) == 0 {
		select {
		case w.rest = <-w.events:
		case <-w.closed:
			return 0, io.EOF
		case <-w.expired:
			return 0, io.EOF
		case <-w.left:
			return 0, io.EOF
		case <-w.ctx.Done():
			// Another error would be an event, which a filter of controller-runtime that has been
			// stopped would wait for ever to pass on.
			return 0, io.EOF
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (w *watching) Close() error {
	w.once.Do(func() { close(w.left) })
	return nil
}

// isOpen reports whether the request has not ended.
func (w *watching) isOpen() bool {
	select {
	case <-w.left:
		return false
	default:
		return w.ctx.Err() == nil
	}
}

// send queues an event for a watch of its path.
func (w *watching) send(c change) {
	if c.version <= w.from || !w.at.contains(c.at) {
		return
	}
	event := c.event
	if w.selected != nil {
		event = w.selected.event(c)
	}
	if event != nil {
		w.events <- event
	}
}
