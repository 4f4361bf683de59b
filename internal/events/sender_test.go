// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// receiver answers by a function of how often it was asked, and counts what has
// become of events.
type receiver struct {
	answer func(n int) (status int, retryAfter string, err error)

	mu     sync.Mutex
	bodies []string
	urls   []string
	at     []time.Duration
	begun  time.Time
	result map[string]int
	queued int
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.bodies, r.urls = append(r.bodies, string(body)), append(r.urls, req.Method+" "+req.URL.String()+" "+req.Header.Get("Content-Type"))
	r.at = append(r.at, time.Since(r.begun).Truncate(time.Second))
	n := len(r.bodies)
	r.mu.Unlock()
	status, after, err := r.answer(n)
	if status == silent {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: req}
	if after != "" {
		resp.Header.Set("Retry-After", after)
	}
	if status == http.StatusTemporaryRedirect {
		resp.Header.Set("Location", "http://elsewhere/")
	}
	return resp, nil
}

// silent is the status of no answer at all.
const silent = -1

func (r *receiver) Notified(result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result[result]++
}

func (r *receiver) NotificationsQueued(change int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queued += change
}

func (r *receiver) results() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]int{}
	for k, v := range r.result {
		all[k] = v
	}
	return all
}

func (r *receiver) times() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]time.Duration{}, r.at...)
}

func newReceiver(answer func(n int) (int, string, error)) *receiver {
	return &receiver{answer: answer, result: map[string]int{}, begun: time.Now()}
}

func always(status int) func(int) (int, string, error) {
	return func(int) (int, string, error) { return status, "", nil }
}

func (r *receiver) sender(t *testing.T, log logr.Logger) *Sender {
	t.Helper()
	return r.senderOf(t.Context(), log)
}

func (r *receiver) senderOf(ctx context.Context, log logr.Logger) *Sender {
	return NewSender(ctx, Options{
		URL: "http://user:hidden@receiver/token", Controller: "helm-controller", Instance: "pod-1", Flush: 5 * time.Second,
		Observer: r, Log: log, Now: time.Now, Base: r,
	})
}

func about(name string) Event {
	return Event{InvolvedObject: corev1.ObjectReference{Kind: "HelmRelease", Namespace: "apps", Name: name}, Timestamp: metav1.Now(), Reason: "R", Message: "m"}
}

func TestDelivery(t *testing.T) {
	const minute = time.Minute
	dead := errors.New("connection refused")
	for name, tc := range map[string]struct {
		reason string
		answer func(n int) (int, string, error)
		want   string
		at     []time.Duration
		passes time.Duration
	}{
		"Taken": {reason: "once is enough", answer: always(202), want: Sent, at: seconds(0)},
		"Duplicate": {reason: "who had it lately is not told again, and not at the date it names either", want: Duplicate, at: seconds(0), passes: minute,
			answer: func(int) (int, string, error) { return 429, "Mon, 02 Jan 2026 15:04:05 UTC", nil }},
		"DuplicateWithoutDate": {reason: "nor where it names none", answer: always(429), want: Duplicate, at: seconds(0), passes: minute},
		"Busy": {reason: "who asks to be left alone for a while is", want: Sent, at: seconds(0, 20), passes: minute,
			answer: func(n int) (int, string, error) { return []int{429, 200}[n-1], "20", nil }},
		"Overloaded": {reason: "also with another status", want: Sent, at: seconds(0, 7), passes: minute,
			answer: func(n int) (int, string, error) { return []int{503, 200}[n-1], "7", nil }},
		"Failing":       {reason: "what it cannot take is not tried for ever", answer: always(500), want: Failed, at: seconds(0, 1, 3, 7, 15), passes: minute},
		"WellAgain":     {reason: "it may be a moment only", answer: func(n int) (int, string, error) { return []int{500, 502, 200}[min(n, 3)-1], "", nil }, want: Sent, at: seconds(0, 1, 3), passes: minute},
		"Refusing":      {reason: "what it does not want now it will not want later", answer: always(400), want: Refused, at: seconds(0), passes: minute},
		"NotThere":      {reason: "nor what it does not know", answer: always(501), want: Refused, at: seconds(0), passes: minute},
		"SentElsewhere": {reason: "events are for one address", answer: always(307), want: Refused, at: seconds(0), passes: minute},
		"Restarting": {reason: "a receiver that is away for a while misses nothing", want: Sent, at: seconds(0, 1, 3, 7, 15, 31, 61, 91, 121), passes: 3 * minute,
			answer: func(n int) (int, string, error) {
				if n > 8 {
					return 200, "", nil
				}
				return 0, "", dead
			}},
		"Silent": {reason: "who does not answer is not waited for", want: Sent, at: seconds(0, 6), passes: minute,
			answer: func(n int) (int, string, error) { return []int{silent, 200}[n-1], "", nil }},
		"Dead": {reason: "old news is none", answer: func(int) (int, string, error) { return 0, "", dead }, want: Expired, passes: 11 * minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReceiver(tc.answer)
				s := r.sender(t, logr.Discard())
				defer s.Close()
				s.Send(about("app"))
				time.Sleep(tc.passes)
				synctest.Wait()
				if diff := cmp.Diff(map[string]int{tc.want: 1}, r.results()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
				if got := r.times(); tc.at != nil && !cmp.Equal(got, tc.at) {
					t.Errorf("%s: it was asked at %v, want %v", tc.reason, got, tc.at)
				}
				if r.queued != 0 {
					t.Errorf("%d events wait", r.queued)
				}
			})
		})
	}
}

