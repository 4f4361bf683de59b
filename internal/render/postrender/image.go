// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"errors"
	"fmt"

	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/bounded"
)

// imageChange replaces the name, tag or digest of an image.
type imageChange struct{ image types.Image }

// maxImageCost limits the cost of a name. It is lower than that of other regular expressions, since
// kustomize compiles the name for each container.
const maxImageCost = 1_000

func newImageChange(i helmv2.Image) (imageChange, error) {
	if i.Name == "" {
		return imageChange{}, errors.New("name is missing")
	}
	// kustomize compiles the name as a regular expression, and panics if it is invalid.
	cost, err := bounded.PatternCost(i.Name)
	if err == nil && cost > maxImageCost {
		err = bounded.Exceeded("the regular expression costs %d, more than %d", cost, maxImageCost)
	}
	if err != nil {
		return imageChange{}, fmt.Errorf("name: %w", err)
	}
	return imageChange{types.Image{Name: i.Name, NewName: i.NewName, NewTag: i.NewTag, Digest: i.Digest}}, nil
}

// apply changes images where kustomize does: in lists of containers at any depth, and in the
// volumes of Pods.
func (c imageChange) apply(o *object) error {
	if o.kind == "" || o.kind == "CustomResourceDefinition" || !mayHoldImages(o.fields) {
		return nil
	}
	node := kyaml.NewRNode(toNode(o.fields))
	for _, filter := range []kio.Filter{
		imagetag.LegacyFilter{ImageTag: c.image},
		imagetag.Filter{ImageTag: c.image, FsSlice: types.FsSlice{
			{Path: "spec/volumes[]/image/reference"},
			{Path: "spec/template/spec/volumes[]/image/reference"},
		}},
	} {
		if _, err := filter.Filter([]*kyaml.RNode{node}); err != nil {
			return brief(err)
		}
	}
	v, err := fromNode(node.YNode())
	if err != nil {
		return err
	}
	if fields, ok := v.(map[string]any); ok {
		o.replace(fields)
	}
	return nil
}

// mayHoldImages reports whether a value may contain images. Most objects do not, and skip
// kustomize.
func mayHoldImages(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if k == "containers" || k == "initContainers" || k == "volumes" || mayHoldImages(inner) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if mayHoldImages(inner) {
				return true
			}
		}
	}
	return false
}
