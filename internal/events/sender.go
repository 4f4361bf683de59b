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

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	"github.com/go-logr/logr"
)

// Results of events.
const (
	// Sent events were accepted.
	Sent = "sent"
	// Duplicate events were dropped by the receiver because it had them recently.
	Duplicate = "duplicate"
	// Refused events were rejected by the receiver.
	Refused = "refused"
	// Failed events were answered with errors several times.
	Failed = "failed"
	// Expired events became too old while the receiver did not answer.
	Expired = "expired"
	// Overflown events found the queue full.
	Overflown = "overflown"
	// Unsent events were in the queue at shutdown.
	Unsent = "unsent"
)

const (
	// lanes is the number of events that are posted concurrently. Events of one object are in the
	// same lane, so that they arrive in order.
	lanes = 4
	// perLane is the number of events that can wait in a lane.
	perLane = 256
	// maxFailures is how many errors a receiver may answer to one event.
	maxFailures = 5
	// maxAge is how old an event may be when it is posted. It is longer than an upgrade of the
	// receiver.
	maxAge = 10 * time.Minute

	firstPause   = time.Second
	longestPause = 30 * time.Second
	// requestTimeout bounds one post.
	requestTimeout = 5 * time.Second
)

// Observer counts events. Its methods are called concurrently and must not block.
type Observer interface {
	// Notified is called with the result of an event.
	Notified(result string)
	// NotificationsQueued is called when the number of unfinished events changes.
	NotificationsQueued(change int)
}

// Options configure a Sender. All are required except Base.
type Options struct {
	// URL is the address that events are posted to. It may contain a password and is not logged.
	URL string
	// Controller is the name that all replicas share, and Instance the name of this replica.
	Controller string
	Instance   string
	// Flush bounds Close.
	Flush    time.Duration
	Observer Observer
	Log      logr.Logger
	Now      func() time.Time
	// Base is the transport; nil is http.DefaultTransport.
	Base http.RoundTripper
}

// Sender posts events in the background. Its methods may be called concurrently.
type Sender struct {
	o      Options
	log    logr.Logger
	now    func() time.Time
	client *http.Client
	lanes  [lanes]chan eventv1.Event
	// cancel interrupts posts that are left after Flush.
	cancel context.CancelFunc
	idle   sync.WaitGroup
	// failing is true while the receiver does not accept events, so that this is logged once.
	failing atomic.Bool

	mu     sync.RWMutex
	closed bool
}

// NewSender returns a sender. The caller must call Close. The end of ctx does not stop it, so that
// events of the shutdown are posted too.
func NewSender(ctx context.Context, o Options) *Sender {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Sender{o: o, log: o.Log, now: o.Now, cancel: cancel, client: &http.Client{
		Transport: o.Base,
		Timeout:   requestTimeout,
		// Events are posted to the configured address only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for i := range s.lanes {
		lane := make(chan eventv1.Event, perLane)
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

// Send queues an event, or drops it if the queue is full. It does not block.
func (s *Sender) Send(e eventv1.Event) {
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
func laneOf(e eventv1.Event) uint32 {
	h := fnv.New32a()
	for _, part := range []string{e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name} {
		_, _ = h.Write([]byte(part))
	}
	return h.Sum32() % lanes
}

// Close posts queued events for up to Options.Flush and drops the rest. Later events are dropped.
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
