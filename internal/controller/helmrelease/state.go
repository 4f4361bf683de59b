// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/debounce"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/dependency"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/outage"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// memory is what is remembered of one HelmRelease. Nothing of it survives the process.
type memory struct {
	// replaced is the resourceVersion that the last write of status replaced.
	replaced string
	// unanswered is the last write of status that the API server did not answer; nil if there is
	// none.
	unanswered *sentStatus
	sync       syncState
	debounce   debounce.State
	// dependency is what the HelmRelease waits for.
	dependency dependency.State
	// download is closed at the end of the download that the HelmRelease waits for; nil if it
	// waits for none.
	download <-chan struct{}
	// outage is that of reconciliations, comparison that of comparisons of objects.
	outage, comparison outage.State
	// refusal is the last record of the release that was too large; nil if there is none.
	refusal *release.Oversized
	// conflicts are the releases whose objects are in the way, as keys of IndexHistory.
	conflicts []string
	// place is where the release was looked for last.
	place place
	// rendering is what is known of the rendering of the newest revision. readsCluster is true if
	// its chart depends on the capabilities of the API server.
	rendering    rendering
	readsCluster bool
}

// sentStatus is a write of status.
type sentStatus struct {
	status.Report
	// outcome is the outcome that the status records; nil if it records none.
	outcome *release.Outcome
}

// carriedOut returns the unanswered write if hr contains its status, and forgets it. Its events
// are due then, and the outcome that it records must not be counted again.
func (m *memory) carriedOut(hr *helmv2.HelmRelease) *sentStatus {
	sent := m.unanswered
	if sent == nil || !sameJSON(sent.Status, hr.Status) {
		return nil
	}
	m.unanswered = nil
	return sent
}

// sameJSON compares statuses as they are stored: times have no fractions of seconds there.
func sameJSON(a, b helmv2.HelmReleaseStatus) bool {
	left, err := json.Marshal(a)
	right, otherErr := json.Marshal(b)
	return err == nil && otherErr == nil && bytes.Equal(left, right)
}

// refused records that a release was refused for its size, or that it was stored since. After a
// restart, each such release costs one action.
func (m *memory) refused(o release.Outcome) {
	switch {
	case o.Oversized():
		m.refusal = status.SizeExceeded(o)
	case o.Stored():
		m.refusal = nil
	}
}

// blockedBy records the owners of the objects that were in the way of an action on hr. After a
// restart, each action is tried again anyway.
func (m *memory) blockedBy(hr *helmv2.HelmRelease, owners []release.Target) {
	m.conflicts = nil
	for _, o := range owners {
		m.conflicts = append(m.conflicts, controller.ReleaseKey(hr, o.Namespace, o.Name))
	}
}

// waitsFor reports whether an object of any of some releases is in the way.
func (m *memory) waitsFor(releases []string) bool {
	return slices.ContainsFunc(m.conflicts, func(o string) bool { return slices.Contains(releases, o) })
}

// syncState remembers that a HelmRelease was found in sync, for which inputs, and until when. A
// change of a ConfigMap in a key that is not used enqueues all HelmReleases that use another
// key: they need not read Helm's storage again.
type syncState struct {
	// known is true if the HelmRelease was found in sync, or acted on, in this process.
	known   bool
	desired release.Desired
	status  helmv2.HelmReleaseStatus
	until   time.Time
	// changed is true if live objects have changed, or may have.
	changed bool
}

// found records that the HelmRelease is in sync with want until a time.
func (s *syncState) found(want release.Desired, status helmv2.HelmReleaseStatus, until time.Time) {
	s.known, s.desired, s.status, s.until = true, want, status, until
}

// left returns how long hr counts as in sync; zero if its inputs have changed since it was found
// in sync. The cluster of a kubeconfig is not known without reading the kubeconfig.
func (s *syncState) left(hr *helmv2.HelmRelease, want release.Desired, now time.Time) time.Duration {
	if s.changed {
		// Until a reconciliation has found it in sync again.
		s.changed = false
		s.invalidate()
	}
	if !s.known || hr.Spec.KubeConfig != nil || want.Deleted || want.Suspension.Active ||
		!reflect.DeepEqual(s.desired, want) || !equality.Semantic.DeepEqual(s.status, hr.Status) {
		return 0
	}
	return max(0, s.until.Sub(now))
}

// invalidate makes the next reconciliation observe the release: an action has changed it.
func (s *syncState) invalidate() {
	s.known, s.desired, s.status, s.until = true, release.Desired{}, helmv2.HelmReleaseStatus{}, time.Time{}
}

// place is a cluster, with a name for messages and the host for comparisons.
type place struct {
	name string
	host string
}
