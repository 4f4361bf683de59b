// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"errors"
	"fmt"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/bounded"
)

// Renderer changes the rendered manifests of one action. It stores which patches have matched, so
// it must not be used for two actions. It is not safe for concurrent use.
type Renderer struct {
	steps  []*step
	common helmv2.CommonMetadata
}

// maxSteps limits the changes of all patches. Each one is compared with each rendered object, and
// one patch may name thousands of objects.
const maxSteps = 2_000

// New returns a renderer for post-renderers and common metadata, nil if they change nothing. common
// may be nil. Errors name the field of the spec.
func New(renderers []helmv2.PostRenderer, common *helmv2.CommonMetadata) (*Renderer, error) {
	r := &Renderer{}
	var patterns bounded.Patterns
	for i, p := range renderers {
		if p.Kustomize == nil {
			continue
		}
		where := fmt.Sprintf("spec.postRenderers[%d].kustomize", i)
		for j, patch := range p.Kustomize.Patches {
			at := fmt.Sprintf("%s.patches[%d]", where, j)
			steps, err := patchSteps(at, patch, &patterns)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", at, err)
			}
			if r.steps = append(r.steps, steps...); len(r.steps) > maxSteps {
				return nil, fmt.Errorf("%s: %w", at, bounded.Exceeded("all patches together name more than %d objects", maxSteps))
			}
		}
		for j, image := range p.Kustomize.Images {
			at := fmt.Sprintf("%s.images[%d]", where, j)
			change, err := newImageChange(image)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", at, err)
			}
			r.steps = append(r.steps, &step{field: at, change: change})
		}
	}
	if common != nil {
		r.common = *common
	}
	if len(r.steps) == 0 && len(r.common.Labels) == 0 && len(r.common.Annotations) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to change
	}
	return r, nil
}

// Templates returns the changed manifest of a release. With post-renderers, two objects of the same
// identity are an error, since a patch would match both.
func (r *Renderer) Templates(manifest string) (string, error) {
	documents, err := parse(manifest)
	if err != nil {
		return "", err
	}
	if len(r.steps) > 0 {
		if err := checkUnique(documents); err != nil {
			return "", err
		}
	}
	return r.render(documents)
}

// Hook returns the changed manifest of one hook, empty if a patch removes the hook. A hook may have
// the identity of another hook or object: charts run the same Job before installs and upgrades.
func (r *Renderer) Hook(manifest string) (string, error) {
	documents, err := parse(manifest)
	if err != nil {
		return "", err
	}
	return r.render(documents)
}

// Complete returns an error for each patch that names an object which was not rendered. It must be
// called after Templates and all calls of Hook.
func (r *Renderer) Complete() error {
	var missing []error
	for _, s := range r.steps {
		if s.named && !s.found {
			missing = append(missing, fmt.Errorf("%s: the rendered manifests do not contain the %s that the patch names", s.field, s.selects))
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
			return fmt.Errorf("%s cannot be applied to %s: %w", s.field, before, err)
		}
	}
	if o.removed {
		return nil
	}
	if err := setCommon(o, r.common); err != nil {
		return fmt.Errorf("spec.commonMetadata cannot be applied to %s: %w", o, err)
	}
	// Helm separates hooks from other objects before post-rendering.
	if o.isHook() && !hook {
		return fmt.Errorf("post-rendering makes %s a hook, which is not supported", o)
	}
	return nil
}

// checkUnique returns an error if two objects have the same identity.
func checkUnique(documents []document) error {
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
				return fmt.Errorf("the chart renders %s twice, which post-renderers cannot distinguish", o)
			}
			seen[key] = true
		}
	}
	return nil
}
