// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"
	"slices"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/view"
)

// Values returns the values of a HelmRelease. If a Secret cannot be read, all Secrets are left out, and if
// a file cannot be read, all files.
func (r *Reader) Values(ctx context.Context, hr *helmv2.HelmRelease) (view.Values, error) {
	resolver := r.Resolver
	if resolver == nil {
		resolver = inputs.NewResolver(r.Client, r.Client, nil)
	}
	var unread []string
	without := func(what string, why error, public *helmv2.HelmRelease) {
		if r.Public != nil {
			why = r.Public(why)
		}
		unread = append(unread, what+" of spec.valuesFrom, whose keys are missing here or have the value of another layer: "+strings.Join(strings.Fields(why.Error()), " "))
		hr = public
	}
	want, err := resolver.Values(ctx, hr)
	if _, secrets := resolver.Secrets(ctx, hr); err != nil && secrets != nil {
		public := hr.DeepCopy()
		public.Spec.ValuesFrom = slices.DeleteFunc(public.Spec.ValuesFrom, func(ref helmv2.ValuesReference) bool { return ref.Kind == helmv2.KindSecret })
		without("Secrets", secrets, public)
		want, err = resolver.Values(ctx, hr)
	}
	if err != nil && inputs.HasFiles(hr) {
		without("files of sources", err, inputs.WithoutFiles(hr))
		want, err = resolver.Values(ctx, hr)
	}
	if err != nil {
		return view.Values{}, err
	}
	return view.ValuesOf(want.Values, want.Layers(), want.Secrets, unread), nil
}
