// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseServer holds the Lease of each namespace.
type leaseServer struct {
	mu     sync.Mutex
	leases map[string]resourcelock.LeaderElectionRecord
	// version of each Lease, for optimistic locking.
	version map[string]int
	// slow is the longest duration of a request. failing is how many of 100 requests fail, half of
	// them after they were carried out.
	slow    time.Duration
	failing int
	random  *rand.Rand
	// denied is the error of listing.
	denied error
}

func newServer() *leaseServer {
	return &leaseServer{leases: map[string]resourcelock.LeaderElectionRecord{}, version: map[string]int{}, random: rand.New(rand.NewPCG(1, 2))}
}

var errServer = errors.New("no answer")

// request carries out a request. It takes time before and after.
func (s *leaseServer) request(carryOut func() error) error {
	s.mu.Lock()
	before, after, luck := s.pause(), s.pause(), s.random.IntN(100)
	s.mu.Unlock()
	time.Sleep(before)
	if luck < s.failing/2 {
		return errServer
	}
	s.mu.Lock()
	err := carryOut()
	s.mu.Unlock()
	time.Sleep(after)
	if luck < s.failing {
		return errServer
	}
	return err
}

func (s *leaseServer) pause() time.Duration {
	if s.slow == 0 {
		return 0
	}
	return time.Duration(s.random.Int64N(int64(s.slow)))
}

// writes returns how often the Lease in a namespace was written.
func (s *leaseServer) writes(namespace string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version[namespace]
}

func (s *leaseServer) list(context.Context) (all []Lease, err error) {
	err = s.request(func() error {
		for namespace, r := range s.leases {
			all = append(all, Lease{
				Namespace: namespace, Holder: r.HolderIdentity, Acquired: r.AcquireTime.UTC(), Renewed: r.RenewTime.UTC(),
				Duration: time.Duration(r.LeaseDurationSeconds) * time.Second,
			})
		}
		return s.denied
	})
	return all, err
}

// hold writes the Lease of another controller.
func (s *leaseServer) hold(namespace string, l Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := resourcelock.LeaderElectionRecord{HolderIdentity: l.Holder, LeaseDurationSeconds: int(l.Duration / time.Second)}
	r.AcquireTime.Time, r.RenewTime.Time = l.Acquired, l.Renewed
	s.leases[namespace] = r
	s.version[namespace]++
}

func (s *leaseServer) holder(namespace string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases[namespace].HolderIdentity
}

// standbyLease is the lock of one process.
type standbyLease struct {
	*leaseServer

	namespace, identity string
	version             int
}

func (l *standbyLease) Identity() string   { return l.identity }
func (l *standbyLease) Describe() string   { return l.namespace + "/lease" }
func (l *standbyLease) RecordEvent(string) {}

func (l *standbyLease) Get(context.Context) (r *resourcelock.LeaderElectionRecord, raw []byte, err error) {
	err = l.request(func() error {
		found, is := l.leases[l.namespace]
		if !is {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, l.namespace)
		}
		l.version = l.leaseServer.version[l.namespace]
		r, raw = &found, fmt.Append(nil, found)
		return nil
	})
	return r, raw, err
}

func (l *standbyLease) Create(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.request(func() error {
		if _, is := l.leases[l.namespace]; is {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "leases"}, l.namespace)
		}
		return l.store(r)
	})
}

func (l *standbyLease) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.request(func() error {
		if l.version != l.leaseServer.version[l.namespace] {
			return apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, l.namespace, errServer)
		}
		return l.store(r)
	})
}

func (l *standbyLease) store(r resourcelock.LeaderElectionRecord) error {
	l.leases[l.namespace] = r
	l.leaseServer.version[l.namespace]++
	l.version = l.leaseServer.version[l.namespace]
	return nil
}

// process is a controller whose elector is that of client-go.
type process struct {
	*StandbyLock

	stop func()

	mu      sync.Mutex
	leading bool
	reports []string
	logged  []string
}

func (p *process) set(leading bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leading = leading
}

func (p *process) isLeading() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leading
}

