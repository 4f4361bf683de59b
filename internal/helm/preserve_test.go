// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/values"
)

// preservingUpgrade upgrades to values with preserved ones, and returns the digest that Preserved
// returned before.
func preservingUpgrade(t *testing.T, w *world, artifact chart.Artifact, vals map[string]any) string {
	t.Helper()
	before := values.CloneMap(vals)
	digest, err := w.runner.PreservedDigest(t.Context(), w.conn, observed(w.history()), vals)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, values.CloneMap(vals)); diff != "" {
		t.Errorf("the caller's values were changed (-want +got):\n%s", diff)
	}
	j := job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", vals)
	j.Spec.Upgrade.PreserveValues = true
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
		t.Fatal(out.Err)
	}
	return digest
}

func TestPreserveValues(t *testing.T) {
	type m = map[string]any
	cases := map[string]struct {
		reason      string
		was, values m
		want        m
		// message is the rendered one.
		message string
		// again is true if a second upgrade stores other values.
		again bool
	}{
		"Nothing":  {reason: "without values those of before stay", was: m{"message": "old"}, want: m{"message": "old"}, message: "old"},
		"Kept":     {reason: "stored values stay", was: m{"message": "old"}, values: m{"other": "new"}, want: m{"message": "old", "other": "new"}, message: "old"},
		"Given":    {reason: "new values win", was: m{"message": "old"}, values: m{"message": "new"}, want: m{"message": "new"}, message: "new"},
		"Deep":     {reason: "maps are merged", was: m{"a": m{"b": "1", "c": "1"}}, values: m{"a": m{"c": "2"}}, want: m{"a": m{"b": "1", "c": "2"}}, message: "default"},
		"Lists":    {reason: "lists are not", was: m{"a": []any{"1", "2"}}, values: m{"a": []any{"3"}}, want: m{"a": []any{"3"}}, message: "default"},
		"Numbers":  {reason: "numbers are kept as they are", was: m{"n": 1234567}, values: m{"m": 7654321}, want: m{"n": float64(1234567), "m": float64(7654321)}, message: "default"},
		"NullOver": {reason: "null takes away what was there, and next time the chart's default", was: m{"other": "old"}, values: m{"other": nil}, want: nil, message: "default", again: true},
		"NullNew":  {reason: "null where nothing was stays", was: m{"other": "old"}, values: m{"x": nil}, want: m{"other": "old", "x": nil}, message: "default"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			artifact := w.chart("1.0.0", note())
			if out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", values.CloneMap(tc.was))); out.Err != nil {
				t.Fatal(out.Err)
			}
			foretold := preservingUpgrade(t, w, artifact, tc.values)
			h := w.history()
			if h[0].ConfigDigest != foretold {
				t.Errorf("%s: foretold %s, recorded %s", tc.reason, foretold, h[0].ConfigDigest)
			}
			// The upgrade stores the old revision again, with the same values.
			old, err := values.Digest(tc.was)
			if err != nil || h[1].ConfigDigest != old {
				t.Errorf("%s: the old values were %s, and are %s", tc.reason, old, h[1].ConfigDigest)
			}
			for _, rls := range w.stored() {
				if rls.Version == 2 {
					if diff := cmp.Diff(tc.want, rls.Config); diff != "" && len(tc.want)+len(rls.Config) > 0 {
						t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
					}
				}
			}
			if got, _, _ := nested(w, configMapPath, "data", "message"); got != tc.message {
				t.Errorf("%s: message %q", tc.reason, got)
			}
			if again := preservingUpgrade(t, w, artifact, tc.values) != foretold; again != tc.again {
				t.Errorf("%s: another upgrade would record something else: %t", tc.reason, again)
			}
			second := w.history()[0].ConfigDigest
			if preservingUpgrade(t, w, artifact, tc.values) != second {
				t.Errorf("%s: upgrades without end", tc.reason)
			}
		})
	}
}

// TestPreservedValuesSwitchSubcharts: preserved values may enable a subchart, whose CRDs are
// applied then.
func TestPreservedValuesSwitchSubcharts(t *testing.T) {
	w := newWorld(t)
	w.Created = func(object map[string]any) {
		object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
	}
	files := note()
	files["Chart.yaml"] = "apiVersion: v2\nname: note\nversion: 1.0.0\ndependencies:\n- {name: sub, version: 1.0.0, condition: sub.enabled}\n"
	files["values.yaml"] = "message: default\nsub: {enabled: false}\n"
	files["crds/own.yaml"] = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: own.example.com}\n"
	files["charts/sub/Chart.yaml"] = "apiVersion: v2\nname: sub\nversion: 1.0.0\n"
	files["charts/sub/templates/cm.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sub}\n"
	artifact := w.chart("1.0.0", files)
	on := map[string]any{"sub": map[string]any{"enabled": true}}
	if out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", on)); out.Err != nil {
		t.Fatal(out.Err)
	}
	preservingUpgrade(t, w, artifact, nil)
	if w.Object("/api/v1/namespaces/prod/configmaps/sub") == nil {
		t.Error("the subchart was dropped")
	}
}

// TestPreservedValuesAreThoseDeployed: the values of the deployed revision are preserved, not those
// of a failed one after it.
func TestPreservedValuesAreThoseDeployed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		stuck(t, w)
		paused(w, true)
		foretold := preservingUpgrade(t, w, w.chart("1.0.0", neverReady()), nil)
		h := w.history()
		if h[0].ConfigDigest != foretold || foretold != h[2].ConfigDigest || foretold == h[1].ConfigDigest {
			t.Errorf("foretold %s, history %+v", foretold, h)
		}
		if h[0].Status != helmv2.StatusDeployed {
			t.Errorf("status %s", h[0].Status)
		}
	})
}

func TestPreservedWithoutRelease(t *testing.T) {
	w := newWorld(t)
	vals := map[string]any{"a": "b"}
	want, err := values.Digest(vals)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.runner.PreservedDigest(t.Context(), w.conn, observed(nil), vals); got != want || err != nil {
		t.Errorf("without a release there is nothing to keep: %s, %v", got, err)
	}
	gone := []release.Revision{{Version: 4}}
	if _, err := w.runner.PreservedDigest(t.Context(), w.conn, observed(gone), vals); err == nil || !strings.HasPrefix(err.Error(), "values of revision 4 of release app in namespace prod: ") {
		t.Errorf("error %v", err)
	}
	j := job(release.Upgrade{Timeout: time.Minute}, w.chart("1.0.0", note()), "1.0.0", vals)
	j.Spec.Upgrade.PreserveValues = true
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err == nil || !strings.Contains(out.Err.Error(), "has no deployed releases") {
		t.Errorf("error %v", out.Err)
	}
}
