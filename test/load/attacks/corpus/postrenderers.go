// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"fmt"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// patches adds patches to a release.
func patches(all ...helmv2.Patch) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: all}}}
	}
}

func postRenderers() []Attack {
	const first = "spec.postRenderers[0].kustomize.patches[0]"
	target := func(s helmv2.Selector) helmv2.Patch { return helmv2.Patch{Patch: "a: 1", Target: &s} }
	times := func(n int, p helmv2.Patch) []helmv2.Patch {
		var all []helmv2.Patch
		for range n {
			all = append(all, p)
		}
		return all
	}
	operations := func(text string) helmv2.Patch {
		return helmv2.Patch{Patch: "[" + strings.TrimSuffix(text, ",") + "]", Target: &helmv2.Selector{Kind: "ConfigMap"}}
	}
	copies := `{"op":"add","path":"/data","value":{"a":"` + strings.Repeat("x", 1000) + `"}},`
	for i := range 40 {
		copies += fmt.Sprintf(`{"op":"copy","from":"/data","path":"/data/c%d"},`, i)
	}
	var objects strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&objects, "kind: A\napiVersion: v1\nmetadata: {name: a%d}\n---\n", i)
	}
	images := func(hr *helmv2.HelmRelease) {
		hr.Spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Images: []helmv2.Image{{Name: "(?:abc){400}", NewTag: "1"}}}}}
	}
	return []Attack{
		{Name: "postrenderers/comments", Worst: true, Edit: patches(helmv2.Patch{Patch: strings.Repeat("#\n", 300<<10)}), Outcome: failed(first + ": the patch is empty")},
		{Name: "postrenderers/separators", Edit: patches(helmv2.Patch{Patch: strings.Repeat("---\n", 150<<10)}), Outcome: failed(first)},
		{Name: "postrenderers/many", Edit: patches(times(1000, helmv2.Patch{Patch: "a: 1"})...), Outcome: rejected(helmv2.ReasonUnsupportedField, "spec.postRenderers[*].kustomize.patches has 1000 entries, more than 256")},
		{Name: "postrenderers/target", Edit: patches(target(helmv2.Selector{Name: costly()})), Outcome: failed(first+": target", "the regular expression costs more than 10000")},
		{Name: "postrenderers/targets", Edit: patches(times(200, target(helmv2.Selector{Name: "(?:abcdefgh){1000}"}))...), Outcome: failed("spec.postRenderers[0].kustomize.patches[5]: target", "the regular expressions together cost")},
		{Name: "postrenderers/aliases", Edit: patches(helmv2.Patch{Patch: longAlias(300<<10, 100<<10)}), Outcome: failed(first, "more than 8388608 bytes", expansion)},
		{Name: "postrenderers/deep", Edit: patches(helmv2.Patch{Patch: nested(9000)}), Outcome: failed(first, "nested deeper than 100 levels")},
		{Name: "postrenderers/objects", Edit: patches(helmv2.Patch{Patch: objects.String()}), Outcome: failed(first, "all patches together name more than 2000 objects")},
		{Name: "postrenderers/copies", Edit: patches(operations(copies)), Outcome: failed(first, "may make an object of more than 16777216 bytes")},
		{Name: "postrenderers/operations", Edit: patches(operations(strings.Repeat(`{"op":"add","path":"/a","value":1},`, 20_000))), Outcome: failed("evil")},
		{Name: "postrenderers/file", Edit: patches(helmv2.Patch{Patch: "/etc/passwd"}), Outcome: failed(first, "neither an object nor a list")},
		{Name: "postrenderers/image", Edit: images, Outcome: failed("spec.postRenderers[0].kustomize.images[0]", "the regular expression costs")},
	}
}
