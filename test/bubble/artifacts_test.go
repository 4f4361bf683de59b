// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// artifactsAnswer makes answer answer the downloads.
func (w *world) artifactsAnswer(answer func(req *http.Request) *http.Response) {
	w.answers(func(req *http.Request) *http.Response {
		if req.URL.Host != "artifacts" {
			return nil
		}
		return answer(req)
	})
}

// downloaded returns when downloads have begun, since the world began.
func (w *world) downloaded() (times []time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.downloads {
		times = append(times, d.Sub(w.began))
	}
	return times
}

// TestArtifactServerDown: downloads that fail are repeated with a back-off up to its maximum. A new
// revision of the source is downloaded at once.
func TestArtifactServerDown(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.artifactsAnswer(func(req *http.Request) *http.Response {
			return respond(req, http.StatusServiceUnavailable, "away")
		})
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "503", "app-1.0.0.tgz")
		w.quiet(3 * time.Hour)
		last, longest, tries := time.Duration(0), time.Duration(0), 0
		for _, at := range w.downloaded() {
			// A download is repeated a few times at once.
			if pause := at - last; pause > minRetryDelay/2 {
				tries, longest = tries+1, max(longest, pause)
			}
			last = at
		}
		if longest < maxRetryDelay || longest > maxRetryDelay+time.Minute || tries < 15 || tries > 30 {
			t.Errorf("%d tries, the longest pause is %s: %v", tries, longest, w.downloaded())
		}
		w.answers(nil)
		w.publish("app", "1.0.1", w.note("1.0.1"))
		if took := w.untilMessage("app", "one"); took > 10*time.Second {
			t.Errorf("the new revision is installed after %s", took)
		}
	})
}

// TestSource: a release waits for its source without a write, and is installed as soon as the source has
// an artifact. A new artifact is an upgrade at once.
func TestSource(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		hr := w.release("app", "one")
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "OCIRepository", "not found")
		time.Sleep(time.Minute)
		w.quiet(2 * time.Hour)
		repo := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}
		repo.Spec.URL, repo.Spec.Interval = "oci://localhost/charts/app", metav1.Duration{Duration: time.Hour}
		w.create(repo)
		repo.Status.ObservedGeneration = repo.Generation
		w.must(w.client.Status().Update(t.Context(), repo))
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady, "does not have an artifact")
		time.Sleep(time.Minute)
		w.quiet(2 * time.Hour)
		w.publish("app", "1.0.0", w.note("1.0.0"))
		if took := w.untilMessage("app", "one"); took > 5*time.Second {
			t.Errorf("it is installed after %s", took)
		}
		w.untilReady(hr)
		time.Sleep(time.Minute)
		began := time.Now()
		w.publish("app", "1.1.0", w.note("1.1.0"))
		w.untilRelease(hr, "upgraded", func(hr *helmv2.HelmRelease) bool { return newest(hr) == 2 })
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it is upgraded after %s", took)
		}
	})
}

// TestSilentArtifactServer: releases that wait for a server without answers do not block others, even
// if they outnumber the workers. Each artifact is downloaded once.
func TestSilentArtifactServer(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start(func(s *settings) { s.concurrent, s.downloadTimeout = 2, 24*time.Hour })
		answered := make(chan struct{})
		w.artifactsAnswer(func(req *http.Request) *http.Response {
			if req.URL.Path == "/quick-1.2.3.tgz" {
				return nil
			}
			select {
			case <-answered:
				return nil
			case <-req.Context().Done():
				return nil
			}
		})
		w.publish("shared", "1.0.0", w.note("1.0.0"))
		var stuck []*helmv2.HelmRelease
		for i := range 4 {
			stuck = append(stuck, w.release(fmt.Sprint("shared-", i), "one", func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "shared" }))
		}
		for i := range 3 {
			name := fmt.Sprint("own-", i)
			version := fmt.Sprint("1.0.", i+1)
			w.publish(name, version, w.note(version))
			stuck = append(stuck, w.release(name, "one"))
		}
		w.publish("quick", "1.2.3", w.note("1.2.3"))
		quick := w.release("quick", "one")
		if w.untilReady(quick); time.Since(quick.CreationTimestamp.Time) > 20*time.Second {
			t.Errorf("another release is installed after %s", time.Since(quick.CreationTimestamp.Time))
		}
		for _, hr := range stuck {
			w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, "Waiting for the artifact server")
		}
		w.quiet(2 * time.Hour)
		// A deletion in the meantime is handled at once.
		w.remove(stuck[0])
		w.untilGone(stuck[0])
		close(answered)
		w.untilReady(stuck[1:]...)
		if n := len(w.downloaded()); n != 5 {
			t.Errorf("%d downloads", n)
		}
	})
}

// TestArtifactServerGivenUp: a download that times out is reported as failed, with an equal message
// during all of its retries.
func TestArtifactServerGivenUp(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.artifactsAnswer(silence)
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "Could not load chart", "http://artifacts/app-1.0.0.tgz")
		w.quiet(3 * time.Hour)
		w.answers(nil)
		if took := w.untilMessage("app", "one"); took > maxRetryDelay+time.Minute {
			t.Errorf("it is installed after %s", took)
		}
	})
}
