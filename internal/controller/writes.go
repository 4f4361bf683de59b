// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// writes remembers which version of each object our last write replaced. The
// cache may go on showing that version for a moment, and a visit to it would
// observe much and decide nothing that could be written. The zero value is ready
// for use, by any number of goroutines.
type writes struct {
	mu       sync.Mutex
	replaced map[types.NamespacedName]string
}

// note takes the object as it was before it was written.
func (w *writes) note(before client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.replaced == nil {
		w.replaced = map[types.NamespacedName]string{}
	}
	w.replaced[client.ObjectKeyFromObject(before)] = before.GetResourceVersion()
}

// outdated reports whether obj is a version that is known to be replaced.
func (w *writes) outdated(obj client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.replaced[client.ObjectKeyFromObject(obj)] == obj.GetResourceVersion()
}

func (w *writes) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.replaced, key)
}

// unanswered remembers the last status of each HelmRelease whose write the API server did not
// answer. If the next read shows that status, the write was carried out: its events are due,
// and the outcome that it records must not be counted again. The zero value is ready for use.
// It may be used concurrently.
type unanswered struct {
	mu   sync.Mutex
	sent map[types.NamespacedName]sentStatus
}

type sentStatus struct {
	status.Report
	// outcome is the outcome that the status records; nil if it records none.
	outcome *release.Outcome
}

// note remembers a write of hr that failed with err.
func (u *unanswered) note(hr *helmv2.HelmRelease, sent sentStatus, err error) {
	if !isTransient(err) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sent == nil {
		u.sent = map[types.NamespacedName]sentStatus{}
	}
	u.sent[client.ObjectKeyFromObject(hr)] = sent
}

// carriedOut returns the write that hr shows to be carried out, and forgets it.
func (u *unanswered) carriedOut(hr *helmv2.HelmRelease) (sentStatus, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := client.ObjectKeyFromObject(hr)
	sent, known := u.sent[key]
	if !known || !sameJSON(sent.Status, hr.Status) {
		return sentStatus{}, false
	}
	delete(u.sent, key)
	return sent, true
}

// sameJSON compares statuses as they are stored: times have no fractions of seconds there.
func sameJSON(a, b helmv2.HelmReleaseStatus) bool {
	left, err := json.Marshal(a)
	right, otherErr := json.Marshal(b)
	return err == nil && otherErr == nil && bytes.Equal(left, right)
}

func (u *unanswered) forget(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.sent, key)
}
