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

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// receiver answers posts by a function of their number, and counts results.
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

// silent stands for no answer.
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

func about(name string) eventv1.Event {
	return eventv1.Event{InvolvedObject: corev1.ObjectReference{Kind: "HelmRelease", Namespace: "apps", Name: name}, Timestamp: metav1.Now(), Reason: "R", Message: "m"}
}

// TestDelivery: an event is posted until its result is final.
func TestDelivery(t *testing.T) {
	const minute = time.Minute
	down := errors.New("connection refused")
	for name, tc := range map[string]struct {
		reason string
		answer func(n int) (int, string, error)
		want   string
		at     []time.Duration
		passes time.Duration
	}{
		"Accepted": {reason: "one post is enough", answer: always(202), want: Sent, at: seconds(0)},
		"Duplicate": {
			reason: "a duplicate is not posted again, and not at the date of the answer either", want: Duplicate, at: seconds(0), passes: minute,
			answer: func(int) (int, string, error) { return 429, "Mon, 02 Jan 2026 15:04:05 UTC", nil },
		},
		"DuplicateWithoutDate": {reason: "a 429 without a date is a duplicate too", answer: always(429), want: Duplicate, at: seconds(0), passes: minute},
		"Busy": {
			reason: "Retry-After in seconds is respected", want: Sent, at: seconds(0, 20), passes: minute,
			answer: func(n int) (int, string, error) { return []int{429, 200}[n-1], "20", nil },
		},
		"Overloaded": {
			reason: "Retry-After of a 503 is respected", want: Sent, at: seconds(0, 7), passes: minute,
			answer: func(n int) (int, string, error) { return []int{503, 200}[n-1], "7", nil },
		},
		"Failing":        {reason: "the number of failures is bounded", answer: always(500), want: Failed, at: seconds(0, 1, 3, 7, 15), passes: minute},
		"Recovering":     {reason: "a failure may be short", answer: func(n int) (int, string, error) { return []int{500, 502, 200}[min(n, 3)-1], "", nil }, want: Sent, at: seconds(0, 1, 3), passes: minute},
		"Rejecting":      {reason: "a rejected event is not posted again", answer: always(400), want: Refused, at: seconds(0), passes: minute},
		"NotImplemented": {reason: "501 is a rejection", answer: always(501), want: Refused, at: seconds(0), passes: minute},
		"Redirected":     {reason: "redirects are not followed", answer: always(307), want: Refused, at: seconds(0), passes: minute},
		"Restarting": {
			reason: "a receiver that restarts gets the event", want: Sent, at: seconds(0, 1, 3, 7, 15, 31, 61, 91, 121), passes: 3 * minute,
			answer: func(n int) (int, string, error) {
				if n > 8 {
					return 200, "", nil
				}
				return 0, "", down
			},
		},
		"Silent": {
			reason: "a post without an answer is interrupted", want: Sent, at: seconds(0, 6), passes: minute,
			answer: func(n int) (int, string, error) { return []int{silent, 200}[n-1], "", nil },
		},
		"Down": {reason: "an old event is dropped", answer: func(int) (int, string, error) { return 0, "", down }, want: Expired, passes: 11 * minute},
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
					t.Errorf("%s: posted at %v, want %v", tc.reason, got, tc.at)
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

// TestSendDoesNotBlock: Send returns at once even if the receiver does not answer and the queue is
// full. In a synctest bubble any wait takes time.
func TestSendDoesNotBlock(t *testing.T) {
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
		// One may be in flight by now.
		got := r.results()[Overflown]
		if got < events-perLane-1 || got > events-perLane {
			t.Errorf("of %d events %d were dropped, where %d can be queued", events, got, perLane)
		}
		r.mu.Lock()
		if r.queued != events-got {
			t.Errorf("%d events wait, and %d are counted", events-got, r.queued)
		}
		r.mu.Unlock()
		s.Close()
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("Close took %s", took)
		}
		all := r.results()
		if all[Overflown]+all[Unsent] != events || r.queued != 0 {
			t.Errorf("%d events have a result, of %d: %v; %d wait", all[Overflown]+all[Unsent], events, all, r.queued)
		}
		s.Send(about("app"))
		if r.results()[Unsent] != all[Unsent]+1 {
			t.Error("an event after Close is not counted")
		}
		s.Close()
	})
}

// TestFlush: events of the shutdown are posted.
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

// TestOrder: events of one object arrive in order, and those of others do not wait for them.
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

// TestLog: an outage is logged when it begins and ends, each rejected event once, and the address
// never.
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
		for text, want := range map[string]int{"cannot be delivered": 1, "delivered again": 1, "was rejected by its receiver": 2, "hidden": 0, "token": 0} {
			if got := strings.Count(all, text); got != want {
				t.Errorf("%q is logged %d times, want %d:\n%s", text, got, want, all)
			}
		}
	})
}

// events stores the events that are recorded on the API server.
type events struct {
	record.EventRecorder
	made []string
}