// note appends a text to one of the lists of the process.
func (p *process) note(list *[]string, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, text)
}

// texts returns one of the lists of the process.
func (p *process) texts(list *[]string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(*list)
}

// start starts a process in a namespace. stop ends it and waits for its end.
func (s *leaseServer) start(t *testing.T, namespace, identity string) *process {
	t.Helper()
	p := &process{}
	p.StandbyLock = NewStandbyLock(&standbyLease{leaseServer: s, namespace: namespace, identity: identity}, StandbyOptions{
		Namespace: namespace, List: s.list, Retry: 5 * time.Second, Now: time.Now,
		Log:     funcr.New(func(_, text string) { p.note(&p.logged, text) }, funcr.Options{}),
		Waiting: func(l Lease) { p.note(&p.reports, "waits for "+l.Namespace) }, Ended: func() { p.note(&p.reports, "goes on") },
	})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: p.StandbyLock, LeaseDuration: 35 * time.Second, RenewDeadline: 30 * time.Second, RetryPeriod: 5 * time.Second, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { p.set(true) }, OnStoppedLeading: func() { p.set(false) },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
	ended := make(chan struct{})
	go func() { defer close(ended); elector.Run(ctx) }()
	p.stop = func() { cancel(); <-ended }
	t.Cleanup(p.stop)
	return p
}

func leaders(all []*process) int {
	n := 0
	for _, p := range all {
		if p.isLeading() {
			n++
		}
	}
	return n
}

// TestOneLeads: of controllers that start at the same time in several namespaces, with slow and
// failing requests, one leads at a time. When it stops, another one leads.
func TestOneLeads(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.random, s.slow, s.failing = rand.New(rand.NewPCG(seed, 7)), time.Second, int(seed%4)*5
				all := []*process{s.start(t, "b", "b-1"), s.start(t, "a", "a-1"), s.start(t, "c", "c-1"), s.start(t, "a", "a-2")}
				for len(all) > 0 {
					before := time.Now()
					for leaders(all) == 0 {
						time.Sleep(100 * time.Millisecond)
						if time.Since(before) > 10*time.Minute {
							t.Fatalf("no controller leads of %d", len(all))
						}
					}
					for range 600 {
						time.Sleep(100 * time.Millisecond)
						if n := leaders(all); n > 1 {
							t.Fatalf("%d controllers lead", n)
						}
					}
					i := max(0, slices.IndexFunc(all, (*process).isLeading))
					all[i].stop()
					all = slices.Delete(all, i, i+1)
				}
			})
		})
	}
}

// TestWaits: a controller waits without holding its Lease while the Lease of another one is renewed,
// and leads one lease duration after the last renewal.
func TestWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		other := renewed("other")
		s.hold("other", other)
		p := s.start(t, "own", "own-1")
		for range 20 {
			time.Sleep(10 * time.Second)
			other.Renewed = other.Renewed.Add(10 * time.Second)
			s.hold("other", other)
			if n := s.writes("own"); p.isLeading() || n != 0 {
				t.Fatalf("the controller leads: %t, its Lease was written %d times", p.isLeading(), n)
			}
		}
		time.Sleep(34 * time.Second)
		if p.isLeading() {
			t.Error("the controller leads before the end of the other Lease")
		}
		time.Sleep(20 * time.Second)
		if !p.isLeading() {
			t.Error("the controller does not lead after the end of the other Lease")
		}
		if n := s.writes("own"); n == 0 || n > 5 {
			t.Errorf("the own Lease was written %d times", n)
		}
		if got, want := p.texts(&p.reports), []string{"waits for other", "goes on"}; !slices.Equal(got, want) {
			t.Errorf("reports are %q, want %q", got, want)
		}
		// A controller that begins to renew later changes nothing.
		other.Renewed = other.Renewed.Add(time.Hour)
		s.hold("other", other)
		time.Sleep(time.Minute)
		if !p.isLeading() {
			t.Error("the controller has stopped to lead")
		}
	})
}

