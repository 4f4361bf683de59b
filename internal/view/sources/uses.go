// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Release is a HelmRelease that uses a source.
type Release struct{ Namespace, Name string }

// usesOf returns the HelmReleases that use each source, in their order. A HelmRelease uses the source
// that its spec names, its HelmChart, and the source of that.
func usesOf(all []Source, releases []helmv2.HelmRelease) map[Ref][]Release {
	sourceOf := map[Ref]Ref{}
	for i := range all {
		if all[i].Of != (Ref{}) {
			sourceOf[all[i].Ref] = all[i].Of
		}
	}
	uses := map[Ref][]Release{}
	for i := range releases {
		used := map[Ref]bool{}
		for _, ref := range namedBy(&releases[i]) {
			used[ref] = true
			if of, ok := sourceOf[ref]; ok {
				used[of] = true
			}
		}
		for ref := range used {
			uses[ref] = append(uses[ref], Release{Namespace: releases[i].Namespace, Name: releases[i].Name})
		}
	}
	return uses
}

// namedBy returns the sources that a HelmRelease names: that of its spec, and its HelmChart.
func namedBy(hr *helmv2.HelmRelease) []Ref {
	switch {
	case hr.HasChartRef():
		ref := hr.Spec.ChartRef
		return []Ref{{Kind: ref.Kind, Namespace: ref.GetNamespace(hr.Namespace), Name: ref.Name}}
	case hr.HasChartTemplate():
		namespace := hr.Spec.Chart.GetNamespace(hr.Namespace)
		refs := []Ref{{Kind: hr.Spec.Chart.Spec.SourceRef.Kind, Namespace: namespace, Name: hr.Spec.Chart.Spec.SourceRef.Name}}
		if namespace, name, ok := strings.Cut(hr.Status.HelmChart, "/"); ok {
			refs = append(refs, Ref{Kind: helmv2.KindHelmChart, Namespace: namespace, Name: name})
		}
		return refs
	}
	return nil
}
