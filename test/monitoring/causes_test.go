// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestCausedAlerts: with the metrics that a controller has served, each alert fires once after its
// cause, and not before. TestAlerts of test/e2e causes them.
func TestCausedAlerts(t *testing.T) {
	path := os.Getenv("PINTLE_ALERTS")
	if path == "" {
		t.Skip("PINTLE_ALERTS is not set")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, engine := readPlayed(t, raw), newEngine(t)
	fired := map[string]bool{}
	for _, test := range file.Tests {
		var all series
		for _, s := range test.InputSeries {
			all = append(all, parsed(t, s.Series, s.Values, time.Duration(test.Interval)))
		}
		for _, want := range test.Alerts {
			got := firing(t, player{engine, all, time.Duration(file.EvaluationInterval)}, want.Name, time.Duration(want.At))
			if len(got) != len(want.Firing) {
				t.Errorf("%s: after %s, %d alerts fire, want %d:\n%s", want.Name, want.At, len(got), len(want.Firing), strings.Join(got, "\n"))
				continue
			}
			for i, a := range want.Firing {
				fired[want.Name] = true
				for name, value := range a.Labels {
					if label := name + `="` + value + `"`; !strings.Contains(got[i], label) {
						t.Errorf("%s has no label %s: %s", want.Name, label, got[i])
					}
				}
			}
		}
	}
	for _, group := range rules(t).Groups {
		for _, rule := range group.Rules {
			if !fired[rule.Alert] {
				t.Errorf("%s has not fired by a cause", rule.Alert)
			}
		}
	}
}
