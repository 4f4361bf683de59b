// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// canaryKind is a watched kind and the treatment of its objects.
type canaryKind struct {
	resource schema.GroupVersionResource
	// labels and fields are selectors.
	labels, fields string
	read           func(c *Canaries, o *unstructured.Unstructured)
}

// watchedKinds are Secrets, whose values are searched for, and kinds that must not contain the
// values. Specs are not searched: users wrote them. Helm's records are not included, since they
// contain whole manifests. Objects that Operations create may have secret values in their spec, as
// the chart's own Jobs do. Events of both APIs are the same objects.
func watchedKinds() []canaryKind {
	all := []canaryKind{
		{resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, fields: "type!=helm.sh/release.v1", read: (*Canaries).learn},
		{resource: schema.GroupVersionResource{Version: "v1", Resource: "events"}, read: parts("metadata", "message", "reason", "source", "related", "involvedObject", "action", "reportingComponent", "reportingInstance")},
		{resource: helmv2.GroupVersion.WithResource("helmreleases"), read: parts("metadata", "status")},
		{resource: opsv1alpha1.GroupVersion.WithResource("operations"), read: parts("metadata", "status")},
		{resource: v1alpha1.GroupVersion.WithResource("releaseplans"), read: parts("metadata", "status")},
	}
	for _, made := range []schema.GroupVersionResource{
		{Group: "batch", Version: "v1", Resource: "jobs"}, {Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "serviceaccounts"},
	} {
		all = append(all, canaryKind{resource: made, labels: opsv1alpha1.LabelOperation, read: parts("metadata")})
	}
	return all
}

// parts searches some parts of an object.
func parts(names ...string) func(*Canaries, *unstructured.Unstructured) {
	return func(c *Canaries, o *unstructured.Unstructured) {
		for _, name := range names {
			c.walk(o.GetKind(), o.GetNamespace()+"/"+o.GetName()+" ."+name, o.Object[name])
		}
	}
}

// walk searches all strings in a part of an object, including keys.
func (c *Canaries) walk(sort, where string, part any) {
	switch v := part.(type) {
	case map[string]any:
		for key, inner := range v {
			c.Read(sort, where+" (key)", key)
			c.walk(sort, where+"."+key, inner)
		}
	case []any:
		for i, inner := range v {
			c.walk(sort, fmt.Sprintf("%s[%d]", where, i), inner)
		}
	case string:
		c.Read(sort, where, v)
	}
}

// canaryWatch reads all versions of all objects of a kind.
type canaryWatch struct {
	canaryKind
	canaries *Canaries

	mu sync.Mutex
	// version is the last version that was read; empty if a new list is needed.
	version string
}

const (
	// again is the pause before the next list of a kind that is not served.
	again = 300 * time.Millisecond
	// catchUpSeconds is the timeout of a watch that only reads past events.
	catchUpSeconds = int64(1)
	// catchUpTimeout limits the attempts. A slow API server may not begin a watch in a second.
	catchUpTimeout = time.Minute
)

// follow watches until ctx ends.
func (w *canaryWatch) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.watch(ctx, nil); err != nil {
			w.forget()
			select {
			case <-ctx.Done():
			case <-time.After(again):
			}
		}
	}
}

// catchUp returns when all past events have been read. It may run concurrently with follow, since
// reading an event twice does no harm.
func (w *canaryWatch) catchUp(ctx context.Context) error {
	for deadline := time.Now().Add(catchUpTimeout); ; {
		err := w.readPast(ctx)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(again):
		}
	}
}

// readPast is one attempt of catchUp.
func (w *canaryWatch) readPast(ctx context.Context) error {
	seconds := catchUpSeconds
	once := &canaryWatch{canaryKind: w.canaryKind, canaries: w.canaries, version: w.at()}
	err := once.watch(ctx, &seconds)
	if err == nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		// A kind without recent events may have a version that a busy API server no longer has. Its
		// events have been read by follow.
		err = once.list(ctx)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (w *canaryWatch) at() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version
}

func (w *canaryWatch) forget() { w.note("") }

func (w *canaryWatch) note(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version = version
}

func (w *canaryWatch) list(ctx context.Context) error {
	list, err := w.canaries.api.Resource(w.resource).List(ctx, metav1.ListOptions{LabelSelector: w.labels, FieldSelector: w.fields})
	if err != nil {
		return err
	}
	for i := range list.Items {
		w.read(w.canaries, &list.Items[i])
	}
	w.note(list.GetResourceVersion())
	return nil
}

// watch reads events until the API server or ctx ends the watch.
func (w *canaryWatch) watch(ctx context.Context, seconds *int64) error {
	if w.at() == "" {
		if err := w.list(ctx); err != nil {
			return err
		}
	}
	events, err := w.canaries.api.Resource(w.resource).Watch(ctx, metav1.ListOptions{
		LabelSelector: w.labels, FieldSelector: w.fields, ResourceVersion: w.at(), AllowWatchBookmarks: true, TimeoutSeconds: seconds,
	})
	if err != nil {
		return err
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type == watch.Error {
			return apierrors.FromObject(e.Object)
		}
		if e.Type != watch.Bookmark {
			w.read(w.canaries, o)
		}
		w.note(o.GetResourceVersion())
	}
	return nil
}
