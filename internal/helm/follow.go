// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

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
	// linger is how long a stream goes on that nobody reads, so that releases which
	// come one after the other share it.
	linger = 10 * time.Second
	// afterRefusal is how long nobody tries again to watch what may not be watched,
	// or cannot be, and afterTrouble how long if it did not work for now.
	afterRefusal = 5 * time.Minute
	afterTrouble = 5 * time.Second
	// streamSeconds is how long the API server is asked to keep up a watch.
	streamSeconds = 600
	// maxSeen bounds of how many objects a stream knows the last version.
	maxSeen = 1024
)

// followers are all that follow objects in a cluster, to learn at once what
// becomes of them. Those that look for objects of the same kind in the same
// namespace, as the same identity, share one watch at the API server. It is
// selected by the label that every object of a HelmRelease carries, and starts at
// a version that somebody knows already, so that nothing need be listed.
//
// It may be used concurrently; its zero value is ready to use. What it starts
// ends by itself once nobody follows anything.
type followers struct {
	mu      sync.Mutex
	streams map[streamKey]*stream
}

type streamKey struct {
	getter    genericclioptions.RESTClientGetter
	resource  apischema.GroupVersionResource
	namespace string
}

// stream is one watch, with those who read it. Its fields are guarded by the mutex
// of followers.
type stream struct {
	followers *followers
	key       streamKey
	client    resource.RESTClient
	cancel    context.CancelFunc
	// from is the version after which nothing was missed, and at the last one that
	// was heard of.
	from, at string
	// seen are the last versions of objects that changed since from.
	seen map[string]string
	subs map[string]map[*subscription]bool
	// ended is true once nothing comes any more. Until it is removed, it keeps others
	// from trying the same.
	ended  bool
	expiry *time.Timer
}

// subscription is what somebody who follows one object has of it.
type subscription struct {
	stream *stream
	name   string
	inbox  *inbox
}

// inbox gathers the events of the objects of one wait.
type inbox struct {
	// ready holds something if there may be news.
	ready chan struct{}

	mu   sync.Mutex
	news map[*subscription]news
}

// news is what was received about an object.
type news struct {
	// gap is true if events are missing before those that follow, and lost if no more
	// follow at all.
	gap, lost bool
	// events are the newest of each object that has had the name, oldest first.
	events []event
}

// event is what a watch says about an object, and the object in it: of an object that is
// gone, the last state.
type event struct {
	seen   readiness.Observation
	object *unstructured.Unstructured
}

func newInbox() *inbox { return &inbox{ready: make(chan struct{}, 1), news: map[*subscription]news{}} }

