// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/danger"
)

// addCompared adds the objects of two revisions, in which dangers are looked for. An object of
// which there is a dry run is compared in its live form, with all defaults and with what
// autoscalers and webhooks have set.
func (c *changes) addCompared(previous, next kube.ResourceList, states []state) {
	seen := map[objectKey]state{}
	var crds []state
	for _, s := range states {
		switch {
		case s.Live != nil && s.Answer != nil:
			seen[keyOf(s.Info)] = s
		case s.Info.Mapping.GroupVersionKind.Kind == CRDKind:
			crds = append(crds, s)
		}
	}
	// The last form of an object counts.
	defer c.addComparedCRDs(crds)
	had := map[objectKey]bool{}
	for _, info := range previous {
		had[keyOf(info)] = true
		if s, is := seen[keyOf(info)]; is {
			c.Before = append(c.Before, danger.Object{Content: s.Live.Object})
		} else {
			c.Before = appendContent(c.Before, info)
		}
	}
	for _, info := range next {
		s, is := seen[keyOf(info)]
		if !is {
			c.After = appendContent(c.After, info)
			continue
		}
		c.After = append(c.After, danger.Object{Content: s.Answer.Object})
		if !had[keyOf(info)] {
			// It is adopted.
			c.Before = append(c.Before, danger.Object{Content: s.Live.Object})
		}
	}
}

// addComparedCRDs adds the CRDs in crds folders that exist and are replaced. The live ones know the
// versions in which objects are stored, even if the API server refuses the new ones.
func (c *changes) addComparedCRDs(states []state) {
	for _, s := range states {
		if s.Live == nil {
			continue
		}
		c.Before = append(c.Before, danger.Object{Content: s.Live.Object})
		if s.Answer != nil {
			c.After = append(c.After, danger.Object{Content: s.Answer.Object})
		} else {
			c.After = appendContent(c.After, s.Info)
		}
	}
}

// appendContent appends the content of an object, if it was parsed.
func appendContent(all []danger.Object, info *resource.Info) []danger.Object {
	if object, ok := info.Object.(*unstructured.Unstructured); ok {
		return append(all, danger.Object{Content: object.Object})
	}
	return all
}
