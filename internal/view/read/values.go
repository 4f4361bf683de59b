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

// maxUnread is the number of sources that are left out by name. If there are more, all files are left out.
const maxUnread = 16

// Values returns the values of a HelmRelease. Files that cannot be read are left out for each source. If a
// Secret cannot be read, all Secrets are left out.
func (r *Reader) Values(ctx context.Context, hr *helmv2.HelmRelease) (view.Values, error) {
	resolver := inputs.NewResolver(r.Client, r.Client, nil)
	if r.Resolver != nil {
		resolver = r.Resolver(r.Client)
	}
	want, unread, err := r.readable(ctx, resolver, hr)
	if err != nil {
		if _, secrets := resolver.Secrets(ctx, hr); secrets != nil {
			hr = hr.DeepCopy()
			hr.Spec.ValuesFrom = slices.DeleteFunc(hr.Spec.ValuesFrom, func(ref helmv2.ValuesReference) bool { return ref.Kind == helmv2.KindSecret })
			want, unread, err = r.readable(ctx, resolver, hr)
			unread = append(unread, r.without("Secrets", secrets))
		}
	}
	if err != nil && inputs.HasFiles(hr) {
		// Limits of all files together, or a file with other content than values.
		unread = append(unread, r.without("files of sources", err))
		want, err = resolver.Values(ctx, inputs.WithoutFiles(hr))
	}
	if err != nil {
		return view.Values{}, err
	}
	return view.ValuesOf(want.Values, want.Layers(), want.Secrets, unread), nil
}

// readable returns the values without the files that cannot be read, and what is left out.
func (r *Reader) readable(ctx context.Context, resolver *inputs.Resolver, hr *helmv2.HelmRelease) (want inputs.Want, unread []string, err error) {
	known := map[inputs.FileSource]bool{}
	want, err = resolver.LeavingOut(func(source inputs.FileSource, why error) bool {
		if !known[source] && len(known) < maxUnread {
			known[source] = true
			unread = append(unread, r.without("files of "+source.String(), why))
		}
		return known[source]
	}).Values(ctx, hr)
	if err != nil {
		return want, nil, err
	}
	return want, unread, nil
}

// without returns what is left out, and why.
func (r *Reader) without(what string, why error) string {
	if r.Public != nil {
		why = r.Public(why)
	}
	return what + " of spec.valuesFrom, whose keys are missing here or have the value of another layer: " + strings.Join(strings.Fields(why.Error()), " ")
}
