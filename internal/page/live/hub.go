// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// linger is the time for which handlers stay after the last stream. A browser that connects again
// within it has missed no change.
const linger = 10 * time.Second

// Informers returns the informers of the controller. It is implemented by cache.Cache.
type Informers interface {
	GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// Hub reports changes of objects to open streams. Only while there are streams, it has event handlers
// at the informers. It is safe for concurrent use.
type Hub struct {
	informers Informers
	kinds     []Kind
	now       func() time.Time

	mu      sync.Mutex
	streams map[*stream]bool
	// handlers are those at the informers, nil without any.
	handlers []handler
	// id is the ID of events after the last change. It is random, so that it does not reveal the
	// number of changes.
	id string
}

// handler is an event handler at an informer.
type handler struct {
	informer     cache.Informer
	registration toolscache.ResourceEventHandlerRegistration
}

// New returns a hub for kinds. An informer of each kind is started with the first stream, unless the
// controller has one.
func New(informers Informers, kinds []Kind, now func() time.Time) *Hub {
	return &Hub{informers: informers, kinds: kinds, now: now, streams: map[*stream]bool{}}
}

// Serve writes a stream of events until the client is gone, the process ends, or the stream has its
// maximum age. It returns an error only if it has written nothing.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, may May) error {
	out := &writer{to: w, controller: http.NewResponseController(w), now: h.now}
	if err := out.lift(); err != nil {
		return err
	}
	s, err := h.open(r.Context(), r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	defer h.close(s)
	s.may = may
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	s.run(r.Context(), out)
	return nil
}

// open adds a stream. last is the ID of the last event that the client has received, empty without
// one.
func (h *Hub) open(ctx context.Context, last string) (*stream, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.handlers == nil {
		if err := h.listen(ctx); err != nil {
			return nil, err
		}
	}
	s := &stream{hub: h, sent: cmp.Or(last, h.id), changed: make(chan struct{}, 1)}
	if last != "" && last != h.id {
		s.pending.missed = true
		s.changed <- struct{}{}
	}
	h.streams[s] = true
	return s, nil
}

// close removes a stream.
func (h *Hub) close(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
	if len(h.streams) == 0 {
		time.AfterFunc(linger, h.leave)
	}
}

// listen adds handlers to the informers of all kinds.
func (h *Hub) listen(ctx context.Context) error {
	handlers := make([]handler, 0, len(h.kinds))
	for i, k := range h.kinds {
		informer, err := h.informers.GetInformer(ctx, k.Object, cache.BlockUntilSynced(false))
		if err == nil {
			var registration toolscache.ResourceEventHandlerRegistration
			if registration, err = informer.AddEventHandler(h.eventHandler(i)); err == nil {
				handlers = append(handlers, handler{informer: informer, registration: registration})
				continue
			}
		}
		return errors.Join(fmt.Errorf("informer of %s: %w", k.Resource.Resource, err), remove(handlers))
	}
	h.handlers, h.id = handlers, rand.Text()
	return nil
}

// leave removes the handlers unless there are streams.
func (h *Hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams) > 0 {
		return
	}
	// An informer that has stopped has no handlers.
	_ = remove(h.handlers)
	h.handlers = nil
}

func remove(handlers []handler) error {
	var all []error
	for _, on := range handlers {
		all = append(all, on.informer.RemoveEventHandler(on.registration))
	}
	return errors.Join(all...)
}

// eventHandler returns the handler for the kind with an index. It ignores the objects that exist when
// it is added, and updates without a change.
func (h *Hub) eventHandler(kind int) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial {
				h.report(kind, obj)
			}
		},
		UpdateFunc: func(before, after any) {
			a, isObject := before.(client.Object)
			if b, ok := after.(client.Object); !ok || !isObject || a.GetResourceVersion() != b.GetResourceVersion() {
				h.report(kind, after)
			}
		},
		DeleteFunc: func(obj any) { h.report(kind, obj) },
	}
}

// report reports a change of an object to all streams.
func (h *Hub) report(kind int, obj any) {
	key, err := toolscache.DeletionHandlingObjectToName(obj)
	if err != nil {
		// Informers have objects only.
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.id = rand.Text()
	for s := range h.streams {
		s.pending.add(scope{kind: kind, namespace: key.Namespace}, key.Name)
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

// take returns the changes that a stream has not sent yet, and the ID of an event with them.
func (h *Hub) take(s *stream) (pending, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	taken := s.pending
	s.pending = pending{}
	return taken, h.id
}
