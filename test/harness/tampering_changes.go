// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// change is what is done to an object of a kind.
type change struct {
	kind  schema.GroupVersionKind
	patch string
}

// changes has all kinds of chart bench. Nobody but the controller answers any of
// these changes by writing the object: of the Deployment's spec, the
// deployment controller would note that it has seen it. Nor do they change the keys
// of lists, which is a conflict that server-side apply cannot resolve.
func changes() []change {
	return []change{
		{
			schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			`[{"op":"replace","path":"/metadata/labels/app.kubernetes.io~1version","value":"tampered-with"}]`,
		},
		{schema.GroupVersionKind{Version: "v1", Kind: "Service"}, `[{"op":"replace","path":"/spec/ports/0/targetPort","value":9090}]`},
		{
			schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
			`[{"op":"replace","path":"/spec/rules/0/host","value":"elsewhere.example.com"}]`,
		},
		{schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, `[{"op":"replace","path":"/automountServiceAccountToken","value":true}]`},
	}
}

// choose says what is done to which release.
func choose(releases []string) []*target {
	var targets []*target
	count := map[bool]int{}
	for i, name := range releases {
		// No number is both.
		changed, deleted := i%4 == 0, i%10 == 1
		if !changed && !deleted {
			continue
		}
		c := changes()[count[deleted]%len(changes())]
		count[deleted]++
		targets = append(targets, &target{objectKey: objectKey{c.kind.Kind, name}, change: c, deleted: deleted})
	}
	return targets
}
