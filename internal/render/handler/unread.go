// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"context"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/values"
	"github.com/pintle-dev/pintle/internal/worker"
)

const (
	// mostRenderings limits how often a chart is rendered for the values that no template reads. A large
	// chart is rendered fewer times, so that all renderings read about renderedBytes.
	mostRenderings = 48
	renderedBytes  = 24 << 20
)

// unread returns the values that the defaults of a chart do not have, and that no template reads: the
// manifests stay the same if these values change.
func (w *functions) unread(ctx context.Context, r *remote.Rendering) ([]byte, error) {
	c, err := w.load(r)
	if err != nil {
		return nil, err
	}
	most := max(2, min(mostRenderings, renderedBytes/max(1, unpackedSize(c, nil))))
	defaults, err := chartutil.CoalesceValues(c, map[string]any{})
	if err != nil {
		return nil, err
	}
	paths := values.Undefined(r.Values, defaults)
	if len(paths) == 0 {
		return remote.EncodeUnread(remote.Unread{})
	}
	worker.Note(ctx, "looking for values that no template reads")
	before, err := w.withValues(r, r.Values)
	if err != nil {
		return nil, err
	}
	if again, err := w.withValues(r, r.Values); err != nil || again != before {
		return remote.EncodeUnread(remote.Unread{Left: len(paths), Unstable: true})
	}
	var found remote.Unread
	found.Keys, found.Left = values.FindUnread(paths, most-2, func(some [][]string) bool {
		after, err := w.withValues(r, values.Altered(r.Values, some))
		// An error shows that something reads a value: a template, or the schema.
		return err != nil || after != before
	})
	for _, path := range found.Keys {
		found.Like = append(found.Like, values.Similar(path[len(path)-1], below(defaults, path[:len(path)-1])))
	}
	return remote.EncodeUnread(found)
}

// below returns the map at a path; nil if there is none.
func below(all map[string]any, path []string) map[string]any {
	for _, key := range path {
		switch inner := all[key].(type) {
		case map[string]any:
			all = inner
		case chartutil.Values:
			all = inner
		default:
			return nil
		}
	}
	return all
}

// withValues returns all that a chart renders with values. Nothing is read from the cluster.
func (w *functions) withValues(r *remote.Rendering, with map[string]any) (string, error) {
	c, err := w.load(r)
	if err != nil {
		return "", err
	}
	in := inputOf(r, c)
	in.Values = values.CloneMap(with)
	rls, err := in.run()
	if err != nil {
		return "", err
	}
	var all strings.Builder
	all.WriteString(rls.Manifest + rls.Info.Notes)
	for _, h := range rls.Hooks {
		all.WriteString(h.Manifest)
	}
	// Values may also enable subcharts, which may render nothing.
	writeCharts(&all, rls.Chart)
	return all.String(), nil
}

func writeCharts(all *strings.Builder, c *helmchart.Chart) {
	all.WriteString("/" + c.Name())
	for _, d := range c.Dependencies() {
		writeCharts(all, d)
	}
}
