// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func TestWrites(t *testing.T) {
	now := time.Unix(1000, 0)
	w := writes{now: func() time.Time { return now }}
	at := func(version string) *helmv2.HelmRelease {
		return &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "x", ResourceVersion: version}}
	}
	if w.isStale(at("1")) {
		t.Error("nothing was written yet")
	}
	w.record(at("1"))
	if !w.isStale(at("1")) {
		t.Error("version 1 was replaced")
	}
	if w.isStale(at("2")) {
		t.Error("version 2 is what replaced it")
	}
	other := at("1")
	other.Name = "y"
	for _, pause := range []time.Duration{writesAge, 1} {
		now = now.Add(pause)
		w.record(other)
		if pause > 1 != w.isStale(at("1")) {
			t.Errorf("%s later, version 1 is known: %t", pause, w.isStale(at("1")))
		}
	}
	if len(w.replaced) != 1 {
		t.Errorf("writes are not forgotten: %v", w.replaced)
	}
}
