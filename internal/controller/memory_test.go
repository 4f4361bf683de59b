// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

type entry struct {
	writes int
	outage string
}

var web, api = types.NamespacedName{Name: "web"}, types.NamespacedName{Name: "api"}

func TestTable(t *testing.T) {
	var table Table[entry]
	table.Update(web, func(*entry) { t.Error("a record exists that nothing made") })
	if table.Len() != 0 {
		t.Error("an update made a record")
	}
	for range 2 {
		table.With(web, func(r *entry) { r.writes++ })
	}
	table.Update(web, func(r *entry) { r.writes++ })
	table.With(api, func(*entry) {})
	found := map[types.NamespacedName]int{}
	table.Each(func(key types.NamespacedName, r *entry) { found[key] = r.writes })
	if want := map[types.NamespacedName]int{web: 3, api: 0}; !maps.Equal(found, want) {
		t.Errorf("records are %v, want %v", found, want)
	}
	table.Forget(web)
	table.With(web, func(r *entry) {
		if r.writes != 0 {
			t.Errorf("a forgotten record has %d writes", r.writes)
		}
	})
}

// TestPart: a part is the same memory as the record that contains it.
func TestPart(t *testing.T) {
	var table Table[entry]
	outages := Part(&table, func(r *entry) *string { return &r.outage })
	outages.Update(web, func(*string) { t.Error("a record exists that nothing made") })
	outages.With(web, func(o *string) { *o = "since noon" })
	table.With(web, func(r *entry) {
		if r.outage != "since noon" {
			t.Errorf("the record has %q", r.outage)
		}
	})
	outages.Update(web, func(o *string) { *o += "!" })
	outages.Each(func(key types.NamespacedName, o *string) {
		if key != web || *o != "since noon!" {
			t.Errorf("%s has %q", key, *o)
		}
	})
	table.Forget(web)
	outages.Each(func(key types.NamespacedName, _ *string) { t.Errorf("%s is not forgotten", key) })
}

// TestConcurrency: no write is lost.
func TestConcurrency(t *testing.T) {
	var table Table[entry]
	var running sync.WaitGroup
	for range 20 {
		running.Go(func() {
			for range 100 {
				table.With(web, func(r *entry) { r.writes++ })
			}
		})
	}
	running.Wait()
	table.With(web, func(r *entry) {
		if r.writes != 2000 {
			t.Errorf("%d writes", r.writes)
		}
	})
}
