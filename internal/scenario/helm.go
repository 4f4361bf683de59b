// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/release"
)

// helmResult is how Helm is told to behave in a visit.
type helmResult struct {
	kind string // ok, fail, timeout, refuse, large, running, outage, outage-refused, outage-pending, outage-lost
	text string
	// percent of what a Secret holds is what the record of the new revision takes; 0 is
	// too little to be told.
	percent int
}

// ending is how an action ends that Helm has begun.
func (h helmResult) ending() ending {
	e := ending{cause: h.err(), waiting: h.kind == "timeout", unstored: h.kind == "outage-pending", unanswered: h.kind == "outage-lost"}
	if h.outage() {
		e.outage = h.text
	}
	return e
}

// outage reports whether the API server does not answer.
func (h helmResult) outage() bool { return strings.HasPrefix(h.kind, "outage") }

// refuses reports whether the action ends before anything is stored.
func (h helmResult) refuses() bool {
	return h.kind == "refuse" || h.kind == "outage-refused" || h.size() != nil && h.size().TooLarge()
}

// size is what Helm's storage is told to say of the new revision.
func (h helmResult) size() *release.RecordSize {
	if h.percent == 0 {
		return nil
	}
	const limit = 1 << 20
	bytes := (limit*h.percent + 99) / 100
	return &release.RecordSize{Bytes: bytes, Limit: limit, Reserved: limit / 128, Parts: []release.RecordPart{
		{Kind: release.PartCRDs, Bytes: bytes * 3 / 4, Largest: "crds/large.yaml"},
		{Kind: release.PartTemplates, Bytes: bytes - bytes*3/4, Largest: "templates/web.yaml"},
	}}
}

func (h helmResult) err() error {
	if h.size() != nil && h.size().TooLarge() {
		return errors.New("the record of the revision would be too large")
	}
	if h.kind == "ok" || h.kind == "large" || h.kind == "running" {
		return nil
	}
	if h.outage() {
		return errors.New("the API server does not answer: " + h.text)
	}
	return errors.New(h.text)
}