func (e *events) AnnotatedEventf(_ runtime.Object, annotations map[string]string, eventType, reason, _ string, _ ...any) {
	e.made = append(e.made, eventType+" "+reason+" "+annotations[annotationAction]+" "+annotations["event.toolkit.fluxcd.io/team"])
}

func release() *helmv2.HelmRelease {
	return &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: "web", UID: "uid-1", ResourceVersion: "7",
		Annotations: map[string]string{"event.toolkit.fluxcd.io/team": "web", "other": "x"},
	}}
}

// TestPayload: the payload has the expected bytes.
func TestPayload(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := helmv2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		// The clock of a synctest bubble begins with the year 2000, in UTC.
		r, made := newReceiver(always(202)), &events{}
		s := r.sender(t, logr.Discard())
		recorder := NewRecorder(made, scheme, s)
		hr := release()
		recorder.Record(hr, Event{
			Type: corev1.EventTypeWarning, Reason: "UpgradeFailed", Action: "HelmUpgrade", Message: "Helm upgrade failed: 100% <no>",
			Metadata: map[string]string{
				helmv2.EventMetadataRevision: "1.2.3", helmv2.EventMetadataToken: "sha256:aa",
				helmv2.EventMetadataFailure: "OOMKilled", helmv2.EventMetadataObject: "Deployment/apps/web",
			},
		})
		recorder.Record(hr, Event{Type: corev1.EventTypeNormal, Reason: "DependencyNotReady", Action: "CheckDependencies", Message: "100% ready"})
		recorder.Record(hr, Event{Type: corev1.EventTypeNormal, Reason: "HelmChartCreated", Action: "ResolveSource", Message: "Created", Trace: true})
		recorder.Record(hr, Event{Type: corev1.EventTypeWarning, Reason: "InstallFailed", Action: "HelmInstall", Message: "as before", Repeated: true})
		recorder.Record(&corev1.Pod{}, Event{Type: corev1.EventTypeNormal, Reason: "Unknown", Message: "no kind"})
		s.Close()
		const head = `{"involvedObject":{"kind":"HelmRelease","namespace":"apps","name":"web","uid":"uid-1","apiVersion":"helm.toolkit.fluxcd.io/v2","resourceVersion":"7"},`
		const tail = `"reportingController":"helm-controller","reportingInstance":"pod-1"}`
		want := []string{
			head + `"severity":"error","timestamp":"2000-01-01T00:00:00Z","message":"Helm upgrade failed: 100% \u003cno\u003e","reason":"UpgradeFailed","action":"HelmUpgrade",` +
				`"metadata":{"event.toolkit.fluxcd.io/team":"web","helm.toolkit.fluxcd.io/cause":"OOMKilled","helm.toolkit.fluxcd.io/object":"Deployment/apps/web",` +
				`"helm.toolkit.fluxcd.io/revision":"1.2.3","helm.toolkit.fluxcd.io/token":"sha256:aa","pintle.dev/failure":"OOMKilled","pintle.dev/object":"Deployment/apps/web"},` + tail,
			head + `"severity":"info","timestamp":"2000-01-01T00:00:00Z","message":"100% ready","reason":"DependencyNotReady","action":"CheckDependencies",` +
				`"metadata":{"event.toolkit.fluxcd.io/team":"web"},` + tail,
		}
		if diff := cmp.Diff(want, r.bodies); diff != "" {
			t.Errorf("posted (-want +got):\n%s", diff)
		}
		if want := "POST http://user:hidden@receiver/token application/json"; r.urls[0] != want {
			t.Errorf("the request is %s, want %s", r.urls[0], want)
		}
		if diff := cmp.Diff([]string{
			"Warning UpgradeFailed HelmUpgrade web", "Normal DependencyNotReady CheckDependencies web", "Normal HelmChartCreated ResolveSource web",
			"Warning InstallFailed HelmInstall web", "Normal Unknown  ",
		}, made.made); diff != "" {
			t.Errorf("on the API server (-want +got):\n%s", diff)
		}
	})
}

// TestWithoutSender: without an address events are recorded on the API server.
func TestWithoutSender(t *testing.T) {
	made := &events{}
	NewRecorder(made, runtime.NewScheme(), nil).Record(release(), Event{Type: corev1.EventTypeNormal, Reason: "R", Action: "A", Message: "m"})
	if diff := cmp.Diff([]string{"Normal R A web"}, made.made); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLongMessage: a message is truncated by characters.
func TestLongMessage(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{strings.Repeat("ä", maxMessage), strings.Repeat("ä", maxMessage)},
		{strings.Repeat("ä", maxMessage+1), strings.Repeat("ä", maxMessage-3) + "..."},
	} {
		if got := truncate(tc.in); got != tc.want {
			t.Errorf("of %d bytes %d are left, want %d", len(tc.in), len(got), len(tc.want))
		}
	}
}
