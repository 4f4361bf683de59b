// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package optional

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/internal/apiretry"
)

// store has the objects of a kind. It implements ReflectorStore.
type store[T client.Object] struct {
	options Options[T]

	mu      sync.Mutex
	objects map[types.NamespacedName]T
	// invalid are the objects that cannot be decoded.
	invalid map[types.NamespacedName]error
	// listed is true if objects were listed by the API server, and absent if the kind is not
	// served.
	listed, absent bool
	// broken is the error of the last list or watch, and since the time of the first in a row; nil
	// if it succeeded.
	broken error
	since  time.Time
	known  chan struct{}
	once   sync.Once
}

func newStore[T client.Object](o Options[T]) *store[T] {
	return &store[T]{
		options: o, objects: map[types.NamespacedName]T{}, invalid: map[types.NamespacedName]error{}, known: make(chan struct{}),
	}
}

// Known is closed when the kind has been listed, or was found not to be served, for the first time.
func (s *store[T]) Known() <-chan struct{} { return s.known }

// Objects returns all objects, which must not be changed.
func (s *store[T]) Objects() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.objects))
}

// Object returns an object, which must not be changed; false if there is none.
func (s *store[T]) Object(key types.NamespacedName) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, found := s.objects[key]
	return object, found
}

// Version returns the resourceVersion of an object; empty if there is none.
func (s *store[T]) Version(key types.NamespacedName) string {
	object, found := s.Object(key)
	if !found {
		return ""
	}
	return object.GetResourceVersion()
}

// Served reports whether the API server serves the kind, as far as that is known.
func (s *store[T]) Served() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// Unknown returns why the objects are not known; empty if they are, and if the kind is not served.
func (s *store[T]) Unknown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource := s.options.Resource.GroupResource().String()
	switch {
	case s.absent:
		return ""
	case s.broken != nil && (!s.listed || s.options.Now().Sub(s.since) >= staleAfter):
		why, _ := apiretry.Describe(s.broken)
		return fmt.Sprintf("%s cannot be listed and watched: %s", resource, why)
	case !s.listed:
		return resource + " are not listed yet"
	}
	for _, err := range s.invalid {
		return err.Error()
	}
	return ""
}

// setAbsent records that the kind is not served, and reports whether that is new.
func (s *store[T]) setAbsent() bool {
	s.mu.Lock()
	is := s.absent
	s.absent, s.listed, s.broken = true, false, nil
	clear(s.objects)
	clear(s.invalid)
	s.mu.Unlock()
	s.once.Do(func() { close(s.known) })
	if !is {
		s.options.Changed(types.NamespacedName{})
	}
	return !is
}

// setBroken records a failed list or watch, and reports whether it is the first in a row. It
// forgets objects whose reading is now forbidden: no later attempt is likely to succeed.
func (s *store[T]) setBroken(err error) bool {
	if status, is := errors.AsType[*apierrors.StatusError](err); is {
		// Without the prefix that the reflector adds.
		err = status
	}
	s.mu.Lock()
	first, was := s.broken == nil, s.listed
	if s.broken = err; first {
		s.since = s.options.Now()
	}
	s.absent = false
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		s.listed = false
	}
	lost := was && !s.listed
	s.mu.Unlock()
	if lost {
		s.options.Changed(types.NamespacedName{})
	}
	return first
}

// setWatched records that changes are received. A watch is started after the objects were listed.
func (s *store[T]) setWatched() {
	s.mu.Lock()
	was := s.broken != nil && s.listed
	if s.listed {
		s.broken = nil
	}
	s.mu.Unlock()
	if was {
		s.options.Changed(types.NamespacedName{})
	}
}

// Add implements ReflectorStore.
func (s *store[T]) Add(obj any) error { return s.Update(obj) }

// Update implements ReflectorStore.
func (s *store[T]) Update(obj any) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("the watch has sent a %T", obj)
	}
	s.mu.Lock()
	changed := s.put(u)
	s.mu.Unlock()
	if changed {
		s.options.Changed(client.ObjectKeyFromObject(u))
	}
	return nil
}

// put stores an object, and reports whether it was not stored before.
func (s *store[T]) put(u *unstructured.Unstructured) bool {
	key := client.ObjectKeyFromObject(u)
	if before, found := s.objects[key]; found && before.GetResourceVersion() == u.GetResourceVersion() {
		return false
	}
	object, err := s.options.decode(u)
	if delete(s.invalid, key); err != nil {
		s.invalid[key] = err
		delete(s.objects, key)
		return true
	}
	s.objects[key] = object
	return true
}

// Delete implements ReflectorStore.
func (s *store[T]) Delete(obj any) error {
	if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	o, ok := obj.(client.Object)
	if !ok {
		return fmt.Errorf("the watch has sent a %T", obj)
	}
	key := client.ObjectKeyFromObject(o)
	s.mu.Lock()
	delete(s.objects, key)
	delete(s.invalid, key)
	s.mu.Unlock()
	s.options.Changed(key)
	return nil
}

// Replace implements ReflectorStore. The list proves that the kind is served.
func (s *store[T]) Replace(all []any, _ string) error {
	s.mu.Lock()
	clear(s.objects)
	clear(s.invalid)
	for _, obj := range all {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			s.put(u)
		}
	}
	s.listed, s.absent, s.broken = true, false, nil
	s.mu.Unlock()
	s.once.Do(func() { close(s.known) })
	s.options.Changed(types.NamespacedName{})
	return nil
}

// Resync implements ReflectorStore.
func (s *store[T]) Resync() error { return nil }
