// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestBreaker: a script of events leads to the expected phases. A number is a pause in seconds.
// After each event the phase is noted, with an asterisk while a probe is in flight, or else with
// the time of the next one.
func TestBreaker(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ reason, play, want string }{
		"FirstUse": {
			reason: "a cluster of unknown state is probed at once",
			play:   "use probe ok", want: "suspected@0 suspected* reachable",
		},
		"FirstUseFails": {
			reason: "a failure has a beginning",
			play:   "use probe no", want: "suspected@0 suspected* unreachable@1 since 0",
		},
		"OneFailureIsNone": {
			reason: "connections break",
			play:   "use probe ok 5 fail probe ok", want: "suspected@0 suspected* reachable reachable suspected@5 since 5 suspected* since 5 reachable",
		},
		"Unreachable": {
			reason: "the failure began with the request, not with the probe",
			play:   "use probe ok 5 fail probe 2 no", want: "suspected@0 suspected* reachable reachable suspected@5 since 5 suspected* since 5 suspected* since 5 unreachable@8 since 5",
		},
		"Unused": {
			reason: "an unused cluster is not probed",
			play:   "100 probe", want: "unknown unknown",
		},
		"OneProbeAtATime": {
			play: "use probe probe", want: "suspected@0 suspected* suspected*",
		},
		"NotEarly": {
			play: "use probe no probe", want: "suspected@0 suspected* unreachable@1 since 0 unreachable@1 since 0",
		},
		"BackOff": {
			reason: "the pause doubles up to a minute and is reset by an answer",
			play:   "use probe no 1 probe no 2 probe no 4 probe no 8 probe no 16 probe no 32 probe no 60 probe no 60 probe ok 5 fail probe no",
			want: "suspected@0 suspected* unreachable@1 since 0 unreachable@1 since 0 unreachable* since 0 unreachable@3 since 0 unreachable@3 since 0 unreachable* since 0 unreachable@7 since 0 " +
				"unreachable@7 since 0 unreachable* since 0 unreachable@15 since 0 unreachable@15 since 0 unreachable* since 0 unreachable@31 since 0 unreachable@31 since 0 unreachable* since 0 unreachable@63 since 0 " +
				"unreachable@63 since 0 unreachable* since 0 unreachable@123 since 0 unreachable@123 since 0 unreachable* since 0 unreachable@183 since 0 unreachable@183 since 0 unreachable* since 0 reachable reachable " +
				"suspected@188 since 188 suspected* since 188 unreachable@189 since 188",
		},
		"FailureWhileSuspected": {
			reason: "only the first failure counts",
			play:   "use probe ok 5 fail 1 fail probe no fail", want: "suspected@0 suspected* reachable reachable suspected@5 since 5 suspected@5 since 5 suspected@5 since 5 suspected* since 5 unreachable@7 since 5 unreachable@7 since 5",
		},
		"Flapping": {
			reason: "a server that answers only probes is probed once a second",
			play:   "use probe ok fail probe 1 probe", want: "suspected@0 suspected* reachable suspected@1 since 0 suspected@1 since 0 suspected@1 since 0 suspected* since 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, play(t, tc.play)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func play(t *testing.T, script string) string {
	t.Helper()
	start := time.Unix(1000, 0)
	now, b := start, &breaker{}
	var noted []string
	for word := range strings.FieldsSeq(script) {
		switch word {
		case "use":
			b.use(now)
		case "fail":
			b.fail(now, "failure")
		case "probe":
			b.probing = b.probing || b.due(now)
		case "ok":
			b.recordProbe(now, "")
		case "no":
			b.recordProbe(now, "no")
		default:
			var seconds int
			if _, err := fmt.Sscan(word, &seconds); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Duration(seconds) * time.Second)
		}
		note := map[phase]string{
			phaseUnknown: "unknown", phaseReachable: "reachable", phaseSuspected: "suspected", phaseUnreachable: "unreachable",
		}[b.phase]
		switch {
		case b.probing:
			note += "*"
		case b.phase == phaseSuspected || b.phase == phaseUnreachable:
			note += fmt.Sprintf("@%.0f", b.next.Sub(start).Seconds())
		}
		if !b.since.IsZero() {
			note += fmt.Sprintf(" since %.0f", b.since.Sub(start).Seconds())
		}
		noted = append(noted, note)
	}
	return strings.Join(noted, " ")
}

// TestBreakerReportsChanges: an outcome is reported once, and again when its cause changes.
func TestBreakerReportsChanges(t *testing.T) {
	t.Parallel()
	b, now := &breaker{}, time.Unix(1000, 0)
	b.use(now)
	for _, step := range []struct {
		reason, cause           string
		changed, opened, closed bool
	}{
		{"it answers for the first time", "", true, false, false},
		{"it fails", "refused", true, true, false},
		{"it fails for the same cause", "refused", false, false, false},
		{"it fails for another cause", "lost", true, false, false},
		{"it answers again", "", true, false, true},
	} {
		changed, opened, closed := b.recordProbe(now, step.cause)
		if changed != step.changed || opened != step.opened || closed != step.closed {
			t.Errorf("%s: changed %t, opened %t, closed %t", step.reason, changed, opened, closed)
		}
	}
}
