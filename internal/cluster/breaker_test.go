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

// TestBreaker plays what may happen to a way into a cluster, one word after the
// other. A number lets as many seconds pass. What is noted of each step is the phase,
// an asterisk if a probe is under way, and when the next one is due.
func TestBreaker(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ reason, play, want string }{
		"FirstUse": {
			reason: "nobody waits for a cluster of which nothing is known",
			play:   "ask probe ok", want: "suspected@0 suspected* sound",
		},
		"FirstUseFails": {
			reason: "what is said has a beginning",
			play:   "ask probe no", want: "suspected@0 suspected* broken@1 since 0",
		},
		"OneFailureIsNone": {
			reason: "a connection may break",
			play:   "ask probe ok 5 doubt probe ok", want: "suspected@0 suspected* sound sound suspected@5 since 5 suspected* since 5 sound",
		},
		"Dead": {
			reason: "it is broken since the request that failed, not since the probe",
			play:   "ask probe ok 5 doubt probe 2 no", want: "suspected@0 suspected* sound sound suspected@5 since 5 suspected* since 5 suspected* since 5 broken@8 since 5",
		},
		"Unasked": {
			reason: "nobody is bothered whom nobody asks for",
			play:   "100 probe", want: "untried untried",
		},
		"OneProbeAtATime": {
			play: "ask probe probe", want: "suspected@0 suspected* suspected*",
		},
		"NotEarly": {
			play: "ask probe no probe", want: "suspected@0 suspected* broken@1 since 0 broken@1 since 0",
		},
		"BackOff": {
			reason: "it doubles up to a minute, and begins anew after an answer",
			play:   "ask probe no 1 probe no 2 probe no 4 probe no 8 probe no 16 probe no 32 probe no 60 probe no 60 probe ok 5 doubt probe no",
			want: "suspected@0 suspected* broken@1 since 0 broken@1 since 0 broken* since 0 broken@3 since 0 broken@3 since 0 broken* since 0 broken@7 since 0 " +
				"broken@7 since 0 broken* since 0 broken@15 since 0 broken@15 since 0 broken* since 0 broken@31 since 0 broken@31 since 0 broken* since 0 broken@63 since 0 " +
				"broken@63 since 0 broken* since 0 broken@123 since 0 broken@123 since 0 broken* since 0 broken@183 since 0 broken@183 since 0 broken* since 0 sound sound " +
				"suspected@188 since 188 suspected* since 188 broken@189 since 188",
		},
		"DoubtInDoubt": {
			reason: "those that fail after the first one are no news",
			play:   "ask probe ok 5 doubt 1 doubt probe no doubt", want: "suspected@0 suspected* sound sound suspected@5 since 5 suspected@5 since 5 suspected@5 since 5 suspected* since 5 broken@7 since 5 broken@7 since 5",
		},
		"Flapping": {
			reason: "who answers probes only is asked once a second",
			play:   "ask probe ok doubt probe 1 probe", want: "suspected@0 suspected* sound suspected@1 since 0 suspected@1 since 0 suspected@1 since 0 suspected* since 0",
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
		case "ask":
			b.ask(now)
		case "doubt":
			b.doubt(now, "doubt")
		case "probe":
			b.probing = b.probing || b.due(now)
		case "ok":
			b.probed(now, "")
		case "no":
			b.probed(now, "no")
		default:
			var seconds int
			if _, err := fmt.Sscan(word, &seconds); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Duration(seconds) * time.Second)
		}
		note := map[phase]string{untried: "untried", sound: "sound", suspected: "suspected", broken: "broken"}[b.phase]
		switch {
		case b.probing:
			note += "*"
		case b.phase == suspected || b.phase == broken:
			note += fmt.Sprintf("@%.0f", b.next.Sub(start).Seconds())
		}
		if !b.since.IsZero() {
			note += fmt.Sprintf(" since %.0f", b.since.Sub(start).Seconds())
		}
		noted = append(noted, note)
	}
	return strings.Join(noted, " ")
}

// TestBreakerTells: who waits is told once of whatever is new, and not of what is not.
func TestBreakerTells(t *testing.T) {
	t.Parallel()
	b, now := &breaker{}, time.Unix(1000, 0)
	b.ask(now)
	for _, step := range []struct {
		reason, cause        string
		news, opened, closed bool
	}{
		{"somebody is there, which was not known", "", true, false, false},
		{"nobody is", "refused", true, true, false},
		{"for the same reason", "refused", false, false, false},
		{"for another one", "lost", true, false, false},
		{"somebody is", "", true, false, true},
	} {
		news, opened, closed := b.probed(now, step.cause)
		if news != step.news || opened != step.opened || closed != step.closed {
			t.Errorf("%s: news %t, opened %t, closed %t", step.reason, news, opened, closed)
		}
	}
}
