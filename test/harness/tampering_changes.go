// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// change is a change of the objects of one kind.
type change struct {
	kind  schema.GroupVersionKind
	patch string
}

// changes has all kinds of chart bench. No other controller reacts to these changes by writing the
// object. For example, the deployment controller would update the status after a change of a
// Deployment's spec. None of them changes a key of a list, which is a conflict that server-side
// apply cannot resolve.
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

// choose assigns changes to releases.
func choose(releases []string) []*target {
	var targets []*target
	count := map[bool]int{}
	for i, name := range releases {
		// No index satisfies both.
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
