// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import helmv2 "github.com/pintle-dev/pintle/api/v2"

// RecordSize is what the record of a new revision takes in Helm's storage. All
// numbers are bytes of a Secret's data, compressed and encoded as they are stored.
type RecordSize struct {
	Bytes int
	// Limit is how much a Secret holds, and Room how much of it has to stay free when
	// an action begins, for what is written into the record until it has ended.
	Limit, Reserved int
	// Parts are what the record consists of, the largest first; they add up to Bytes.
	Parts []RecordPart
}

// RecordPart is the share of one part in a record.
type RecordPart struct {
	Kind  RecordPartKind
	Bytes int
	// Largest is the chart's file that takes most of it; empty if it has none.
	Largest string
}

// RecordPartKind says what a part of a record is.
type RecordPartKind string

const (
	// PartTemplates are the chart's templates. Subcharts are not stored.
	PartTemplates RecordPartKind = "templates"
	// PartCRDs are the files in the chart's crds folder.
	PartCRDs RecordPartKind = "CRDs"
	// PartFiles are all its other files.
	PartFiles RecordPartKind = "files"
	// PartDefaults are the chart's own values, with their schema.
	PartDefaults RecordPartKind = "chart values"
	// PartValues are the values of the release.
	PartValues RecordPartKind = "release values"
	// PartManifest is what was rendered, hooks included, but for definitions.
	PartManifest RecordPartKind = "manifest and hooks"
	// PartRenderedCRDs are the definitions among what was rendered.
	PartRenderedCRDs RecordPartKind = "CRDs in the manifest"
	// PartRest is metadata, notes, and the state of the revision.
	PartRest RecordPartKind = "metadata and notes"
)

// TooLarge reports whether a revision must not be begun: it could not be stored, or
// not once more when its action has ended.
func (s *RecordSize) TooLarge() bool { return s.Bytes > s.Limit-s.Reserved }

// NearlyTooLarge reports whether people should know about the size: from 80 % of the
// limit up.
func (s *RecordSize) NearlyTooLarge() bool { return s.Bytes*5 >= s.Limit*4 }

// Refusal is an action that was not begun because the record of its revision would
// be too large.
type Oversized struct {
	// Action is its name.
	Action string
	// Desired is what it was announced for.
	Desired Desired
	// Message says what people need to know about it.
	Message string
}

// Refused reports whether the attempt ended before it wrote anything because the
// record of its revision would be too large.
func (o *Outcome) Oversized() bool {
	return o.Err != nil && !o.EndedEarly() && !o.Stored() && o.Record != nil && o.Record.TooLarge()
}

// holds reports whether the same would be refused again. What a chart renders may
// depend on the cluster too, of which nothing is known here.
func (r *Oversized) matches(want Desired) bool {
	was := r.Desired
	return was.UID == want.UID && was.Generation == want.Generation && was.Target == want.Target &&
		was.Chart == want.Chart && was.ConfigDigest == want.ConfigDigest && was.Rendering == want.Rendering
}

// whyTooLarge has no numbers in it: how large it is the other conditions say.
const whyTooLarge = "the revision is too large for Helm's storage: nothing is tried until the spec, the chart or the values change"

// tooLarge: what would be made next was refused for its size, and would be again. It
// is not remembered by status, which has no field for it: a process that begins
// finds out once more.
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

// WhyRefused is what a visit says that finds the refusal still holding.
func TooLargeMessage() string { return whyTooLarge }
