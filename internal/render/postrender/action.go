// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"bytes"
	"fmt"

	helmpostrender "helm.sh/helm/v3/pkg/postrender"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Action applies spec.postRenderers and spec.commonMetadata in an action of Helm.
//
// Helm passes the manifest to its renderer, and not the hooks. Hooks are changed when Helm stores
// the revision: it runs the same hooks that it stores, has not applied anything by then, and an
// error ends the action.
type Action struct {
	// Manifest is the renderer for Helm. It is nil if the spec changes nothing, because a renderer
	// of Helm does not keep the bytes of the manifest.
	Manifest helmpostrender.PostRenderer

	// hooks changes hooks; nil if they stay as they are.
	hooks *Renderer
}

// NewAction returns the Action for a spec.
func NewAction(spec helmv2.HelmReleaseSpec, defaults helmv2.Defaults) (Action, error) {
	renderer, err := New(spec.PostRenderers, spec.CommonMetadata)
	if err != nil || renderer == nil {
		return Action{}, err
	}
	switch spec.GetPostRenderStrategy(defaults) {
	case helmv2.PostRenderNoHooks:
		return Action{Manifest: manifestRenderer{Renderer: renderer, all: true}}, nil
	case helmv2.PostRenderCombined, helmv2.PostRenderSeparate:
		// They differ only for renderers that refuse an object which is a hook and a template.
	}
	return Action{Manifest: manifestRenderer{Renderer: renderer}, hooks: renderer}, nil
}

// manifestRenderer changes the manifest of a release.
type manifestRenderer struct {
	*Renderer
	// all is true if no hooks follow.
	all bool
}

// Run implements Helm's PostRenderer.
func (r manifestRenderer) Run(manifest *bytes.Buffer) (*bytes.Buffer, error) {
	changed, err := r.Templates(manifest.String())
	if err == nil && r.all {
		err = r.Complete()
	}
	return bytes.NewBufferString(changed), err
}

// Hooks changes the hooks of a release in place, because Helm runs the same hooks afterwards.
func (a Action) Hooks(rls *helmrelease.Release) error {
	if a.hooks == nil {
		return nil
	}
	hooks := make([]*helmrelease.Hook, 0, len(rls.Hooks))
	for _, h := range rls.Hooks {
		changed, err := a.hooks.Hook(h.Manifest)
		if err != nil {
			return fmt.Errorf("error while running post render on hook %s: %w", h.Path, err)
		}
		if changed == "" {
			continue
		}
		if changed != h.Manifest {
			if err := setManifest(h, changed); err != nil {
				return err
			}
		}
		hooks = append(hooks, h)
	}
	if len(hooks) < len(rls.Hooks) {
		rls.Hooks = hooks
	}
	return a.hooks.Complete()
}

// setManifest gives a hook another manifest, and updates the fields that Helm reads from it: the
// events that run the hook, and the policies that delete it.
func setManifest(h *helmrelease.Hook, manifest string) error {
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
