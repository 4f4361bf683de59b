// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func TestWrites(t *testing.T) {
	var w writes
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
	w.forget(types.NamespacedName{Namespace: "n", Name: "x"})
	if w.isStale(at("1")) {
		t.Error("forgotten")
	}
}
