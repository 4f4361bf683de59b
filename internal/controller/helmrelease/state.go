// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/dependency"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// memory is the state of one HelmRelease in the memory of the process.
type memory struct {
	// replaced is the version that the last write of status replaced. overtaken is the version that
	// it could not replace, because another write had.
	replaced, overtaken controller.Stale
	// unanswered is the last write of status that the API server did not answer; nil if there is
	// none.
	unanswered *sentStatus
	sync       syncState
	debounce   debounceState
	// accepted is the token of a request that was recorded as handled, or may have been, and whose
	// action has not started; empty if there is none.
	accepted string
	// void is the digest of the last plan that no longer stated what its action would do.
	void string
	// dependency has the objects that the HelmRelease waits for.
	dependency dependency.State
	// download is closed at the end of the download that the HelmRelease waits for; nil if it
	// waits for none.
	download <-chan struct{}
	// files are the files of sources that the values come from.
	files fileState
	// outage counts failed reconciliations, comparison failed comparisons of objects.
	outage, comparison controller.Outage
	// refusal is the last record of the release that was too large; nil if there is none.
	refusal *release.Oversized
	// conflicts are the releases whose objects are in the way, as keys of IndexHistory.
	conflicts []string
	// suspended is spec.suspend at the last report of this process; nil if there is none.
	suspended *bool
	// warned is the refusal of the next change that was reported; zero if there is none.
	warned policy.Refusal
	// unreadySince is the time since which objects of a release that is watched are not ready; zero if they
	// are. unreadyRevision is the revision of that.
	unreadySince    time.Time
	unreadyRevision int
	// place is the cluster from which the release was read last.
	place place
	// renderings are the renderings of the newest revision that is compared. readsCluster is true
	// if its chart depends on the capabilities of the API server.
	renderings   release.Renderings
	readsCluster bool
}

// sentStatus is a write of status.
type sentStatus struct {
	status.Report
	// outcome is the outcome that the status records; nil if it records none.
	outcome *release.Outcome
	// change is what the write changes for the log.
	change message.Change
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

// recordRefusal records that a release was refused for its size, or that it was stored since. After
// a restart, each such release costs one action.
func (m *memory) recordRefusal(o release.Outcome) {
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
		m.conflicts = append(m.conflicts, inputs.ReleaseKey(hr, o.Namespace, o.Name))
	}
}

// waitsFor reports whether an object of any of some releases is in the way.
func (m *memory) waitsFor(releases []string) bool {
	return slices.ContainsFunc(m.conflicts, func(o string) bool { return slices.Contains(releases, o) })
}

// syncState records that a HelmRelease was found in sync.
type syncState struct {
	// known is true if the HelmRelease was found in sync, or acted on, in this process.
	known bool
	last  *release.Synced
	// changed is true if live objects have changed, or may have.
	changed bool
}

// found records that the HelmRelease is in sync.
func (s *syncState) found(last release.Synced) { s.known, s.last = true, &last }

// lastFound returns the last reconciliation that found hr in sync; nil if hr may have changed
// since. It is called once in each reconciliation: a change that comes later counts for the next
// one. The cluster of a kubeconfig is not known without reading the kubeconfig.
func (s *syncState) lastFound(hr *helmv2.HelmRelease) *release.Synced {
	if s.changed {
		s.changed = false
		s.invalidate()
	}
	if hr.Spec.KubeConfig != nil {
		return nil
	}
	return s.last
}

// invalidate makes the next reconciliation observe the release: an action has changed it.
func (s *syncState) invalidate() { s.known, s.last = true, nil }

// place is a cluster, with a name for messages and the host for comparisons.
type place struct {
	name string
	host string
}