func seconds(all ...int) []time.Duration {
	var times []time.Duration
	for _, s := range all {
		times = append(times, time.Duration(s)*time.Second)
	}
	return times
}

// TestSendNeverWaits: whatever the receiver does, and however many events there
// are. Time stands still for as long as anybody works, so any wait would be seen.
func TestSendNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(always(silent))
		s := r.sender(t, logr.Discard())
		begun := time.Now()
		const events = 10 * lanes * perLane
		for range events {
			s.Send(about("app"))
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("it took %s", took)
		}
		// One may be on its way by now.
		got := r.results()[Overflown]
		if got < events-perLane-1 || got > events-perLane {
			t.Errorf("of %d events %d found no room, where %d have some", events, got, perLane)
		}
		r.mu.Lock()
		if r.queued != events-got {
			t.Errorf("%d events wait, and %d are counted", events-got, r.queued)
		}
		r.mu.Unlock()
		s.Close()
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("the end took %s", took)
		}
		all := r.results()
		if all[Overflown]+all[Unsent] != events || r.queued != 0 {
			t.Errorf("%d events came to an end, of %d: %v; %d wait", all[Overflown]+all[Unsent], events, all, r.queued)
		}
		s.Send(about("app"))
		if r.results()[Unsent] != all[Unsent]+1 {
			t.Error("what comes too late is not counted")
		}
		s.Close()
	})
}

// TestFlush: what happens at the very end is told.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(func(n int) (int, string, error) {
			time.Sleep(100 * time.Millisecond)
			return 200, "", nil
		})
		ctx, shutdown := context.WithCancel(t.Context())
		s := r.senderOf(ctx, logr.Discard())
		shutdown()
		for range 20 {
			s.Send(about("app"))
		}
		s.Close()
		if got := r.results()[Sent]; got != 20 {
			t.Errorf("%d of 20 events were sent", got)
		}
	})
}

// TestOrder: events of one object arrive as they were made, and those of others do
// not wait for it.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := "b"
		for laneOf(about(other)) == laneOf(about("a")) {
			other += "b"
		}
		r := newReceiver(func(n int) (int, string, error) { return []int{503, 200, 200, 200}[n-1], "", nil })
		s := r.sender(t, logr.Discard())
		for _, message := range []string{"first", "second"} {
			e := about("a")
			e.Message = message
			s.Send(e)
		}
		synctest.Wait()
		s.Send(about(other))
		time.Sleep(time.Minute)
		s.Close()
		var got []string
		for _, b := range r.bodies {
			for _, word := range []string{"first", "second", `"` + other + `"`} {
				if strings.Contains(b, word) {
					got = append(got, word)
				}
			}
		}
		if diff := cmp.Diff([]string{"first", `"` + other + `"`, "first", "second"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestLog: an outage is logged when it begins and when it ends, what is refused
// each time, and the address never.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var lines []string
		log := funcr.New(func(_, args string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, args)
		}, funcr.Options{})
		r := newReceiver(func(n int) (int, string, error) {
			if n < 4 {
				return 0, "", errors.New("refused")
			}
			return []int{200, 400, 400}[n-4], "", nil
		})
		s := r.sender(t, log)
		for range 3 {
			s.Send(about("app"))
		}
		time.Sleep(time.Minute)
		s.Close()
		mu.Lock()
		defer mu.Unlock()
		all := strings.Join(lines, "\n")
		for text, want := range map[string]int{"cannot be delivered": 1, "delivered again": 1, "was refused by its receiver": 2, "hidden": 0, "token": 0} {
			if got := strings.Count(all, text); got != want {
				t.Errorf("%q is logged %d times, want %d:\n%s", text, got, want, all)
			}
		}
	})
}

