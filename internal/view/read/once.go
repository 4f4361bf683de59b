// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Once returns a client.Reader for a view whose parts are read at the same time. It reads each object
// once, and sends at most limit requests at the same time. Lists are read each time.
func Once(reader client.Reader, limit int) client.Reader {
	return &once{from: reader, slots: make(chan struct{}, limit), answers: map[string]*answer{}}
}

type once struct {
	from  client.Reader
	slots chan struct{}

	mu      sync.Mutex
	answers map[string]*answer
}

// answer is the answer to a Get, once done is closed.
type answer struct {
	done   chan struct{}
	object runtime.Object
	err    error
}

// Get implements client.Reader. The first call for an object reads it; its context applies.
func (o *once) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	a, first := o.answerOf(fmt.Sprintf("%T %s %s", object, object.GetObjectKind().GroupVersionKind(), key))
	if first {
		a.err = o.inSlot(ctx, func() error { return o.from.Get(ctx, key, object, opts...) })
		a.object = object.DeepCopyObject()
		close(a.done)
		return a.err
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	// The object of a caller may be changed by it.
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(a.object.DeepCopyObject()).Elem())
	return a.err
}

// List implements client.Reader.
func (o *once) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return o.inSlot(ctx, func() error { return o.from.List(ctx, list, opts...) })
}

// answerOf returns the answer with an id. first is true for the caller that must read it.
func (o *once) answerOf(id string) (a *answer, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a = o.answers[id]; a != nil {
		return a, false
	}
	a = &answer{done: make(chan struct{})}
	o.answers[id] = a
	return a, true
}

func (o *once) inSlot(ctx context.Context, send func() error) error {
	select {
	case o.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-o.slots }()
	return send()
}
