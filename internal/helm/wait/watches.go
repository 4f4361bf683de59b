// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/readiness"
)

const (
	// linger is the time for which a stream without subscriptions stays open, so that successive
	// releases share it.
	linger = 10 * time.Second
	// retryFailed is the pause before the next watch after an error. If API servers refuse watches,
	// the pause doubles up to retryRefused: one that has just started may refuse them for a moment.
	retryFailed  = 5 * time.Second
	retryRefused = 5 * time.Minute
	// watchSeconds is the requested duration of a watch.
	watchSeconds = 600
	// maxSeen is the number of objects whose last version a stream keeps.
	maxSeen = 1024
)

// Watches are the watches that all waits share. Waits for objects of the same kind in the same
// namespace through the same connection share one watch. It selects the label that all objects
// of a HelmRelease have, and it starts at a known version, so that no list is necessary.
//
// It may be used concurrently, and its zero value is ready to use. Its goroutines end some time
// after the last subscription.
type Watches struct {
	mu      sync.Mutex
	streams map[streamKey]*stream
}

type streamKey struct {
	getter    genericclioptions.RESTClientGetter
	resource  apischema.GroupVersionResource
	namespace string
}

// stream is one watch with its subscriptions. The mutex of Watches guards its fields.
type stream struct {
	watches *Watches
	key     streamKey
	client  resource.RESTClient
	cancel  context.CancelFunc
	// from is the version after which no event was missed, at the version of the last event.
	from, at string
	// seen holds the last versions of objects that have changed since from.
	seen          map[string]string
	subscriptions map[string]map[*subscription]bool
	// ended is true if no more events follow. blocked is true as long as the stream prevents another
	// watch of the same. refused is the pause after the last refusal, zero if the watch was accepted.
	ended, blocked bool
	refused        time.Duration
	expiry         *time.Timer
}

// join subscribes to an object from its known version. It returns nil if a watch is not possible
// now. If missed is true, events may have been missed, and the object must be read once more.
func (w *Watches) join(ctx context.Context, getter genericclioptions.RESTClientGetter, info *resource.Info, live *unstructured.Unstructured, b *inbox) (sub *subscription, missed bool) {
	version := live.GetResourceVersion()
	if version == "" || live.GetLabels()[helmv2.LabelName] == "" {
		return nil, false
	}
	key := streamKey{getter: getter, resource: info.Mapping.Resource}
	if info.Namespaced() {
		key.namespace = info.Namespace
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.streams[key]
	switch {
	case s == nil:
		s = w.start(ctx, key, info, version)
	case s.blocked:
		return nil, false
	case s.ended:
		refused := s.refused
		s.expiry.Stop()
		s = w.start(ctx, key, info, version)
		s.refused = refused
	}
	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
	sub = &subscription{stream: s, name: info.Name, inbox: b}
	if s.subscriptions[info.Name] == nil {
		s.subscriptions[info.Name] = map[*subscription]bool{}
	}
	s.subscriptions[info.Name][sub] = true
	return sub, !s.covers(info.Name, version)
}

func (w *Watches) start(ctx context.Context, key streamKey, info *resource.Info, version string) *stream {
	// The stream may outlive the wait that starts it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &stream{
		watches: w, key: key, client: direct(info.Client), cancel: cancel, from: version, at: version,
		seen: map[string]string{}, subscriptions: map[string]map[*subscription]bool{},
	}
	if w.streams == nil {
		w.streams = map[streamKey]*stream{}
	}
	w.streams[key] = s
	go s.run(ctx)
	return s
}

// Wrapped is implemented by clients that answer some requests from memory. Direct returns the
// client that sends all requests.
type Wrapped interface{ Direct() resource.RESTClient }

func direct(client resource.RESTClient) resource.RESTClient {
	if c, ok := client.(Wrapped); ok {
		return c.Direct()
	}
	return client
}

// leave ends a subscription, which may be nil.
func (s *subscription) leave() {
	if s == nil {
		return
	}
	w := s.stream.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	st := s.stream
	if delete(st.subscriptions[s.name], s); len(st.subscriptions[s.name]) == 0 {
		delete(st.subscriptions, s.name)
	}
	if len(st.subscriptions) == 0 && !st.ended {
		st.expire(linger)
	}
}

// expire removes the stream after a time without subscriptions.
func (s *stream) expire(after time.Duration) {
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.expiry = time.AfterFunc(after, func() {
		s.watches.mu.Lock()
		defer s.watches.mu.Unlock()
		if len(s.subscriptions) == 0 {
			s.remove()
		}
	})
}

func (s *stream) remove() {
	s.ended = true
	s.cancel()
	if s.watches.streams[s.key] == s {
		delete(s.watches.streams, s.key)
	}
}

