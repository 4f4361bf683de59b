// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/test/load/attacks/corpus"
)

// TestParse: a pattern selects attacks by their whole names, and the short form selects the worst.
func TestParse(t *testing.T) {
	t.Parallel()
	s, err := parse([]string{"--only", "archives/bomb", "--seed", "3"})
	if all := s.attacks(); err != nil || len(all) != 1 || all[0].Name != "archives/bomb" || s.Seed != 3 {
		t.Errorf("%v of %+v, %v", len(all), s, err)
	}
	s, err = parse([]string{"--short"})
	if err != nil || len(s.attacks()) != len(corpus.Worst()) || s.rounds != 1 || s.Seed == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, wrong := range [][]string{{"--only", "("}, {"--only", "none"}, {"more"}, {"--rounds", "-1"}} {
		if _, err := parse(wrong); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
}

// TestManagerArgs: the controller has the flags of config/manager.
func TestManagerArgs(t *testing.T) {
	t.Parallel()
	args, err := managerArgs()
	if err != nil || !slices.Contains(args, "--enable-leader-election") {
		t.Errorf("%v, %v", args, err)
	}
}

// TestParseKills: the kernel counts the processes that it killed.
func TestParseKills(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"low 0\noom 3\noom_kill 2\noom_group_kill 0\n": 2, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n": 1} {
		if got, err := parseKills(text); got != want || err != nil {
			t.Errorf("%d, %v", got, err)
		}
	}
	if _, err := parseKills("oom 1\n"); err == nil {
		t.Error("no count is accepted")
	}
}

// TestReport: tables have all attacks in one line each, and broken promises name theirs.
func TestReport(t *testing.T) {
	t.Parallel()
	o := outcome{
		attack: corpus.Attack{Name: "a/b"}, took: 1500 * time.Millisecond, peakMiB: 10.4, broken: []string{"too late"},
		got: metav1.Condition{Status: metav1.ConditionFalse, Reason: "Bad", Message: "line\n| " + strings.Repeat("é", 200) + " end"},
	}
	phases := []phase{{name: "calm"}, {name: "one by one", outcomes: []outcome{o}, upgrades: wave{failed: []string{"no", "no"}}}}
	if got := tables(phases); strings.Count(got, "\n") != 4 || !strings.Contains(got, "| a/b | 1.5 | 10 | False/Bad: line \\| é") || !strings.Contains(got, " ... ") {
		t.Errorf("%s", got)
	}
	if got := failures(phases); len(got) != 2 || !strings.HasPrefix(got[0], "one by one: a/b: too late; got False/Bad") || got[1] != "one by one: a healthy release does not fail: no" {
		t.Errorf("%q", got)
	}
	if got := (outcome{attack: o.attack}).line(); !strings.Contains(got, "no condition") {
		t.Errorf("%s", got)
	}
}
