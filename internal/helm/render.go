// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"fmt"

	helmpostrender "helm.sh/helm/v3/pkg/postrender"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/render/postrender"
)

// postRenderer returns what an install or upgrade is to give to Helm for
// spec.postRenderers and spec.commonMetadata: nil if neither changes anything,
// because a manifest that goes through a renderer is a little less the chart's.
//
// Helm shows its renderer the manifest and not the hooks, which it has set aside
// by then. They are changed when Helm stores the revision: it runs the very hooks
// that it hands to storage, it has not applied anything by then, and an error
// ends the action.
func (r *run) postRenderer(job Job) (helmpostrender.PostRenderer, error) {
	renderer, err := postrender.New(job.Spec.PostRenderers, job.Spec.CommonMetadata)
	if err != nil || renderer == nil {
		return nil, err
	}
	hr := helmv2.HelmRelease{Spec: job.Spec}
	switch hr.GetPostRenderStrategy(job.Defaults) {
	case helmv2.PostRenderNoHooks:
		return templates{Renderer: renderer, all: true}, nil
	case helmv2.PostRenderCombined, helmv2.PostRenderSeparate:
		// These differ for renderers that refuse an object which is both a hook and
		// not; ours does not.
	}
	r.beforeStore = func(rls *helmrelease.Release) error { return renderHooks(renderer, rls) }
	return templates{Renderer: renderer}, nil
}

// templates changes the manifest of a release.
type templates struct {
	*postrender.Renderer
	// all is true if no hooks follow.
	all bool
}

// Run implements Helm's PostRenderer.
func (t templates) Run(manifest *bytes.Buffer) (*bytes.Buffer, error) {
	changed, err := t.Templates(manifest.String())
	if err == nil && t.all {
		err = t.Complete()
	}
	return bytes.NewBufferString(changed), err
}

// renderHooks changes the hooks of a release in place, because Helm goes on to
// run the same ones.
func renderHooks(renderer *postrender.Renderer, rls *helmrelease.Release) error {
	hooks := make([]*helmrelease.Hook, 0, len(rls.Hooks))
	for _, h := range rls.Hooks {
		changed, err := renderer.Hook(h.Manifest)
		if err != nil {
			return fmt.Errorf("error while running post render on hook %s: %w", h.Path, err)
		}
		if changed == "" {
			continue
		}
		if changed != h.Manifest {
			if err := readHook(h, changed); err != nil {
				return err
			}
		}
		hooks = append(hooks, h)
	}
	if len(hooks) < len(rls.Hooks) {
		rls.Hooks = hooks
	}
	return renderer.Complete()
}

// readHook gives a hook another manifest, and reads from it what Helm keeps beside
// the manifest and goes by: when the hook runs, and when it is deleted.
func readHook(h *helmrelease.Hook, manifest string) error {
	hooks, _, err := releaseutil.SortManifests(map[string]string{h.Path: manifest}, nil, releaseutil.InstallOrder)
	if err != nil {
		return fmt.Errorf("post-rendered hook %s: %w", h.Path, err)
	}
	if len(hooks) != 1 {
		return fmt.Errorf("post-rendering makes the hook %s %s (%s) something else than a hook, which is not supported", h.Kind, h.Name, h.Path)
	}
	changed := hooks[0]
	h.Name, h.Kind, h.Manifest, h.Weight = changed.Name, changed.Kind, changed.Manifest, changed.Weight
	h.Events, h.DeletePolicies, h.OutputLogPolicies = changed.Events, changed.DeletePolicies, changed.OutputLogPolicies
	return nil
}
