// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// resting remembers which HelmReleases were found in sync, for what, and until when
// they are not to be looked at again. A ConfigMap that changed in a key nobody
// uses wakes all who use another; they need not look at Helm's storage to know
// that nothing follows. The zero value is ready for use.
type resting struct {
	mu    sync.Mutex
	known map[types.NamespacedName]rested
	// woken are those whose objects have changed, or may have.
	woken map[types.NamespacedName]bool
}

type rested struct {
	desired release.Desired
	status  helmv2.HelmReleaseStatus
	until   time.Time
}

// note remembers that hr was found in sync with want and is to be visited again
// at until.
func (r *resting) note(hr *helmv2.HelmRelease, want release.Desired, status helmv2.HelmReleaseStatus, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(client.ObjectKeyFromObject(hr), rested{desired: want, status: status, until: until})
}

func (r *resting) put(key types.NamespacedName, what rested) {
	if r.known == nil {
		r.known = map[types.NamespacedName]rested{}
	}
	r.known[key] = what
}

// left returns how long hr may still rest; zero if something is wanted that was
// not when it was last found in sync, or its time has come. Where a kubeconfig
// leads is not known without following it.
func (r *resting) left(hr *helmv2.HelmRelease, want release.Desired, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := client.ObjectKeyFromObject(hr)
	if r.woken[key] {
		// Until a visit has looked to its end.
		delete(r.woken, key)
		r.put(key, rested{})
	}
	last, known := r.known[key]
	if !known || hr.Spec.KubeConfig != nil || want.Deleted || want.Suspended ||
		!reflect.DeepEqual(last.desired, want) || !equality.Semantic.DeepEqual(last.status, hr.Status) {
		return 0
	}
	return max(0, last.until.Sub(now))
}

// met reports whether hr has been found in sync, or acted upon, since we
// started.
func (r *resting) met(key types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.known[key]
	return known
}

// wake makes the next visit look that begins after this, whatever one that is under
// way now finds. It may be called at any time.
func (r *resting) wake(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.woken == nil {
		r.woken = map[types.NamespacedName]bool{}
	}
	r.woken[key] = true
}

// disturb makes the next visit look, for something was done to the release.
func (r *resting) disturb(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(key, rested{})
}

// forget makes the next visit look, as if there had been none.
func (r *resting) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
	delete(r.woken, key)
}
