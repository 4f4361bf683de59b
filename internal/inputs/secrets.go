// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"slices"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// secrets returns the contents that references take from Secrets, so that messages can be redacted
// from them and from their parts.
func secrets(refs []reference) []string {
	var all []string
	seen := map[string]bool{}
	for _, ref := range refs {
		if ref.Kind == helmv2.KindSecret && !seen[ref.content] {
			seen[ref.content] = true
			all = append(all, ref.content)
		}
	}
	return all
}

// Secrets returns the contents that the values of hr take from Secrets. It ignores Secrets and keys
// that do not exist, and ConfigMaps. The error, if any, is from reading a Secret.
func (r *Resolver) Secrets(ctx context.Context, hr *helmv2.HelmRelease) ([]string, error) {
	only := hr.DeepCopy()
	only.Spec.ValuesFrom = slices.DeleteFunc(only.Spec.ValuesFrom, func(ref helmv2.ValuesReference) bool { return ref.Kind != helmv2.KindSecret })
	for i := range only.Spec.ValuesFrom {
		only.Spec.ValuesFrom[i].Optional = true
	}
	refs, err := r.references(ctx, only, &Want{})
	return secrets(refs), err
}
