// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Suspension says why a HelmRelease is left alone, and until when.
type Suspension struct {
	// Active is true if it is left alone.
	Active bool
	// Why is a sentence for people; empty unless Active.
	Why string
	// Until is when it ends by itself; zero if it does not.
	Until time.Time
}

// SuspensionOf reads what suspends a HelmRelease: spec.suspend, which is true in
// spec, or an annotation, which people who have to keep their hands off the spec
// can set. An end that cannot be read is no end: who wants a release left alone
// gets that, and the sentence says what is wrong.
func SuspensionOf(spec bool, annotations map[string]string, now time.Time) Suspension {
	if spec {
		return Suspension{Active: true, Why: "spec.suspend is set"}
	}
	reason, set := annotations[helmv2.AnnotationSuspend]
	if !set {
		return Suspension{}
	}
	s := Suspension{Active: true, Why: fmt.Sprintf("annotation %s: %s", helmv2.AnnotationSuspend, reason)}
	end, bounded := annotations[helmv2.AnnotationSuspendUntil]
	if !bounded {
		return s
	}
	until, err := time.Parse(time.RFC3339, end)
	if err != nil {
		s.Why += fmt.Sprintf(" (without end: %s is %q, which is no RFC 3339 time)", helmv2.AnnotationSuspendUntil, end)
		return s
	}
	if !now.Before(until) {
		return Suspension{}
	}
	s.Until = until
	s.Why += fmt.Sprintf(" (until %s)", until.UTC().Format(time.RFC3339))
	return s
}
