// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/release"
)

// helmResult is the result of Helm in one line.
type helmResult struct {
	kind string // ok, fail, timeout, crash, refuse, large, running, outage, outage-refused, outage-lost
	text string
	// server is the server that does not answer in an outage; empty is the API server.
	server string
	// percent is the size of the new record relative to a Secret. Zero stands for a small record.
	percent int
}

// ending returns the end of a started action.
func (h helmResult) ending(now time.Time) ending {
	e := ending{cause: h.err(), waiting: h.kind == "timeout", unanswered: h.kind == "outage-lost"}
	if h.outage() {
		e.outage, e.server = h.text, h.server
	}
	if h.kind == "crash" {
		e.diagnosis, e.logs = crash(h.text, now)
		e.waiting, e.cause = true, errors.New(e.diagnosis.Summary+": timed out waiting")
	}
	return e
}

// outage reports whether the API server does not answer.
func (h helmResult) outage() bool { return strings.HasPrefix(h.kind, "outage") }

// refuses reports whether the action ends before a revision is stored.
func (h helmResult) refuses() bool {
	return h.kind == "refuse" || h.kind == "outage-refused" || h.size() != nil && h.size().TooLarge()
}

// size returns the size of the new record; nil if it is small.
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

// err returns the error of the action; nil on success.
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
