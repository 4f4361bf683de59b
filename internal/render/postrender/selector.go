// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/resid"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/bounded"
)

// selector selects objects.
type selector interface {
	match(o *object) bool
	String() string
}

// byName selects the object that a patch names.
type byName struct{ *object }

func (s byName) match(o *object) bool { return o.name() != "" && s.id().Equals(o.id()) }

// loadSchema loads kustomize's schema, which is global to the process. It must be called before
// each use of the schema: the schema is loaded once, and loading it during a read is a data race.
func loadSchema() { openapi.Schema() }

// byTarget selects by the target of a patch.
type byTarget struct {
	helmv2.Selector
	names               *types.SelectorRegex
	labels, annotations labels.Selector
}

func newByTarget(s helmv2.Selector, patterns *bounded.Patterns) (selector, error) {
	for _, pattern := range []string{s.Group, s.Version, s.Kind, s.Name, s.Namespace} {
		if pattern == "" {
			continue
		}
		// kustomize compiles patterns in this form.
		if err := patterns.Check("^(?:" + pattern + ")$"); err != nil {
			return nil, fmt.Errorf("target: %w", err)
		}
	}
	// NewResIdWithNamespace reads the schema.
	loadSchema()
	names, err := types.NewSelectorRegex(&types.Selector{
		ResId: resid.NewResIdWithNamespace(resid.NewGvk(s.Group, s.Version, s.Kind), s.Name, s.Namespace),
	})
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	t := byTarget{Selector: s, names: names}
	if t.labels, err = labels.Parse(s.LabelSelector); err != nil {
		return nil, fmt.Errorf("target.labelSelector: %w", err)
	}
	if t.annotations, err = labels.Parse(s.AnnotationSelector); err != nil {
		return nil, fmt.Errorf("target.annotationSelector: %w", err)
	}
	return t, nil
}

func (s byTarget) match(o *object) bool {
	return s.names.MatchGvk(o.gvk()) && s.names.MatchName(o.name()) &&
		(s.Namespace == "" || s.names.MatchNamespace(o.id().EffectiveNamespace())) &&
		s.labels.Matches(labels.Set(stringsOf(o.metadata()["labels"]))) &&
		s.annotations.Matches(labels.Set(stringsOf(o.metadata()["annotations"])))
}

// String implements selector.
func (s byTarget) String() string { return fmt.Sprintf("target %+v", s.Selector) }