// change merges something that was received about an object.
func (b *inbox) change(s *subscription, merge func(n *news)) {
	b.mu.Lock()
	n := b.news[s]
	merge(&n)
	b.news[s] = n
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

func (b *inbox) put(s *subscription, e event) {
	b.change(s, func(n *news) {
		last := len(n.events) - 1
		if last >= 0 && n.events[last].seen.UID == e.seen.UID {
			n.events = n.events[:last]
		}
		n.events = append(n.events, e)
	})
}

// take returns what has come since the last time.
func (b *inbox) take() map[*subscription]news {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.news
	b.news = map[*subscription]news{}
	return all
}

// join follows an object from what is known of it. It returns nil if that cannot
// be done now. If missed is true, something may have happened to the object that
// is not going to be told: it has to be looked at once more.
func (f *followers) join(ctx context.Context, getter genericclioptions.RESTClientGetter, info *resource.Info, live *unstructured.Unstructured, b *inbox) (sub *subscription, missed bool) {
	version := live.GetResourceVersion()
	if version == "" || live.GetLabels()[helmv2.LabelName] == "" {
		return nil, false
	}
	key := streamKey{getter: getter, resource: info.Mapping.Resource}
	if info.Namespaced() {
		key.namespace = info.Namespace
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streams[key]
	if s == nil {
		s = f.start(ctx, key, info, version)
	}
	if s.ended {
		return nil, false
	}
	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
	sub = &subscription{stream: s, name: info.Name, inbox: b}
	if s.subs[info.Name] == nil {
		s.subs[info.Name] = map[*subscription]bool{}
	}
	s.subs[info.Name][sub] = true
	return sub, !s.covers(info.Name, version)
}

func (f *followers) start(ctx context.Context, key streamKey, info *resource.Info, version string) *stream {
	// The stream outlives the job that happens to need it first.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &stream{
		followers: f, key: key, client: direct(info.Client), cancel: cancel, from: version, at: version,
		seen: map[string]string{}, subs: map[string]map[*subscription]bool{},
	}
	if f.streams == nil {
		f.streams = map[streamKey]*stream{}
	}
	f.streams[key] = s
	go s.run(ctx)
	return s
}

// leave ends a subscription; nil is none.
func (s *subscription) leave() {
	if s == nil {
		return
	}
	f := s.stream.followers
	f.mu.Lock()
	defer f.mu.Unlock()
	st := s.stream
	if delete(st.subs[s.name], s); len(st.subs[s.name]) == 0 {
		delete(st.subs, s.name)
	}
	if len(st.subs) == 0 && !st.ended {
		st.expire(linger)
	}
}

// expire removes the stream after a while, unless somebody joins it.
func (s *stream) expire(after time.Duration) {
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.expiry = time.AfterFunc(after, func() {
		s.followers.mu.Lock()
		defer s.followers.mu.Unlock()
		if len(s.subs) == 0 {
			s.remove()
		}
	})
}

func (s *stream) remove() {
	s.ended = true
	s.cancel()
	if s.followers.streams[s.key] == s {
		delete(s.followers.streams, s.key)
	}
}

// covers reports whether all that happens to an object after a version is still
// going to be told.
func (s *stream) covers(name, version string) bool {
	seen, ok := s.seen[name]
	return readiness.NotAfter(s.from, version) && (!ok || readiness.NotAfter(seen, version))
}

// run watches until nobody reads any more or nothing can be learned in this way,
// and goes on where it stopped if the API server ends the watch.
func (s *stream) run(ctx context.Context) {
	for idled := time.Duration(0); ; {
		lived := time.NewTimer(time.Second)
		moved, err := s.watch(ctx)
		// A server that ends every watch at once is not asked all the time.
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
		if err == nil && idled > afterTrouble {
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

// watch reads one watch to its end. It returns whether anything was told.
func (s *stream) watch(ctx context.Context) (moved bool, err error) {
	s.followers.mu.Lock()
	at := s.at
	s.followers.mu.Unlock()
	seconds := int64(streamSeconds)
	events, err := s.request(metav1.ListOptions{
		Watch: true, ResourceVersion: at, AllowWatchBookmarks: true, TimeoutSeconds: &seconds,
	}).Watch(ctx)
	if err != nil {
		return false, err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if event.Type == apiwatch.Error {
			return moved, apierrors.FromObject(event.Object)
		}
		if object, ok := event.Object.(*unstructured.Unstructured); ok {
			moved = true
			s.tell(event.Type, object)
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

// renew makes the stream begin now, because the API server does not remember
// where it began: objects that have not changed for long have old versions. Whoever
// reads it has to look once more.
func (s *stream) renew(ctx context.Context) error {
	answer, err := s.request(metav1.ListOptions{Limit: 1}).Do(ctx).Get()
	if err != nil {
		return err
	}
	list, err := meta.ListAccessor(answer)
	if err != nil {
		return err
	}
	s.followers.mu.Lock()
	defer s.followers.mu.Unlock()
	s.from, s.at, s.seen = list.GetResourceVersion(), list.GetResourceVersion(), map[string]string{}
	for _, all := range s.subs {
		for sub := range all {
			sub.inbox.change(sub, func(n *news) { n.gap = true })
		}
	}
	return nil
}

// tell passes on what happened to an object. That it is deleted may mean no more
// than that it has lost its label, which the event does not show.
func (s *stream) tell(kind apiwatch.EventType, object *unstructured.Unstructured) {
	s.followers.mu.Lock()
	defer s.followers.mu.Unlock()
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
	for sub := range s.subs[name] {
		sub.inbox.put(sub, event{seen: observed(source, object), object: object})
	}
}

// fail ends the stream and lets everybody know. For a while, nobody begins another.
func (s *stream) fail(err error) {
	s.followers.mu.Lock()
	defer s.followers.mu.Unlock()
	s.cancel()
	s.ended = true
	subs := s.subs
	s.subs = map[string]map[*subscription]bool{}
	pause := afterTrouble
	if refused(err) {
		pause = afterRefusal
	}
	s.expire(pause)
	for _, all := range subs {
		for sub := range all {
			sub.inbox.change(sub, func(n *news) { n.gap, n.lost = true, true })
		}
	}
}

// refused reports whether the API server is going to say the same for a while.
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
