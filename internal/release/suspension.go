// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Suspension says whether a HelmRelease is suspended, why, and until when.
type Suspension struct {
	// Active is true if the HelmRelease is suspended.
	Active bool
	// Why is a sentence for users. It is empty unless Active.
	Why string
	// Until is the end of the suspension; zero if it has none.
	Until time.Time
}

// SuspensionOf returns the suspension by spec.suspend, whose value is spec, or by annotation. The
// annotation is for users who must not change the spec. An end that cannot be parsed counts as no
// end, and Why names the error: the release stays suspended.
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
