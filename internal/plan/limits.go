// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

const (
	// maxEntries is the number of entries of each list of a plan.
	maxEntries = 200
	// maxFields is the number of fields of one change.
	maxFields = 50
	// maxDangers is the number of dangers of each class, maxReason the number of bytes of a reason, and
	// maxName the number of bytes of a name.
	maxDangers = 8
	maxReason  = 256
	maxName    = 253
	// maxText is the number of bytes of one text.
	maxText = 1024

	// maxBytes is the size of a plan as JSON. Each list has its share of it, and the rest is for the
	// single fields of the status.
	maxBytes       = 256 << 10
	shareOfChanges = 128 << 10
	shareOfDangers = 16 << 10
	shareOfOthers  = 19 << 10
)

// limits counts the entries that a plan lacks.
type limits struct{ omitted int64 }

// fields returns changes with a limited number of fields. Metadata come last, so that they hide no
// other field.
func (l *limits) fields(all []v1alpha1.PlanChange) []v1alpha1.PlanChange {
	all = slices.Clone(all)
	for i := range all {
		all[i].Fields = slices.Clone(all[i].Fields)
		slices.SortStableFunc(all[i].Fields, func(a, b v1alpha1.PlanField) int { return metadataLast(a) - metadataLast(b) })
		if n := len(all[i].Fields); n > maxFields && i < maxEntries {
			all[i].Fields = all[i].Fields[:maxFields]
			l.omitted += int64(n - maxFields)
		}
	}
	return all
}

// dangers returns the first dangers of each class, and counts the others. Policies demand approval of
// classes, so that the first danger of each class is never left out.
func (l *limits) dangers(all []v1alpha1.PlanDanger) []v1alpha1.PlanDanger {
	some, bytes, counts := []v1alpha1.PlanDanger{}, shareOfDangers, make(map[v1alpha1.DangerClass]int)
	for _, d := range all {
		size := sizeOf(d)
		if counts[d.Class]++; counts[d.Class] > 1 && (counts[d.Class] > maxDangers || size > bytes) {
			l.omitted++
			continue
		}
		bytes -= size
		some = append(some, d)
	}
	return some
}

// metadataLast returns 1 for a field of the metadata, and 0 for others.
func metadataLast(f v1alpha1.PlanField) int {
	if strings.HasPrefix(f.Path, ".metadata") {
		return 1
	}
	return 0
}

// limit returns the entries that fit into a number of bytes, and counts the others. An entry that
// does not fit is replaced by its shorter form, if there is one.
func limit[T any](l *limits, all []T, bytes int, shorter func(T) (T, int64)) (some []T) {
	for _, entry := range all {
		size, lost := sizeOf(entry), int64(0)
		if size > bytes && shorter != nil {
			entry, lost = shorter(entry)
			size = sizeOf(entry)
		}
		if size > bytes || len(some) == maxEntries {
			l.omitted++
			continue
		}
		bytes -= size
		l.omitted += lost
		some = append(some, entry)
	}
	return some
}

// sizeOf returns the size of an entry of a list.
func sizeOf(entry any) int {
	raw, err := json.Marshal(entry)
	if err != nil {
		return maxBytes
	}
	return len(raw) + len(",")
}

// withoutFields returns a change without its fields, and their number.
func withoutFields(c v1alpha1.PlanChange) (v1alpha1.PlanChange, int64) {
	lost := int64(len(c.Fields))
	c.Fields = nil
	return c, lost
}
