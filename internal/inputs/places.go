// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"fmt"
	"strings"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/values"
)

// ValuesAdmission returns an error for values that a HelmRelease must not use: a *Refused if a policy
// refuses them.
type ValuesAdmission interface {
	// AdmitSources is called before the places are read: only spec.values has values.
	AdmitSources(ctx context.Context, hr *helmv2.HelmRelease, places []policy.Place) error
	// AdmitValues is called with a function that parses the contents again.
	AdmitValues(ctx context.Context, hr *helmv2.HelmRelease, places func() []policy.Place) error
}

// Places returns the places that a spec names. Only the place of spec.values has its values; without any,
// it is left out.
func Places(hr *helmv2.HelmRelease) ([]policy.Place, error) {
	var inline map[string]any
	if hr.Spec.Values != nil {
		var err error
		if inline, err = values.Parse(hr.Spec.Values.Raw); err != nil {
			return nil, err
		}
	}
	return places(hr, inline), nil
}

func places(hr *helmv2.HelmRelease, inline map[string]any) []policy.Place {
	var all []policy.Place
	if len(inline) > 0 {
		all = append(all, policy.Place{Field: "spec.values", Kind: helmv2.HelmReleaseKind, Namespace: hr.Namespace, Name: hr.Name, Values: inline})
	}
	for i, ref := range hr.Spec.ValuesFrom {
		all = append(all, reference{ValuesReference: ref, namespace: ref.GetNamespace(hr.Namespace), index: i}.place())
	}
	return all
}

// admitSources returns the error of the admission for the places that the spec names.
func (r *Resolver) admitSources(ctx context.Context, hr *helmv2.HelmRelease, inline map[string]any) error {
	if r.admitted == nil {
		return nil
	}
	return r.admitted.AdmitSources(ctx, hr, places(hr, inline))
}

// admitValues returns the error of the admission for inline values and the contents of references.
func (r *Resolver) admitValues(ctx context.Context, hr *helmv2.HelmRelease, inline map[string]any, refs []reference) error {
	if r.admitted == nil {
		return nil
	}
	return r.admitted.AdmitValues(ctx, hr, func() []policy.Place {
		var read documents
		all := places(hr, inline)
		all = all[:len(all)-len(hr.Spec.ValuesFrom)]
		for _, ref := range refs {
			p := ref.place()
			// Content that cannot be parsed has not been composed.
			if ref.TargetPath == "" {
				p.Values, _ = read.of(ref.content)
			} else if p.Values = map[string]any{}; ref.setPath(p.Values, &read.budget) != nil {
				p.Values = nil
			}
			all = append(all, p)
		}
		return all
	})
}

// place returns the place of a reference. The Secret of a HelmChart of k3s has values that are also in
// the HelmChart, where all readers see them.
func (ref reference) place() policy.Place {
	return policy.Place{
		Field: fmt.Sprintf("spec.valuesFrom[%d]", ref.index), Kind: ref.Kind, Namespace: ref.namespace, Name: ref.Name, Key: ref.GetValuesKey(),
		Secret: ref.Kind == helmv2.KindSecret && !inHelmChart(ref.ValuesKey),
	}
}

// inHelmChart reports whether a key of the Secret of a HelmChart of k3s has values that are in the
// HelmChart or its HelmChartConfig itself.
func inHelmChart(key string) bool {
	for _, kind := range []string{cattlev1.HelmChartKind, cattlev1.HelmChartConfigKind} {
		if field, is := strings.CutPrefix(key, kind+".spec."); is {
			return !strings.HasPrefix(field, "valuesSecrets")
		}
	}
	return false
}