// TestStandbyReleased: a Lease that is released ends the wait at the next retry.
func TestStandbyReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		first := s.start(t, "a", "a-1")
		time.Sleep(10 * time.Second)
		second := s.start(t, "b", "b-1")
		time.Sleep(time.Minute)
		if !first.isLeading() || second.isLeading() {
			t.Fatalf("the first leads: %t, the second: %t", first.isLeading(), second.isLeading())
		}
		first.stop()
		time.Sleep(6 * time.Second)
		if !second.isLeading() {
			t.Error("the second does not lead after the release")
		}
	})
}

// TestUnlisted: without the right to list, a controller leads, and logs that once.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.hold("other", renewed("other"))
		s.denied = apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", errServer)
		p := s.start(t, "own", "own-1")
		time.Sleep(20 * time.Second)
		if logged := p.texts(&p.logged); !p.isLeading() || len(logged) != 1 {
			t.Errorf("it leads: %t, and has logged %q", p.isLeading(), logged)
		}
	})
}

// TestUnanswered: a controller does not lead while the others cannot be read.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.denied = errServer
		p := s.start(t, "own", "own-1")
		time.Sleep(time.Minute)
		if p.isLeading() {
			t.Error("the controller leads")
		}
		s.mu.Lock()
		s.denied = nil
		s.mu.Unlock()
		time.Sleep(10 * time.Second)
		if !p.isLeading() {
			t.Error("the controller does not lead although the API server answers")
		}
	})
}

// candidate returns a lock that has found another Lease right after it has written its own.
func (s *leaseServer) candidate(t *testing.T, other Lease) *StandbyLock {
	t.Helper()
	l := NewStandbyLock(&standbyLease{leaseServer: s, namespace: "m", identity: "m-1"}, StandbyOptions{
		Namespace: "m", List: s.list, Retry: time.Second, Now: time.Now, Log: logr.Discard(), Waiting: func(Lease) {}, Ended: func() {},
	})
	s.hold(other.Namespace, other)
	r := resourcelock.LeaderElectionRecord{HolderIdentity: "m-1", LeaseDurationSeconds: 35}
	r.AcquireTime.Time, r.RenewTime.Time = begin, begin.Add(time.Minute)
	if err := l.Create(t.Context(), r); !errors.Is(err, ErrOtherLeads) {
		t.Fatalf("the Lease is acquired: %v", err)
	}
	return l
}

// TestCandidates: a controller that finds another one after it has written its Lease keeps the Lease
// only while the other one may be about to release its own.
func TestCandidates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for other, want := range map[Lease]string{renewed("z"): "", renewed("a"): "", written("a"): "", written("z"): "m-1"} {
			s := newServer()
			s.candidate(t, other)
			if got := s.holder("m"); got != want {
				t.Errorf("beside %+v, the Lease has holder %q, want %q", other, got, want)
			}
		}
	})
}

// TestWrittenTimes: the Lease of a controller that does not lead has equal times.
func TestWrittenTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.candidate(t, written("z"))
		if r := s.leases["m"]; !r.AcquireTime.Equal(&r.RenewTime) {
			t.Errorf("the Lease was acquired at %v and renewed at %v", r.AcquireTime, r.RenewTime)
		}
	})
}

// TestCandidateWithdraws: a kept Lease is released when the other controller turns out to lead, and
// when the process ends.
func TestCandidateWithdraws(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, change := range map[string]func(s *leaseServer, end func()){
			"the other one leads": func(s *leaseServer, _ func()) { s.hold("z", renewed("z")) },
			"the process ends":    func(_ *leaseServer, end func()) { end() },
		} {
			s := newServer()
			l := s.candidate(t, written("z"))
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { _, _, err := l.Get(ctx); ended <- err }()
			time.Sleep(10 * time.Second)
			if s.holder("m") != "m-1" {
				t.Errorf("%s: the Lease was not kept", name)
			}
			change(s, cancel)
			time.Sleep(2 * time.Second)
			if got := s.holder("m"); got != "" {
				t.Errorf("%s: the Lease still has holder %q", name, got)
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: Get ended with %v", name, err)
			}
		}
	})
}
