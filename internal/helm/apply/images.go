// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"iter"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pintle-dev/pintle/internal/helm/kinds"
	"github.com/pintle-dev/pintle/internal/release"
)

// Manifest are the objects of a manifest with their parsed content.
type Manifest = iter.Seq2[release.Object, map[string]any]

// imageChanges returns the images of containers that differ between two manifests: first the images
// of next in its order, then the images that next does not have. Objects are matched by kind,
// namespace and name, in any version of their API.
func imageChanges(previous, next Manifest) []release.ImageChange {
	was := map[container]string{}
	for o, content := range previous {
		for name, image := range imagesOf(content) {
			was[container{canonicalKey(o), name}] = image
		}
	}
	var all []release.ImageChange
	kept := map[container]bool{}
	for o, content := range next {
		for name, image := range imagesOf(content) {
			c := container{canonicalKey(o), name}
			kept[c] = true
			if before := was[c]; before != image {
				all = append(all, release.ImageChange{Object: o, Container: name, From: before, To: image})
			}
		}
	}
	for o, content := range previous {
		for name, image := range imagesOf(content) {
			if !kept[container{canonicalKey(o), name}] {
				all = append(all, release.ImageChange{Object: o, Container: name, From: image})
			}
		}
	}
	return all
}

// container identifies a container of an object.
type container struct {
	object release.Object
	name   string
}

// canonicalKey returns the identity of an object without the version and former group of its API.
func canonicalKey(o release.Object) release.Object {
	o.Group, o.Version = kinds.Canonical(schema.GroupKind{Group: o.Group, Kind: o.Kind}).Group, ""
	return o
}

// podSpecs are the paths of Pod specs: in a Pod, in a workload or a custom resource with a template,
// and in a CronJob.
var podSpecs = [][]string{{"spec"}, {"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}} //nolint:gochecknoglobals // constant

// imagesOf yields the names and images of the containers of an object.
func imagesOf(content map[string]any) iter.Seq2[string, string] {
	return func(yield func(name, image string) bool) {
		for _, path := range podSpecs {
			spec := content
			for _, field := range path {
				spec, _ = spec[field].(map[string]any)
			}
			for _, list := range []string{"initContainers", "containers"} {
				all, _ := spec[list].([]any)
				for _, entry := range all {
					c, _ := entry.(map[string]any)
					name, _ := c["name"].(string)
					if image, _ := c["image"].(string); image != "" && !yield(name, image) {
						return
					}
				}
			}
		}
	}
}
