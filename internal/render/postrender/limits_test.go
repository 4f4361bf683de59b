// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/bounded"
)

// TestLimits: a renderer has limits on its patches and regular expressions, whose errors name the
// field and the limit.
func TestLimits(t *testing.T) {
	t.Parallel()
	const costly = "(?:abcdefgh){1000}"
	target := func(s helmv2.Selector) helmv2.Patch { return helmv2.Patch{Target: &s, Patch: "a: 1"} }
	targets := func(n int) []helmv2.Patch {
		var all []helmv2.Patch
		for range n {
			all = append(all, target(helmv2.Selector{Name: costly}))
		}
		return all
	}
	names := func(n int) []helmv2.Patch {
		return []helmv2.Patch{{Patch: strings.Repeat("kind: A\napiVersion: v1\nmetadata: {name: a}\n---\n", n)}}
	}
	aliases := "a: &x " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*x,", 100) + "]"
	const at = "spec.postRenderers[0].kustomize."
	cases := map[string]struct {
		reason  string
		patches []helmv2.Patch
		images  []helmv2.Image
		want    string
	}{
		"Patterns":    {reason: "patterns have a common limit", patches: targets(5)},
		"TooMany":     {reason: "which one more exceeds", patches: targets(6), want: at + "patches[5]: target: the regular expressions together cost 54"},
		"Group":       {reason: "each field is limited", patches: []helmv2.Patch{target(helmv2.Selector{Group: costly + costly})}, want: at + "patches[0]: target: the regular expression costs more than 10000"},
		"Version":     {reason: "each field is limited", patches: []helmv2.Patch{target(helmv2.Selector{Version: costly + costly})}, want: at + "patches[0]: target: the regular expression costs more than 10000"},
		"Kind":        {reason: "each field is limited", patches: []helmv2.Patch{target(helmv2.Selector{Kind: costly + costly})}, want: at + "patches[0]: target: the regular expression costs more than 10000"},
		"Name":        {reason: "each field is limited", patches: []helmv2.Patch{target(helmv2.Selector{Name: costly + costly})}, want: at + "patches[0]: target: the regular expression costs more than 10000"},
		"Namespace":   {reason: "each field is limited", patches: []helmv2.Patch{target(helmv2.Selector{Namespace: costly + costly})}, want: at + "patches[0]: target: the regular expression costs more than 10000"},
		"Unbalanced":  {reason: "kustomize accepts what it can anchor", patches: []helmv2.Patch{target(helmv2.Selector{Name: "a)(b"})}},
		"Image":       {reason: "the name of an image is a pattern", images: []helmv2.Image{{Name: "registry.example.com/(team-[a-z]{1,20})/.*"}}},
		"CostlyImage": {reason: "with a lower limit", images: []helmv2.Image{{Name: "(?:abc){400}"}}, want: at + "images[0]: name: the regular expression costs 1"},
		"Objects":     {reason: "a patch may name objects", patches: names(2000)},
		"ManyObjects": {reason: "up to a limit", patches: names(2001), want: at + "patches[0]: all patches together name more than 2000 objects"},
		"Aliases":     {reason: "aliases are limited", patches: []helmv2.Patch{{Patch: aliases}}, want: at + "patches[0]: the patch: the content has more than 8388608 bytes after the expansion of its aliases"},
		"Deep":        {reason: "nesting is limited", patches: []helmv2.Patch{{Patch: "a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100)}}, want: at + "patches[0]: the patch: the content is nested deeper than 100 levels"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New([]helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: tc.patches, Images: tc.images}}}, nil)
			if (err != nil) != (tc.want != "") || err != nil && (!strings.HasPrefix(err.Error(), tc.want) || !errors.As(err, new(*bounded.Error))) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestManifestLimits: rendered manifests have limits too, which are higher.
func TestManifestLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	for n, want := range map[int]string{500: "", 700: "document 1: the content has more than 67108864 bytes after the expansion of its aliases"} {
		text := "a: &x " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*x,", n) + "]\n"
		if _, err := parse(text); (err != nil) != (want != "") || want != "" && fmt.Sprint(err) != want {
			t.Errorf("%d aliases: %v", n, err)
		}
	}
}
