// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// debouncer observes which inputs of a HelmRelease the same applier writes, so that a commit that
// changes a HelmRelease, its source and its values is one upgrade. The delay itself is a rule of
// package release.
type debouncer struct {
	// Client reads sources from the cache, Cached metadata of ConfigMaps and Secrets, and Live
	// reads past the cache.
	Client, Cached, Live client.Reader
	Memory               controller.Memory[debounceState]
	Now                  func() time.Time
	// NoConfigWatches is true if ConfigMaps and Secrets are not watched.
	NoConfigWatches bool
}

// Observe records the generations of hr and of its source, if another input of hr has the same
// applier as hr. If values come from files, changes of artifacts are recorded in any case: a commit to
// the repository of the chart and one to the repository of the values may belong together.
func (d *debouncer) Observe(ctx context.Context, hr *helmv2.HelmRelease) {
	by := applierOf(hr)
	source := d.sourceGeneration(ctx, hr, by)
	generations := [2]int64{hr.Generation, source}
	tracked := by.Known() && (source != 0 || d.valuesBy(ctx, hr, by))
	if !tracked && inputs.HasFiles(hr) {
		tracked, generations = true, [2]int64{}
	}
	d.Memory.With(client.ObjectKeyFromObject(hr), func(s *debounceState) {
		if !tracked {
			*s = debounceState{}
			return
		}
		s.Observe(generations, d.Now())
	})
}

// ArtifactChanged records a new artifact of a source of the chart or of values.
func (d *debouncer) ArtifactChanged(key types.NamespacedName) {
	d.Memory.Update(key, func(s *debounceState) { s.RecordChange(d.Now()) })
}

// Changed records a change of obj, which is an input of hr.
func (d *debouncer) Changed(hr *helmv2.HelmRelease, obj client.Object) {
	if by := applierOf(obj); by.Known() && by == applierOf(hr) {
		d.Memory.Update(client.ObjectKeyFromObject(hr), func(s *debounceState) { s.RecordChange(d.Now()) })
	}
}

// EndBurst ends the burst of changes of a HelmRelease: an action has started.
func (d *debouncer) EndBurst(key types.NamespacedName) {
	d.Memory.Update(key, (*debounceState).EndBurst)
}

// Burst returns the changes of hr's inputs since the last action; nil if there are none. It reads
// whether the applier of hr is still applying, if the decision depends on that.
func (d *debouncer) Burst(ctx context.Context, hr *helmv2.HelmRelease, in release.Input) *release.Debounce {
	d.Memory.With(client.ObjectKeyFromObject(hr), func(s *debounceState) { in.Observed.Debounce = s.Burst() })
	if by := applierOf(hr); by.kind == kindKustomization && release.MustCheckApplier(in) {
		in.Observed.Debounce.Applying = d.isApplying(ctx, by.NamespacedName)
	}
	return in.Observed.Debounce
}

// sourceGeneration returns the generation of the source of hr if it has the applier; zero if not.
// The source of a template is made by this controller.
func (d *debouncer) sourceGeneration(ctx context.Context, hr *helmv2.HelmRelease, by applier) int64 {
	if !by.Known() || !hr.HasChartRef() {
		return 0
	}
	name, key := inputs.SourceOf(hr)
	kind, _ := inputs.SourceKindOf(name)
	if !kind.FromSpec {
		return 0
	}
	source := kind.New()
	if d.Client.Get(ctx, key, source) != nil || applierOf(source) != by {
		return 0
	}
	return source.GetGeneration()
}

// valuesBy reports whether an object with values of hr has the applier. An object that is not in
// the cache counts as having it: by default most are not watched, and a read in each
// reconciliation would cost more than a delay in vain.
func (d *debouncer) valuesBy(ctx context.Context, hr *helmv2.HelmRelease, by applier) bool {
	for _, kind := range []string{helmv2.KindConfigMap, helmv2.KindSecret} {
		for _, key := range inputs.ValuesFrom(hr, kind) {
			found := &metav1.PartialObjectMetadata{}
			found.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
			if d.NoConfigWatches || d.Cached.Get(ctx, key, found) != nil || applierOf(found) == by {
				return true
			}
		}
	}
	return false
}
