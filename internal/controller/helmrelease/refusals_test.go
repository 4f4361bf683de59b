// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"errors"
	"testing"

	"github.com/pintle-dev/pintle/internal/release"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	var m memory
	refused := release.Outcome{
		Action: release.Upgrade{}, Desired: release.Desired{UID: "1"}, Err: errors.New("too large"),
		Record: &release.RecordSize{Bytes: 2, Limit: 1},
	}
	stored, cancelled, interrupted, failed := refused, refused, refused, refused
	interrupted.Interrupted = &release.Outage{}
	stored.Revisions = []release.Revision{{Version: 1}}
	cancelled.Cancelled = true
	failed.Record = nil
	for i, tc := range []struct {
		reason string
		o      release.Outcome
		held   bool
	}{
		{"other failures are no refusals", failed, false},
		{"nor is what was ended on purpose", cancelled, false},
		{"nor is an outage", interrupted, false},
		{"a refusal is remembered", refused, true},
		{"another failure before anything was stored says nothing about it", failed, true},
		{"something was made since", stored, false},
		{"a refusal is remembered", refused, true},
	} {
		m.refused(tc.o)
		if got := m.refusal; (got != nil) != tc.held {
			t.Errorf("%d: %s: %+v", i, tc.reason, got)
		}
	}
	if got := m.refusal; got.Action != "upgrade" || got.Desired.UID != "1" || got.Message == "" {
		t.Errorf("remembered %+v", got)
	}
}
