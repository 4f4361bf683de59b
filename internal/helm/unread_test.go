// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestUnreadValues: a plan warns of values that no template reads, with their place, and of those that were
// not looked at. It has no warning without such values.
func TestUnreadValues(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	warnings := func(values map[string]any) []string {
		j := job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", values)
		j.Layers = func() []plan.Layer {
			return []plan.Layer{{Name: "ConfigMap/web", File: "values.yaml", Values: values, Lines: func([]string) int { return 3 }}}
		}
		return planOf(t, w, j, v1alpha1.PlanInstall).Status.Warnings
	}
	if got := warnings(map[string]any{"message": "one"}); got != nil {
		t.Errorf("warnings %q", got)
	}
	many := map[string]any{}
	for i := range 25 {
		many[strings.Repeat("k", i+5)] = "x"
	}
	if got := warnings(many); len(got) != maxUnread+1 || got[maxUnread] != "no template reads 5 other values" {
		t.Errorf("warnings %q", got)
	}
	files := note()
	files["values.yaml"] = "message: default\n"
	artifact = w.chart("1.0.0", files)
	want := []string{"no template reads value mesage (ConfigMap/web values.yaml:3): it may mean message"}
	if diff := cmp.Diff(want, warnings(map[string]any{"mesage": "one"})); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	files["templates/random.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: random}\ndata: {r: {{ randAlphaNum 20 | quote }}}\n"
	artifact = w.chart("1.0.0", files)
	want = []string{"1 value that the chart has no default for was not looked at: the chart renders differently each time"}
	if diff := cmp.Diff(want, warnings(map[string]any{"mesage": "one"})); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
