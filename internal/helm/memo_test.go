// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pintle-dev/pintle/internal/release"
)

// TestMemoKnowsItsSize: what replaces another is not counted twice, and nothing is
// left of what is forgotten.
func TestMemoKnowsItsSize(t *testing.T) {
	m := &memo{}
	note := func(uid types.UID, description string) {
		rec := Record{UID: uid, ResourceVersion: "1"}
		m.note("way", rec, fact{revision: release.Revision{Description: description, Tests: map[string]release.TestRun{"a": {}}}})
	}
	if n, bytes := m.stats(); n != 0 || bytes != 0 {
		t.Errorf("nothing is %d revisions of %d bytes", n, bytes)
	}
	note("a", "")
	_, one := m.stats()
	note("a", strings.Repeat("x", 1000))
	if n, bytes := m.stats(); n != 1 || bytes != one+1000 || one < 300 || one > 1500 {
		t.Errorf("%d revisions take %d bytes, one %d", n, bytes, one)
	}
	note("b", "")
	if n, bytes := m.stats(); n != 2 || bytes != 2*one+1000 {
		t.Errorf("%d revisions take %d bytes", n, bytes)
	}
	m.forget("a")
	m.forget("b")
	if n, bytes := m.stats(); n != 0 || bytes != 0 {
		t.Errorf("%d revisions of %d bytes are left", n, bytes)
	}
}

// connected is a connection as storage sees it.
type connected struct {
	genericclioptions.RESTClientGetter
	local, impersonates bool
}

func (connected) ID() string           { return "id" }
func (c connected) Local() bool        { return c.local }
func (c connected) Impersonates() bool { return c.impersonates }

// TestWayOf: what the index shows is known to nobody but who made it.
func TestWayOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		getter      genericclioptions.RESTClientGetter
		id          string
		local, ours bool
	}{
		"Own":           {connected{local: true}, "id", true, true},
		"SomebodyElse":  {connected{local: true, impersonates: true}, "id", true, false},
		"Elsewhere":     {connected{}, "id", false, false},
		"NotConnection": {nil, "", false, false},
	} {
		id, local, ours := wayOf(tc.getter)
		if id != tc.id || local != tc.local || ours != tc.ours {
			t.Errorf("%s: %q, local %t, ours %t", name, id, local, ours)
		}
	}
}
