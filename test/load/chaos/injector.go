// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/test/harness/faultproxy"
)

// injector decides which requests the proxy fails. Each namespace has one release and its own lane,
// so that cases are independent.
type injector struct {
	mu    sync.Mutex
	lanes map[string]*lane
	// alone is the namespace that requests without namespace are assigned to while only one case
	// runs.
	alone string
	// schedule, if set, fails requests at random.
	schedule *schedule
}

// lane are the requests for one namespace.
type lane struct {
	// counts are the requests by key since the lane was armed.
	counts map[string]int
	seen   []recordedRequest
	// trial is the one fault to inject, if any.
	trial *trial
	// hit is the start of a fault, ended the end of the last one.
	hit, ended time.Time
	// last is the moment of the last request.
	last   time.Time
	faults []string
}

func newInjector() *injector { return &injector{lanes: map[string]*lane{}} }

// exempt reports whether a request never fails, that is, whether it is for a lease or an event.
func exempt(r faultproxy.Request) bool {
	return r.Resource == "leases" || r.Resource == "events"
}

// decide is for the proxy.
func (i *injector) decide(r faultproxy.Request) faultproxy.Fault {
	if exempt(r) {
		return faultproxy.None
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	// A watch of all namespaces belongs to no release and is renewed at any time.
	if i.schedule == nil && r.Namespace == "" && (i.alone == "" || r.Watch()) {
		return faultproxy.None
	}
	l := i.laneOf(r)
	if l == nil {
		return faultproxy.None
	}
	l.last = time.Now()
	l.counts[r.Key()]++
	s := recordedRequest{step{r.Key(), l.counts[r.Key()]}, r}
	l.seen = append(l.seen, s)
	fault := faultproxy.None
	switch {
	case i.schedule != nil:
		fault = i.schedule.fault(r, s.occurrence)
	case l.trial != nil && l.hit.IsZero() && l.trial.step == s.step:
		fault = l.trial.fault
	}
	if fault != faultproxy.None {
		l.hit, l.ended = time.Now(), time.Time{}
		l.faults = append(l.faults, fmt.Sprintf("%s/%s", s.step, fault))
	}
	return fault
}

// laneOf returns the lane of a request, nil if its namespace is not watched.
func (i *injector) laneOf(r faultproxy.Request) *lane {
	namespace := r.Namespace
	if namespace == "" && i.schedule == nil {
		namespace = i.alone
	}
	return i.lanes[namespace]
}

// done is for the proxy.
func (i *injector) done(r faultproxy.Request, _ faultproxy.Fault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if l := i.laneOf(r); l != nil {
		l.ended = time.Now()
	}
}

// watch counts requests for a namespace from now on, which is to have one fault at most.
func (i *injector) watch(namespace string, t *trial) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lanes[namespace] = &lane{counts: map[string]int{}, trial: t, last: time.Now()}
}

// forget stops counting.
func (i *injector) forget(namespace string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.lanes, namespace)
}

// atRandom has requests fail at random for all watched namespaces; nil ends it. Occurrences are
// counted anew.
func (i *injector) atRandom(s *schedule) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.schedule = s
	if s == nil {
		return
	}
	for _, l := range i.lanes {
		clear(l.counts)
	}
	// Discovery, for instance.
	i.lanes[""] = &lane{counts: map[string]int{}}
}

// own gives a namespace the requests that have none; empty takes them away.
func (i *injector) own(namespace string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.alone = namespace
}

// state returns a copy of a lane.
func (i *injector) state(namespace string) lane {
	i.mu.Lock()
	defer i.mu.Unlock()
	l := i.lanes[namespace]
	if l == nil {
		return lane{}
	}
	c := *l
	c.seen, c.faults, c.counts = slices.Clone(l.seen), slices.Clone(l.faults), nil
	return c
}
