// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/brief"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/redaction"
)

// Place is where values come from: spec.values, an entry of spec.valuesFrom, or a file of one.
type Place struct {
	// Field is the field of the HelmRelease that names the place, such as spec.valuesFrom[1].
	Field string
	// Kind, Namespace and Name are of the object that has the values: for spec.values, the HelmRelease.
	Kind, Namespace, Name string
	// Key is the key in the object, or the path of the file; empty for spec.values.
	Key string
	// Secret is true if the values are in a Secret only.
	Secret bool
	// Values are the values at this place; nil if they are not needed.
	Values map[string]any
}

const (
	// maxNamed limits the keys that a refusal names, and maxKey the length of each.
	maxNamed = 3
	maxKey   = 200
	// maxAllowed is the length of the longest key that a pattern allows.
	maxAllowed = 1024
)

// RefuseSources returns the first refusal of a place by a policy that selects the release; nil if none
// is refused. It does not read Values.
func RefuseSources(policies []Policy, r Release, places []Place) *Refusal {
	_, selected := choose(policies, r)
	for i := range selected {
		rule := selected[i].Spec.Values
		if rule == nil || len(rule.Sources) == 0 {
			continue
		}
		for _, p := range places {
			if slices.ContainsFunc(rule.Sources, func(pattern string) bool { return p.matches(pattern, r.Namespace) }) {
				continue
			}
			return &Refusal{Policy: selected[i].String(), Field: p.Field, Why: fmt.Sprintf(
				"values may come from %s, and not from %s (spec.values.sources)", brief.List(rule.Sources, maxNamed), p,
			)}
		}
	}
	return nil
}

// JudgesValues reports whether a policy that selects the release denies values that look like
// credentials.
func JudgesValues(policies []Policy, r Release) bool {
	_, selected := choose(policies, r)
	return slices.ContainsFunc(selected, func(p Policy) bool { return p.deniesPlaintext() })
}

// RefuseValues returns the first refusal of values that look like credentials and are not in a Secret,
// by a policy that selects the release; nil if none are refused. It has the keys, and never the values.
func RefuseValues(policies []Policy, r Release, places []Place) *Refusal {
	_, selected := choose(policies, r)
	for i := range selected {
		if !selected[i].deniesPlaintext() {
			continue
		}
		for _, p := range places {
			if p.Secret {
				continue
			}
			if found := redaction.Credentials(p.Values, selected[i].allowsKey); len(found) > 0 {
				return &Refusal{Policy: selected[i].String(), Field: p.Field, Why: p.findings(found)}
			}
		}
	}
	return nil
}

func (p *Policy) deniesPlaintext() bool {
	return p.Spec.Values != nil && p.Spec.Values.PlaintextSecrets == v1alpha1.PlaintextSecretsDeny
}

// allowsKey reports whether the value at a path may look like a credential.
func (p *Policy) allowsKey(path []string) bool {
	key := plan.KeyOf(path)
	return len(key) <= maxAllowed && slices.ContainsFunc(p.Spec.Values.Allow, func(pattern string) bool { return match(pattern, key, "") })
}

// findings returns a sentence with the keys of credentials at a place, and what to do.
func (p Place) findings(found []redaction.Finding) string {
	var named []string
	for _, f := range found {
		named = append(named, fmt.Sprintf("%s looks like %s", brief.Cut(brief.Line(plan.KeyOf(f.Path)), maxKey), f.What))
	}
	in := ""
	if p.Key != "" {
		in = fmt.Sprintf("in %s, ", p)
	}
	return fmt.Sprintf(
		"%s%s: move it to a Secret that spec.valuesFrom names, or let the policy allow the key (spec.values.plaintextSecrets)", in, brief.List(named, maxNamed),
	)
}

// String returns the place for messages.
func (p Place) String() string {
	name := fmt.Sprintf("%s/%s/%s", p.Kind, p.Namespace, p.Name)
	if p.Key != "" {
		return fmt.Sprintf("%s of %s", p.Key, name)
	}
	return name
}

// matches reports whether a pattern of spec.values.sources has the place: <kind>, <kind>/<name> in the
// namespace of the HelmRelease, or <kind>/<namespace>/<name>.
func (p Place) matches(pattern, namespace string) bool {
	switch strings.Count(pattern, "/") {
	case 0:
		return pattern == p.Kind
	case 1:
		return p.Namespace == namespace && match(pattern, p.Kind+"/"+p.Name, "/")
	}
	return match(pattern, p.Kind+"/"+p.Namespace+"/"+p.Name, "/")
}
