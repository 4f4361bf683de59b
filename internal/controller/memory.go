// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Table keeps a record of type R for each HelmRelease, behind one mutex. Nothing of it survives the
// process. The zero value is empty and ready for use.
type Table[R any] struct {
	mu      sync.Mutex
	records map[types.NamespacedName]*R
}

// With calls f with the record of key, a zero value at first. f runs under the lock: it must not
// block, and must not use the table.
func (t *Table[R]) With(key types.NamespacedName, f func(*R)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.records == nil {
		t.records = map[types.NamespacedName]*R{}
	}
	if t.records[key] == nil {
		t.records[key] = new(R)
	}
	f(t.records[key])
}

// Update calls f like With, but only if there is a record of key.
func (t *Table[R]) Update(key types.NamespacedName, f func(*R)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if record := t.records[key]; record != nil {
		f(record)
	}
}

// Each calls f with every record, under the conditions of With.
func (t *Table[R]) Each(f func(types.NamespacedName, *R)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, record := range t.records {
		f(key, record)
	}
}

// Forget removes the record of key.
func (t *Table[R]) Forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.records, key)
}

// Len returns the number of records.
func (t *Table[R]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.records)
}

// Memory keeps a P for each HelmRelease.
type Memory[P any] interface {
	With(key types.NamespacedName, f func(*P))
	Update(key types.NamespacedName, f func(*P))
	Each(f func(types.NamespacedName, *P))
}

// Part returns the memory of a part of the records of a table.
func Part[R, P any](of *Table[R], part func(*R) *P) Memory[P] {
	return projection[R, P]{of, part}
}

type projection[R, P any] struct {
	of   *Table[R]
	part func(*R) *P
}

// With implements Memory.
func (p projection[R, P]) With(key types.NamespacedName, f func(*P)) {
	p.of.With(key, func(r *R) { f(p.part(r)) })
}

// Update implements Memory.
func (p projection[R, P]) Update(key types.NamespacedName, f func(*P)) {
	p.of.Update(key, func(r *R) { f(p.part(r)) })
}

// Each implements Memory.
func (p projection[R, P]) Each(f func(types.NamespacedName, *P)) {
	p.of.Each(func(key types.NamespacedName, r *R) { f(key, p.part(r)) })
}