// covers reports whether all events of an object after a version will be received.
func (s *stream) covers(name, version string) bool {
	seen, ok := s.seen[name]
	return readiness.NotAfter(s.from, version) && (!ok || readiness.NotAfter(seen, version))
}

// run watches until the stream is removed or fails. If the API server ends the watch, it
// continues at the last version.
func (s *stream) run(ctx context.Context) {
	for idled := time.Duration(0); ; {
		lived := time.NewTimer(time.Second)
		moved, err := s.watch(ctx)
		// The pause grows if the API server ends every watch at once.
		idled = 2*idled + time.Second
		select {
		case <-lived.C:
			idled = 0
		default:
			lived.Stop()
		}
		if moved {
			idled = 0
		}
		pause := idled
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			err, pause = s.renew(ctx), 0
		}
		if err == nil && idled > retryFailed {
			err = errors.New("watches do not last")
		}
		if err != nil {
			s.fail(err)
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// watch reads one watch to its end. It returns whether there were events.
func (s *stream) watch(ctx context.Context) (moved bool, err error) {
	s.watches.mu.Lock()
	at := s.at
	s.watches.mu.Unlock()
	seconds := int64(watchSeconds)
	events, err := s.request(metav1.ListOptions{
		Watch: true, ResourceVersion: at, AllowWatchBookmarks: true, TimeoutSeconds: &seconds,
	}).Watch(ctx)
	if err != nil {
		return false, err
	}
	s.watches.mu.Lock()
	s.refused = 0
	s.watches.mu.Unlock()
	defer events.Stop()
	for event := range events.ResultChan() {
		if event.Type == apiwatch.Error {
			return moved, apierrors.FromObject(event.Object)
		}
		if object, ok := event.Object.(*unstructured.Unstructured); ok {
			moved = true
			s.deliver(event.Type, object)
		}
	}
	return moved, nil
}

func (s *stream) request(options metav1.ListOptions) *rest.Request {
	options.LabelSelector = helmv2.LabelName
	return s.client.Get().
		NamespaceIfScoped(s.key.namespace, s.key.namespace != "").
		Resource(s.key.resource.Resource).
		VersionedParams(&options, metav1.ParameterCodec)
}

// renew lets the stream continue at the current version, because the API server has compacted the
// last one: objects without changes have old versions. All objects must be read again.
func (s *stream) renew(ctx context.Context) error {
	answer, err := s.request(metav1.ListOptions{Limit: 1}).Do(ctx).Get()
	if err != nil {
		return err
	}
	list, err := meta.ListAccessor(answer)
	if err != nil {
		return err
	}
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	s.from, s.at, s.seen = list.GetResourceVersion(), list.GetResourceVersion(), map[string]string{}
	for _, all := range s.subscriptions {
		for sub := range all {
			sub.inbox.change(sub, func(p *pending) { p.gap = true })
		}
	}
	return nil
}

// deliver passes an event to the subscriptions of its object. A DELETED event may mean that the
// object has lost the label, which the event does not show.
func (s *stream) deliver(kind apiwatch.EventType, object *unstructured.Unstructured) {
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	s.at = object.GetResourceVersion()
	if kind == apiwatch.Bookmark {
		return
	}
	name := object.GetName()
	if len(s.seen) >= maxSeen {
		s.seen, s.from = map[string]string{}, s.at
	}
	s.seen[name] = s.at
	source := readiness.Changed
	if kind == apiwatch.Deleted {
		source = readiness.Removed
	}
	for sub := range s.subscriptions[name] {
		sub.inbox.put(sub, event{observation: readiness.ObservationOf(source, object), object: object})
	}
}

// fail ends the stream and all subscriptions, and prevents another watch for a while. The stream
// stays for the same time again, so that the next pause after a refusal is longer.
func (s *stream) fail(err error) {
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	s.cancel()
	s.ended = true
	all := s.subscriptions
	s.subscriptions = map[string]map[*subscription]bool{}
	pause := retryFailed
	if refused(err) {
		pause = min(max(2*s.refused, retryFailed), retryRefused)
		s.refused = pause
	}
	s.block(pause)
	for _, subs := range all {
		for sub := range subs {
			sub.inbox.change(sub, func(p *pending) { p.gap, p.lost = true, true })
		}
	}
}

// block prevents another watch for a time, and removes the stream after the same time again.
func (s *stream) block(pause time.Duration) {
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.blocked = true
	s.expiry = time.AfterFunc(pause, func() {
		s.watches.mu.Lock()
		defer s.watches.mu.Unlock()
		s.blocked = false
		s.expire(pause)
	})
}

// refused reports whether the API server would refuse the next watch for the same reason.
func refused(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.Status().Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusBadRequest:
		return true
	}
	return false
}
