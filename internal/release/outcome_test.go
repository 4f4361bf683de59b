// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import "testing"

// TestRecordSize: a record is too large if the reserved space is not free.
func TestRecordSize(t *testing.T) {
	t.Parallel()
	const limit, reserved = 1 << 20, 8 << 10
	for _, tc := range []struct {
		bytes        int
		nearly, over bool
	}{
		{limit * 79 / 100, false, false},
		{limit * 4 / 5, false, false},
		{limit*4/5 + 1, true, false},
		{limit - reserved, true, false},
		{limit - reserved + 1, true, true},
		{limit, true, true},
		{limit + 1, true, true},
	} {
		s := RecordSize{Bytes: tc.bytes, Limit: limit, Reserved: reserved}
		if s.NearlyTooLarge() != tc.nearly || s.TooLarge() != tc.over {
			t.Errorf("%d bytes: nearly %t, too large %t", tc.bytes, s.NearlyTooLarge(), s.TooLarge())
		}
	}
	if full := (RecordSize{Bytes: limit, Limit: limit}); full.TooLarge() {
		t.Error("a record at the limit is too large although no space is reserved")
	}
}

// TestOversizedMatches: a rejection for size holds as long as the inputs are the same.
func TestOversizedMatches(t *testing.T) {
	t.Parallel()
	was := Desired{
		UID: "a", Generation: 1, Target: Target{Name: "web"}, Chart: Chart{Name: "web", Version: "1", OCIDigest: "sha256:a"},
		ConfigDigest: "sha256:b", Rendering: Rendering{PostRenderers: "c"},
	}
	r := &Oversized{Desired: was}
	if !r.matches(was) {
		t.Fatal("the inputs are equal")
	}
	again := was
	if again.Chart.Digest = "sha256:packaged-again"; !r.matches(again) {
		t.Error("the same chart in another artifact lifts the rejection")
	}
	for name, change := range map[string]func(*Desired){
		"object": func(d *Desired) { d.UID = "b" }, "spec": func(d *Desired) { d.Generation++ }, "target": func(d *Desired) { d.Target.Name = "x" },
		"version": func(d *Desired) { d.Chart.Version = "2" }, "artifact": func(d *Desired) { d.Chart.OCIDigest = "x" },
		"values": func(d *Desired) { d.ConfigDigest = "x" }, "rendering": func(d *Desired) { d.Rendering.CommonMetadata = "x" },
	} {
		want := was
		if change(&want); r.matches(want) {
			t.Errorf("another %s does not lift the rejection", name)
		}
	}
}
