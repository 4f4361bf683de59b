// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package postrender changes what a chart rendered, as spec.postRenderers and
// spec.commonMetadata ask: text in, text out. What nothing is changed in keeps
// its bytes.
//
// It takes its patches from kustomize but does not run kustomize's builds, which
// swap a schema that is global to the process and therefore have to queue. What
// is used here only reads that schema, so renders run side by side.
package postrender

import (
	"errors"
	"fmt"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Renderer changes what one run of Helm renders. It remembers what it has seen
// and must not be used for two runs, nor concurrently.
type Renderer struct {
	steps  []*step
	common helmv2.CommonMetadata
}

// step is one thing to do to the objects that it selects.
type step struct {
	// where the step stands in the spec.
	where string
	// selects is nil if the step is for all objects.
	selects selector
	change  change
	// named is true if the step is for the one object that it names, which then
	// has to be there.
	named, found bool
}

// change changes an object; it may remove it.
type change interface{ apply(o *object) error }

// New returns a renderer for post-renderers and common metadata, or nil if they
// change nothing. Its errors name the entry of the spec.
func New(renderers []helmv2.PostRenderer, common *helmv2.CommonMetadata) (*Renderer, error) {
	r := &Renderer{}
	for i, p := range renderers {
		if p.Kustomize == nil {
			continue
		}
		where := fmt.Sprintf("spec.postRenderers[%d].kustomize", i)
		for j, patch := range p.Kustomize.Patches {
			at := fmt.Sprintf("%s.patches[%d]", where, j)
			steps, err := patchSteps(at, patch)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", at, err)
			}
			r.steps = append(r.steps, steps...)
		}
		for j, image := range p.Kustomize.Images {
			at := fmt.Sprintf("%s.images[%d]", where, j)
			change, err := newImageChange(image)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", at, err)
			}
			r.steps = append(r.steps, &step{where: at, change: change})
		}
	}
	if common != nil {
		r.common = *common
	}
	if len(r.steps) == 0 && len(r.common.Labels) == 0 && len(r.common.Annotations) == 0 {
		return nil, nil
	}
	return r, nil
}

// Templates returns the manifest of a release, changed. Where there are
// post-renderers, two objects of the same identity are an error: a patch could
// not tell them apart.
func (r *Renderer) Templates(manifest string) (string, error) {
	documents, err := parse(manifest)
	if err != nil {
		return "", err
	}
	if len(r.steps) > 0 {
		if err := refuseTwins(documents); err != nil {
			return "", err
		}
	}
	return r.render(documents)
}

// Hook returns the manifest of one hook, changed; empty if the hook was removed.
// Hooks may have twins, among themselves and in the manifest of the release:
// charts make the same Job run before installs and before upgrades.
func (r *Renderer) Hook(manifest string) (string, error) {
	documents, err := parse(manifest)
	if err != nil {
		return "", err
	}
	return r.render(documents)
}

// Complete tells, once everything was rendered, whether a patch names an object
// that was nowhere to be found.
func (r *Renderer) Complete() error {
	var missing []error
	for _, s := range r.steps {
		if s.named && !s.found {
			missing = append(missing, fmt.Errorf("%s: nothing that is rendered is the %s that the patch names", s.where, s.selects))
		}
	}
	return errors.Join(missing...)
}

func (r *Renderer) render(documents []document) (string, error) {
	var out strings.Builder
	for _, d := range documents {
		if d.root != nil {
			for _, o := range d.root.leaves() {
				if err := r.change(o); err != nil {
					return "", err
				}
			}
		}
		if err := d.write(&out); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

func (r *Renderer) change(o *object) error {
	hook := o.isHook()
	for _, s := range r.steps {
		if o.removed {
			return nil
		}
		if s.selects != nil && !s.selects.match(o) {
			continue
		}
		s.found = true
		before := o.String()
		if err := s.change.apply(o); err != nil {
			return fmt.Errorf("%s cannot be applied to %s: %w", s.where, before, err)
		}
	}
	if o.removed {
		return nil
	}
	if err := setCommon(o, r.common); err != nil {
		return fmt.Errorf("spec.commonMetadata cannot be applied to %s: %w", o, err)
	}
	// Helm sorts hooks from other objects before it hands them to us.
	if o.isHook() && !hook {
		return fmt.Errorf("post-rendering makes %s a hook, which is not supported", o)
	}
	return nil
}

func refuseTwins(documents []document) error {
	seen := map[string]bool{}
	for _, d := range documents {
		if d.root == nil {
			continue
		}
		for _, o := range d.root.leaves() {
			key := o.key()
			if key == "" {
				continue
			}
			if seen[key] {
				return fmt.Errorf("the chart renders %s twice, which post-renderers cannot tell apart", o)
			}
			seen[key] = true
		}
	}
	return nil
}
