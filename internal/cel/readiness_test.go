// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestReadinessChecks: the first expression that holds determines the status.
func TestReadinessChecks(t *testing.T) {
	t.Parallel()
	const phase = "status.phase == "
	rule := helmv2.CustomHealthCheck{
		APIVersion: "example.com/v1", Kind: "Thing",
		InProgress: phase + "'Busy' || status.phase == 'All'", Failed: phase + "'Broken' || status.phase == 'All'", Current: phase + "'Done' || status.phase == 'All'",
	}
	group := helmv2.CustomHealthCheck{APIVersion: "example.com/v9", Current: "true"}
	core := helmv2.CustomHealthCheck{APIVersion: "v1", Kind: "Secret", Current: "has(data.token)"}
	object := func(apiVersion, kind string, generation int64, fields map[string]any) *unstructured.Unstructured {
		all := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "a", "generation": generation}}
		for k, v := range fields {
			all[k] = v
		}
		return &unstructured.Unstructured{Object: all}
	}
	thing := func(status map[string]any) *unstructured.Unstructured {
		return object("example.com/v1", "Thing", 2, map[string]any{"status": status})
	}
	cases := map[string]struct {
		reason string
		rules  []helmv2.CustomHealthCheck
		object *unstructured.Unstructured
		want   Status
		err    string
	}{
		"NoRules":        {reason: "without checks there is no status", object: thing(nil)},
		"OtherGroup":     {reason: "a check does not apply to other groups", rules: []helmv2.CustomHealthCheck{rule, group}, object: object("other.com/v1", "Thing", 1, nil)},
		"OtherKind":      {reason: "a check does not apply to other kinds", rules: []helmv2.CustomHealthCheck{rule}, object: object("example.com/v1", "Other", 1, nil)},
		"OtherVersion":   {reason: "the version does not matter", rules: []helmv2.CustomHealthCheck{rule}, object: object("example.com/v2", "Thing", 1, map[string]any{"status": map[string]any{"phase": "Done"}}), want: Current},
		"Group":          {reason: "a check for a group applies to kinds without one", rules: []helmv2.CustomHealthCheck{rule, group}, object: object("example.com/v1", "Other", 1, nil), want: Current},
		"KindFirst":      {reason: "a check for the kind has precedence", rules: []helmv2.CustomHealthCheck{group, rule}, object: thing(map[string]any{"phase": "Broken"}), want: Failed},
		"Core":           {reason: "the core group has an empty name", rules: []helmv2.CustomHealthCheck{core}, object: object("v1", "Secret", 0, map[string]any{"data": map[string]any{"token": "x"}}), want: Current},
		"Current":        {reason: "current holds", rules: []helmv2.CustomHealthCheck{rule}, object: thing(map[string]any{"phase": "Done"}), want: Current},
		"InProgress":     {reason: "inProgress holds", rules: []helmv2.CustomHealthCheck{rule}, object: thing(map[string]any{"phase": "Busy"}), want: InProgress},
		"Order":          {reason: "inProgress has precedence", rules: []helmv2.CustomHealthCheck{rule}, object: thing(map[string]any{"phase": "All"}), want: InProgress},
		"FailedFirst":    {reason: "failed precedes current", rules: []helmv2.CustomHealthCheck{{APIVersion: "example.com/v1", Failed: "true", Current: "true"}}, object: thing(nil), want: Failed},
		"Neither":        {reason: "an object is in progress if no expression holds", rules: []helmv2.CustomHealthCheck{rule}, object: thing(map[string]any{"phase": "?"}), want: InProgress},
		"Lagging":        {reason: "an object with an outdated status is in progress", rules: []helmv2.CustomHealthCheck{rule}, object: thing(map[string]any{"phase": "Done", "observedGeneration": int64(1)}), want: InProgress},
		"Observed":       {reason: "a status of the latest generation is evaluated", rules: []helmv2.CustomHealthCheck{rule}, object: thing(map[string]any{"phase": "Done", "observedGeneration": int64(2)}), want: Current},
		"OddGeneration":  {reason: "an observed generation of another type is ignored", rules: []helmv2.CustomHealthCheck{rule}, object: thing(map[string]any{"phase": "Done", "observedGeneration": "1"}), want: Current},
		"LaggingNoCheck": {reason: "an outdated status does not matter without a check", rules: []helmv2.CustomHealthCheck{core}, object: thing(map[string]any{"observedGeneration": int64(1)})},
		"Missing":        {reason: "an evaluation error yields no status", rules: []helmv2.CustomHealthCheck{rule}, object: thing(nil), err: "no such key: phase"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := CompileReadinessChecks(tc.rules)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Evaluate(tc.object)
			if got != tc.want || (err != nil) != (tc.err != "") || !strings.Contains(fmt.Sprint(err), tc.err) {
				t.Errorf("%s: got %d, %v", tc.reason, got, err)
			}
		})
	}
}

// TestRejectedChecks: errors of compilation name the field.
func TestRejectedChecks(t *testing.T) {
	t.Parallel()
	good := helmv2.CustomHealthCheck{APIVersion: "example.com/v1", Kind: "Thing", Current: "true"}
	with := func(edit func(*helmv2.CustomHealthCheck)) helmv2.CustomHealthCheck {
		c := good
		edit(&c)
		return c
	}
	cases := map[string]struct {
		second helmv2.CustomHealthCheck
		want   string
	}{
		"Twice":       {with(func(c *helmv2.CustomHealthCheck) { c.APIVersion = "example.com/v2" }), "spec.healthCheckExprs[1]: there is another rule for kind 'Thing' of group 'example.com'"},
		"APIVersion":  {with(func(c *helmv2.CustomHealthCheck) { c.APIVersion = "a/b/c" }), "spec.healthCheckExprs[1].apiVersion: "},
		"NoCurrent":   {with(func(c *helmv2.CustomHealthCheck) { c.Kind, c.Current = "Other", "" }), "spec.healthCheckExprs[1].current: "},
		"BadCurrent":  {with(func(c *helmv2.CustomHealthCheck) { c.Kind, c.Current = "Other", "a ==" }), "spec.healthCheckExprs[1].current: "},
		"BadFailed":   {with(func(c *helmv2.CustomHealthCheck) { c.Kind, c.Failed = "Other", "a ==" }), "spec.healthCheckExprs[1].failed: "},
		"BadProgress": {with(func(c *helmv2.CustomHealthCheck) { c.Kind, c.InProgress = "Other", "a ==" }), "spec.healthCheckExprs[1].inProgress: "},
	}
	for name, tc := range cases {
		if _, err := CompileReadinessChecks([]helmv2.CustomHealthCheck{good, tc.second}); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestChecksTogether: the expressions of all checks have one limit.
func TestChecksTogether(t *testing.T) {
	t.Parallel()
	var rules []helmv2.CustomHealthCheck
	for i := range 3 {
		text := "'" + strings.Repeat("x", 15_000) + "'=='a'"
		rules = append(rules, helmv2.CustomHealthCheck{APIVersion: "v1", Kind: fmt.Sprint("Kind", i), InProgress: text, Failed: text, Current: text})
	}
	if _, err := CompileReadinessChecks(rules[:2]); err != nil {
		t.Error(err)
	}
	const want = "all expressions together have more than 131072 bytes"
	if _, err := CompileReadinessChecks(rules); err == nil || !strings.HasPrefix(err.Error(), "spec.healthCheckExprs[2].current: ") || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("nine expressions: %v", err)
	}
}
