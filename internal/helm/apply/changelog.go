// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"slices"
	"sync"

	"github.com/pintle-dev/pintle/internal/release"
)

// ChangeLog collects the changes of one action. It may be used concurrently. The zero value is empty.
type ChangeLog struct {
	mu      sync.Mutex
	objects *release.ObjectCounts
	images  []release.ImageChange
	taken   []release.TakenField
}

// SetImages stores the images that the action changes.
func (l *ChangeLog) SetImages(all []release.ImageChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.images = all
}

// Count adds numbers of objects.
func (l *ChangeLog) Count(more release.ObjectCounts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.objects == nil {
		l.objects = &release.ObjectCounts{}
	}
	l.objects.Created += more.Created
	l.objects.Changed += more.Changed
	l.objects.Deleted += more.Deleted
}

// Take adds fields that were taken from other field managers.
func (l *ChangeLog) Take(fields ...release.TakenField) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = append(l.taken, fields...)
}

// List returns the collected changes. Taken fields are sorted by manager, object and path, each
// once.
func (l *ChangeLog) List() release.Changes {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := slices.Clone(l.taken)
	slices.SortFunc(taken, func(a, b release.TakenField) int {
		return cmp.Or(cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.Object.Kind, b.Object.Kind),
			cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name), cmp.Compare(a.Path, b.Path))
	})
	all := release.Changes{Images: slices.Clone(l.images), Taken: slices.Compact(taken)}
	if l.objects != nil {
		counts := *l.objects
		all.Objects = &counts
	}
	return all
}
