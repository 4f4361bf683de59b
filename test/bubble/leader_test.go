// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/pintle-dev/pintle/internal/leader"
)

// noEvents is a recorder for a lock.
type noEvents struct{ record.EventRecorder }

// GetEventRecorderFor implements recorder.Provider.
func (noEvents) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

// GetEventRecorder implements recorder.Provider.
func (noEvents) GetEventRecorder(string) recorder.EventRecorder { return nil }

// replica is a controller that takes part in leader election, as in main.
type replica struct {
	stop func()
	// cut is true while no request of the replica is answered.
	cut atomic.Bool
	// writes is the number of its writes that were sent, apart from leases.
	writes atomic.Int64
}

const renewDeadline, leaseDuration = 30 * time.Second, 35 * time.Second

func (w *world) replica() *replica {
	w.Helper()
	r := &replica{}
	through := func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if r.cut.Load() {
				silence(req)
				return nil, req.Context().Err()
			}
			if req.Method != http.MethodGet && !strings.Contains(req.URL.Path, "/leases") && !strings.Contains(req.URL.Path, "/events") {
				r.writes.Add(1)
			}
			return next.RoundTrip(req)
		})
	}
	config := w.config("pintle", w)
	config.Wrap(through)
	lock, err := leaderelection.NewResourceLock(config, noEvents{}, leaderelection.Options{
		LeaderElection: true, LeaderElectionID: "pintle", LeaderElectionNamespace: "default", RenewDeadline: renewDeadline,
	})
	w.must(err)
	fence := leader.New(lock, leader.Options{Limit: renewDeadline, Now: time.Now, Lost: func() {}})
	r.stop = w.start(func(s *settings) {
		s.wrap = func(next http.RoundTripper) http.RoundTripper { return fence.Guard(through(next)) }
		s.forReleases = fence.Guard
		s.lostLease = true
		s.manager = func(o *ctrl.Options) {
			o.LeaderElection, o.LeaderElectionResourceLockInterface, o.LeaderElectionReleaseOnCancel = true, fence, true
			o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = new(leaseDuration), new(renewDeadline), new(5*time.Second)
		}
	})
	return r
}

// TestLeader: one of two replicas writes. Another one follows at once if it stops, and after the lease
// if it is cut off. A replica that was cut off writes nothing when it is connected again.
func TestLeader(t *testing.T) {
	inBubble(t, func(w *world) {
		first := w.replica()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilReady(hr)
		second := w.replica()
		w.says(hr, "two")
		w.untilMessage("app", "two")
		w.untilReady(hr)
		time.Sleep(time.Minute)
		if n := second.writes.Load(); n != 0 {
			t.Errorf("the second replica has sent %d writes", n)
		}
		first.stop()
		w.says(hr, "three")
		if took := w.untilMessage("app", "three"); took > 15*time.Second {
			t.Errorf("the second replica leads after %s", took)
		}
		w.untilReady(hr)
		third := w.replica()
		time.Sleep(time.Minute)
		second.cut.Store(true)
		before := second.writes.Load()
		w.says(hr, "four")
		// A candidate sees the last renewal, and the end of the lease, up to 2.2 retry periods late.
		if took := w.untilMessage("app", "four"); took < leaseDuration-10*time.Second || took > leaseDuration+25*time.Second {
			t.Errorf("the third replica leads after %s", took)
		}
		second.cut.Store(false)
		w.says(hr, "five")
		w.untilMessage("app", "five")
		w.untilReady(hr)
		time.Sleep(5 * time.Minute)
		if n := second.writes.Load() - before; n != 0 || third.writes.Load() == 0 {
			t.Errorf("the replica that was cut off has sent %d writes", n)
		}
	})
}
