// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import helmv2 "github.com/pintle-dev/pintle/api/v2"

// RecordSize is the size of a new revision's record in Helm storage. All numbers are bytes of
// Secret data, after compression and encoding.
type RecordSize struct {
	Bytes int
	// Limit is the capacity of a Secret. Reserved is the part of it that must be free when an
	// action starts, for the updates of the record until its end.
	Limit, Reserved int
	// Parts is the breakdown by contents, largest first. The parts add up to Bytes.
	Parts []RecordPart
}

// RecordPart is the share of one part of a record.
type RecordPart struct {
	Kind  RecordPartKind
	Bytes int
	// Largest is the largest file of the chart in this part; empty if there is none.
	Largest string
}

// RecordPartKind names a part of a record.
type RecordPartKind string

const (
	// PartTemplates are the chart's templates. Subcharts are not stored.
	PartTemplates RecordPartKind = "templates"
	// PartCRDs are the files in the chart's crds folder.
	PartCRDs RecordPartKind = "CRDs"
	// PartFiles are all other files of the chart.
	PartFiles RecordPartKind = "files"
	// PartDefaults are the chart's own values and their schema.
	PartDefaults RecordPartKind = "chart values"
	// PartValues are the values of the release.
	PartValues RecordPartKind = "release values"
	// PartManifest is the rendered manifest with hooks and without CRDs.
	PartManifest RecordPartKind = "manifest and hooks"
	// PartRenderedCRDs are the CRDs in the rendered manifest.
	PartRenderedCRDs RecordPartKind = "CRDs in the manifest"
	// PartRest is metadata, notes and the status of the revision.
	PartRest RecordPartKind = "metadata and notes"
)

// TooLarge reports whether the record cannot be stored, or not be updated when the action has
// ended. The action must not start then.
func (s *RecordSize) TooLarge() bool { return s.Bytes > s.Limit-s.Reserved }

// NearlyTooLarge reports whether users are warned about the size: from 80 % of the limit.
func (s *RecordSize) NearlyTooLarge() bool { return s.Bytes*5 >= s.Limit*4 }

// Oversized is an action that did not start because the record of its revision exceeds the size
// limit.
type Oversized struct {
	// Action is the name of the action.
	Action string
	// Desired is the desired state at the announcement.
	Desired Desired
	// Message describes the size for users.
	Message string
}

// Oversized reports whether the attempt ended before its first write because the record exceeds the
// size limit.
func (o *Outcome) Oversized() bool {
	return o.Err != nil && !o.EndedEarly() && !o.Stored() && o.Record != nil && o.Record.TooLarge()
}

// matches reports whether the same inputs are desired again. A chart may also read the cluster,
// which is not compared.
func (r *Oversized) matches(want Desired) bool {
	was := r.Desired
	// A source may package the same chart again, with another digest.
	was.Chart.Digest = want.Chart.Digest
	return was.UID == want.UID && was.Generation == want.Generation && was.Target == want.Target &&
		was.Chart == want.Chart && was.ConfigDigest == want.ConfigDigest && was.Rendering == want.Rendering
}

// whyTooLarge has no numbers. Other conditions have them.
const whyTooLarge = "the revision is too large for Helm's storage: nothing is tried until the spec, the chart or the values change"

// tooLarge applies if the next action was rejected for the size of its record and would be rejected
// again. Status has no field for it, so a new process makes one more attempt.
func tooLarge(in Input) *Decision {
	was := in.Observed.Oversized
	if was == nil || !was.matches(in.Desired) || in.Desired.Requests.ResetRequested(&in.Recorded) {
		return nil
	}
	for _, found := range []func(Input) *Decision{absent, unmanaged, failed, outOfSync} {
		d := found(in)
		if d == nil {
			continue
		}
		if Name(d.Action) != was.Action {
			return nil
		}
		d.Action, d.Why = Stall{Reason: helmv2.ReasonReleaseTooLarge}, whyTooLarge
		return d
	}
	return nil
}

// TooLargeMessage returns the message while an oversized revision is still desired.
func TooLargeMessage() string { return whyTooLarge }
