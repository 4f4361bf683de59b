// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	yamlv3 "sigs.k8s.io/yaml/goyaml.v3"
)

// Lines finds the lines of keys in a content. The zero value finds none. It is safe for concurrent use.
type Lines struct{ root *yamlv3.Node }

// LinesOf returns the lines of a content in YAML or JSON; the zero value if it cannot be parsed, or
// exceeds the limits.
func (l Limits) LinesOf(raw []byte) Lines {
	if l.Check(raw) != nil {
		return Lines{}
	}
	var document yamlv3.Node
	if yamlv3.Unmarshal(raw, &document) != nil || len(document.Content) == 0 {
		return Lines{}
	}
	return Lines{document.Content[0]}
}

// Of returns the line of the last key of a path that the content has, counted from 1; 0 if it does not
// have the first one. A key that comes from an alias or a merge has the line at which it is written.
func (l Lines) Of(path []string) int {
	node, line := l.root, 0
	for _, name := range path {
		key, value := find(node, name, maxAliases)
		if key == nil {
			break
		}
		node, line = value, key.Line
	}
	return line
}

// maxAliases is how many aliases and merges are followed for one key.
const maxAliases = 100

// find returns a key of a map and its value; nil if the map does not have the key.
func find(node *yamlv3.Node, name string, aliases int) (key, value *yamlv3.Node) {
	if node == nil || aliases == 0 {
		return nil, nil
	}
	if node.Kind == yamlv3.AliasNode {
		return find(node.Alias, name, aliases-1)
	}
	if node.Kind != yamlv3.MappingNode {
		return nil, nil
	}
	// The last one counts, and keys of the map itself before keys of a merge.
	for i := len(node.Content) - 2; i >= 0; i -= 2 {
		if k := node.Content[i]; k.Value == name && k.Tag != mergeTag {
			return k, node.Content[i+1]
		}
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Tag != mergeTag {
			continue
		}
		merged := []*yamlv3.Node{node.Content[i+1]}
		if merged[0].Kind == yamlv3.SequenceNode {
			merged = merged[0].Content
		}
		for _, m := range merged {
			if key, value = find(m, name, aliases-1); key != nil {
				return key, value
			}
		}
	}
	return nil, nil
}

const mergeTag = "!!merge"