// events keeps what is made on the API server.
type events struct {
	record.EventRecorder
	made []string
}

func (e *events) AnnotatedEventf(_ runtime.Object, annotations map[string]string, eventType, reason, _ string, _ ...any) {
	e.made = append(e.made, eventType+" "+reason+" "+annotations["event.toolkit.fluxcd.io/team"])
}

func release() *helmv2.HelmRelease {
	return &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: "web", UID: "uid-1", ResourceVersion: "7",
		Annotations: map[string]string{"event.toolkit.fluxcd.io/team": "web", "other": "x"},
	}}
}

// TestPayload holds what is posted, byte by byte.
func TestPayload(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := helmv2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		// In a bubble it is the beginning of the year 2000, in UTC.
		r, made := newReceiver(always(202)), &events{}
		s := r.sender(t, logr.Discard())
		recorder := NewRecorder(made, scheme, s)
		hr := release()
		recorder.AnnotatedEventf(hr, map[string]string{helmv2.EventMetadataRevision: "1.2.3", helmv2.EventMetadataToken: "sha256:aa"},
			corev1.EventTypeWarning, "UpgradeFailed", "Helm upgrade failed: %s", "100% <no>")
		recorder.Event(hr, corev1.EventTypeNormal, "DependencyNotReady", "100% ready")
		recorder.Event(hr, TypeTrace, "HelmChartCreated", "Created")
		recorder.Eventf(&corev1.Pod{}, corev1.EventTypeNormal, "Unknown", "what is it?")
		s.Close()
		const head = `{"involvedObject":{"kind":"HelmRelease","namespace":"apps","name":"web","uid":"uid-1","apiVersion":"helm.toolkit.fluxcd.io/v2","resourceVersion":"7"},`
		const tail = `"reportingController":"helm-controller","reportingInstance":"pod-1"}`
		want := []string{
			head + `"severity":"error","timestamp":"2000-01-01T00:00:00Z","message":"Helm upgrade failed: 100% \u003cno\u003e","reason":"UpgradeFailed",` +
				`"metadata":{"event.toolkit.fluxcd.io/team":"web","helm.toolkit.fluxcd.io/revision":"1.2.3","helm.toolkit.fluxcd.io/token":"sha256:aa"},` + tail,
			head + `"severity":"info","timestamp":"2000-01-01T00:00:00Z","message":"100% ready","reason":"DependencyNotReady",` +
				`"metadata":{"event.toolkit.fluxcd.io/team":"web"},` + tail,
		}
		if diff := cmp.Diff(want, r.bodies); diff != "" {
			t.Errorf("posted (-want +got):\n%s", diff)
		}
		if want := "POST http://user:hidden@receiver/token application/json"; r.urls[0] != want {
			t.Errorf("the request is %s, want %s", r.urls[0], want)
		}
		if diff := cmp.Diff([]string{"Warning UpgradeFailed web", "Normal DependencyNotReady web", "Normal HelmChartCreated web", "Normal Unknown "}, made.made); diff != "" {
			t.Errorf("on the API server (-want +got):\n%s", diff)
		}
	})
}

// TestNobodyToTell: without an address there are events all the same.
func TestNobodyToTell(t *testing.T) {
	made := &events{}
	NewRecorder(made, runtime.NewScheme(), nil).Event(release(), corev1.EventTypeNormal, "R", "m")
	if diff := cmp.Diff([]string{"Normal R web"}, made.made); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLongMessage(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{strings.Repeat("ä", maxMessage), strings.Repeat("ä", maxMessage)},
		{strings.Repeat("ä", maxMessage+1), strings.Repeat("ä", maxMessage-3) + "..."},
	} {
		if got := shortened(tc.in); got != tc.want {
			t.Errorf("of %d bytes %d are left, want %d", len(tc.in), len(got), len(tc.want))
		}
	}
}
