// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"hash/fnv"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

// What becomes of an event.
const (
	// Sent events were taken.
	Sent = "sent"
	// Duplicate events were not, as the receiver had them lately.
	Duplicate = "duplicate"
	// Refused events are not what the receiver wants.
	Refused = "refused"
	// Failed events were answered by errors, again and again.
	Failed = "failed"
	// Expired events are too old to be of use: nobody answered for long.
	Expired = "expired"
	// Overflown events found the queue full.
	Overflown = "overflown"
	// Unsent events were left when the program ended.
	Unsent = "unsent"
)

const (
	// lanes are how many events are posted at the same time; those of one object take
	// the same lane, so that they arrive in order.
	lanes = 4
	// perLane is how many events wait in a lane.
	perLane = 256
	// tries is how many errors a receiver may answer to one event.
	tries = 5
	// maxAge is how old an event may be when it is posted. A receiver that is away
	// while it is upgraded misses nothing.
	maxAge = 10 * time.Minute

	firstPause   = time.Second
	longestPause = 30 * time.Second
	// patience is how long a receiver may take to answer.
	patience = 5 * time.Second
)

// Observer counts. Its methods are called concurrently, and must not wait.
type Observer interface {
	// Notified is called with what has become of an event.
	Notified(result string)
	// NotificationsQueued is called when more, or fewer, events wait or are posted.
	NotificationsQueued(change int)
}

// Options are what a Sender needs. All are required but Base.
type Options struct {
	// URL events are posted to. A password in it is used, and told to nobody.
	URL string
	// Controller and Instance say who posts.
	Controller string
	Instance   string
	// Flush is how long Close may take.
	Flush    time.Duration
	Observer Observer
	Log      logr.Logger
	Now      func() time.Time
	// Base sends requests; nil is the usual transport.
	Base http.RoundTripper
}

// Sender posts events in the background. Its methods may be called concurrently.
type Sender struct {
	o      Options
	log    logr.Logger
	now    func() time.Time
	client *http.Client
	lanes  [lanes]chan Event
	// cancel ends what is left after Close has waited.
	cancel context.CancelFunc
	idle   sync.WaitGroup
	// away is true while the receiver does not take events, so that this is logged
	// once.
	away atomic.Bool

	mu     sync.RWMutex
	closed bool
}

// NewSender returns a sender that works until it is closed. Contexts of its
// requests come from ctx, whose end it does not heed: what happens at the very
// end is to be told as well.
func NewSender(ctx context.Context, o Options) *Sender {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Sender{o: o, log: o.Log, now: o.Now, cancel: cancel, client: &http.Client{
		Transport: o.Base,
		Timeout:   patience,
		// Events are for the address that was given, and for no other.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for i := range s.lanes {
		lane := make(chan Event, perLane)
		s.lanes[i] = lane
		s.idle.Go(func() {
			for e := range lane {
				s.o.Observer.Notified(s.deliver(ctx, e))
				s.o.Observer.NotificationsQueued(-1)
			}
		})
	}
	return s
}

// Send queues an event, and drops it if there is no room. It never waits.
func (s *Sender) Send(e Event) {
	e.ReportingController, e.ReportingInstance = s.o.Controller, s.o.Instance
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		s.o.Observer.Notified(Unsent)
		return
	}
	s.o.Observer.NotificationsQueued(1)
	select {
	case s.lanes[laneOf(e)] <- e:
	default:
		s.o.Observer.NotificationsQueued(-1)
		s.o.Observer.Notified(Overflown)
	}
}

// laneOf returns the lane of an event's object.
func laneOf(e Event) uint32 {
	h := fnv.New32a()
	for _, part := range []string{e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name} {
		_, _ = h.Write([]byte(part))
	}
	return h.Sum32() % lanes
}

// Close posts what is queued, for as long as Options.Flush, and drops the rest. No
// event is taken after it.
func (s *Sender) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	for _, lane := range s.lanes {
		close(lane)
	}
	s.mu.Unlock()
	timer := time.AfterFunc(s.o.Flush, s.cancel)
	s.idle.Wait()
	timer.Stop()
	s.cancel()
}
