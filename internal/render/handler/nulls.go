// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"slices"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/pintle-dev/pintle/internal/chart/archive"
)

// withoutNulls returns a copy of a chart that Helm 3 renders as Helm 4 renders the chart itself, or the
// chart if it has no null. Helm 3 passes a null in the values of a chart to templates, and Helm 4 does
// not. The dependencies of the chart are processed as Helm does it first, so that the chart is the one
// to store. The copy shares its files.
func withoutNulls(c *helmchart.Chart, all map[string]any) (*helmchart.Chart, error) {
	if !hasNull(c) {
		return c, nil
	}
	if err := chartutil.ProcessDependenciesWithMerge(c, all); err != nil {
		return nil, err
	}
	out := archive.Twin(c)
	return out, dropNulls(out, all)
}

func hasNull(c *helmchart.Chart) bool {
	return nullIn(c.Values) || slices.ContainsFunc(c.Dependencies(), hasNull)
}

func nullIn(all map[string]any) bool {
	for _, value := range all {
		if below, is := value.(map[string]any); value == nil || is && nullIn(below) {
			return true
		}
	}
	return false
}

// dropNulls removes the nulls of a chart and its subcharts that have no effect in Helm 4, for given values.
// A null stays if the same one is given, since both disappear then, or if it is for a subchart that
// values are given for. Nulls in lists stay.
func dropNulls(c *helmchart.Chart, all map[string]any) error {
	// A chart with the values of c and subcharts without values.
	alone := &helmchart.Chart{Metadata: c.Metadata, Values: c.Values}
	for _, sub := range c.Dependencies() {
		alone.AddDependency(&helmchart.Chart{Metadata: sub.Metadata})
	}
	for key, value := range c.Values {
		given, is := all[key]
		_, table := given.(map[string]any)
		below, _ := value.(map[string]any)
		switch {
		case !is && value == nil:
			delete(c.Values, key)
		case !is, table && !slices.ContainsFunc(c.Dependencies(), func(sub *helmchart.Chart) bool { return sub.Name() == key }):
			dropAll(below)
		}
	}
	if c.Metadata != nil {
		for _, d := range c.Metadata.Dependencies {
			// They were imported. Again, they would take the place of the nulls.
			d.ImportValues = nil
		}
	}
	passed, err := chartutil.CoalesceValues(alone, all)
	if err != nil {
		return err
	}
	for _, sub := range c.Dependencies() {
		below, _ := passed[sub.Name()].(map[string]any)
		if err := dropNulls(sub, below); err != nil {
			return err
		}
	}
	return nil
}

func dropAll(all map[string]any) {
	for key, value := range all {
		if value == nil {
			delete(all, key)
		} else if below, is := value.(map[string]any); is {
			dropAll(below)
		}
	}
}
