// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/opencontainers/go-digest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// muteServer accepts requests and does not answer until it is released.
type muteServer struct {
	*httptest.Server
	archives map[string][]byte
	silent   chan struct{}

	mu       sync.Mutex
	requests map[string]int
}

func newMuteServer(t *testing.T, archives map[string][]byte) *muteServer {
	m := &muteServer{archives: archives, silent: make(chan struct{}), requests: map[string]int{}}
	m.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		m.mu.Lock()
		m.requests[req.URL.Path]++
		m.mu.Unlock()
		select {
		case <-m.silent:
			_, _ = rw.Write(m.archives[req.URL.Path])
		case <-req.Context().Done():
		}
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *muteServer) asked(path string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests[path]
}

// artifact is the artifact of a source whose files are on this server.
func (m *muteServer) artifact(path, tag string) fluxmeta.Artifact {
	d := digest.SHA256.FromBytes(m.archives[path]).String()
	return fluxmeta.Artifact{URL: m.URL + path, Path: path[1:], Digest: d, Revision: tag + "@" + d, LastUpdateTime: metav1.Now()}
}

// TestSilentArtifactServer: releases that wait for a server without answers do not block others,
// even if they outnumber the workers.
func TestSilentArtifactServer(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	archives := map[string][]byte{"/shared.tgz": configMapChart(t, "7.0.0")}
	for i := range 3 {
		archives[fmt.Sprintf("/%d.tgz", i)] = configMapChart(t, fmt.Sprintf("7.0.%d", i+1))
	}
	mute := newMuteServer(t, archives)
	// No timeout expires while the test runs.
	own := w.ownController(config{concurrent: 2, httpTimeout: time.Hour})
	var stuck []*helmv2.HelmRelease
	stick := func(name, path, tag string) {
		w.offer(name, mute.artifact(path, tag))
		stuck = append(stuck, w.release(name, nil, own))
	}
	for i := range 4 {
		stick(fmt.Sprintf("shared-%d", i), "/shared.tgz", "7.0.0")
	}
	for i := range 3 {
		stick(fmt.Sprintf("own-%d", i), fmt.Sprintf("/%d.tgz", i), fmt.Sprintf("7.0.%d", i+1))
	}

	archive := configMapChart(t, "1.0.0")
	for _, name := range []string{"first", "second", "third"} {
		w.publish(name, "1.0.0", archive)
		w.untilReady(w.release(name, nil, own))
	}
	for _, hr := range stuck {
		w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, "Waiting for the artifact server", mute.URL)
	}
	// A deletion in the meantime is handled at once.
	w.remove(stuck[0])
	w.untilGone(stuck[0])

	close(mute.silent)
	for _, hr := range stuck[1:] {
		w.untilReady(hr)
		if hr.Status.Failures != 0 {
			t.Errorf("%s: %d failures are counted", hr.Name, hr.Status.Failures)
		}
	}
	for path := range archives {
		if n := mute.asked(path); n != 1 {
			t.Errorf("%s was downloaded %d times", path, n)
		}
	}
}

// TestArtifactServerGivenUp: a download that times out is reported as failed during its retries,
// and a newer source is used meanwhile.
func TestArtifactServerGivenUp(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	mute := newMuteServer(t, map[string][]byte{"/late.tgz": configMapChart(t, "7.1.0")})
	own := w.ownController(config{concurrent: 2, httpTimeout: time.Second})
	w.offer("late", mute.artifact("/late.tgz", "7.1.0"))
	late := w.release("late", nil, own)
	w.untilSays(late, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "Could not load chart", mute.URL+"/late.tgz")
	since := condition(late, helmv2.ConditionReady).LastTransitionTime
	w.until(late, "a second try", func(*helmv2.HelmRelease) bool { return mute.asked("/late.tgz") >= 3 })
	w.untilSays(late, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "Could not load chart")
	if c := condition(late, helmv2.ConditionReady); !c.LastTransitionTime.Equal(&since) {
		t.Errorf("the message about the server changes with every attempt: since %s, %s", since, c.LastTransitionTime)
	}
	close(mute.silent)
	w.untilReady(late)
}
