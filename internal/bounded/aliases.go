// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"bytes"

	yamlv2 "go.yaml.in/yaml/v2"
	yamlv3 "sigs.k8s.io/yaml/goyaml.v3"
)

// MayRepeat reports whether a text may contain an anchor and an alias. Most texts do not, and are
// parsed once only.
func MayRepeat(raw []byte) bool {
	// UTF-16 is YAML too, and has the same characters between zero bytes.
	return bytes.IndexByte(raw, '&') >= 0 && bytes.IndexByte(raw, '*') >= 0
}

// expandedSize returns the size of YAML once its aliases are expanded. It is an upper bound: a key
// that a merge overrides counts twice. ok is false if the text is invalid.
func expandedSize(raw []byte, l Limits) (size Size, ok bool) {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(raw, &document); err != nil {
		return decodedSize(raw, l)
	}
	m := measurer{limits: l, known: map[*yamlv3.Node]Size{}}
	return m.size(&document), true
}

// decodedSize returns the size of YAML that the parser of the nodes rejects, for example because it
// has read ahead into an invalid second document. The decoder may still accept the text. It shares
// the strings that aliases repeat, and limits the number of nodes that they add, so that it needs
// little memory.
func decodedSize(raw []byte, l Limits) (Size, bool) {
	var v any
	if err := yamlv2.Unmarshal(raw, &v); err != nil {
		return Size{}, false
	}
	var size Size
	size.addDecoded(v, l, 0)
	return size, true
}

// measurer adds up the sizes of nodes.
type measurer struct {
	limits Limits
	// known has the size of each node that has an anchor. While the node is measured, it is zero:
	// the decoder rejects a node that contains itself.
	known map[*yamlv3.Node]Size
}

// size returns the size of a node.
func (m measurer) size(n *yamlv3.Node) Size {
	if n.Kind == yamlv3.AliasNode {
		if n = n.Alias; n == nil {
			return Size{}
		}
	}
	if n.Anchor != "" {
		if size, ok := m.known[n]; ok {
			return size
		}
		m.known[n] = Size{}
	}
	var size Size
	switch n.Kind {
	case yamlv3.ScalarNode:
		size = Size{Bytes: len(n.Value) + 1, Nodes: 1}
	case yamlv3.DocumentNode, yamlv3.MappingNode, yamlv3.SequenceNode, yamlv3.AliasNode:
		size = m.content(n)
	}
	if n.Anchor != "" {
		m.known[n] = size
	}
	return size
}

// content returns the size of a document, map or list. It stops once that exceeds the limits, so
// that the sums cannot overflow.
func (m measurer) content(n *yamlv3.Node) Size {
	var size Size
	for _, child := range n.Content {
		inner := m.size(child)
		size.Bytes, size.Nodes, size.Depth = size.Bytes+inner.Bytes, size.Nodes+inner.Nodes, max(size.Depth, inner.Depth)
		if m.limits.exceeds(size) {
			break
		}
	}
	if n.Kind != yamlv3.DocumentNode {
		size.Nodes, size.Depth = size.Nodes+1, size.Depth+1
	}
	return size
}

// addDecoded is add for a value of the YAML decoder, whose maps have keys of any type.
func (s *Size) addDecoded(v any, l Limits, depth int) {
	if l.exceeds(*s) {
		return
	}
	switch v := v.(type) {
	case map[any]any:
		s.Nodes, s.Depth = s.Nodes+1, max(s.Depth, depth+1)
		for key, inner := range v {
			s.addDecoded(key, l, depth+1)
			s.addDecoded(inner, l, depth+1)
		}
	case []any:
		s.Nodes, s.Depth = s.Nodes+1, max(s.Depth, depth+1)
		for _, inner := range v {
			s.addDecoded(inner, l, depth+1)
		}
	default:
		s.add(v, l, depth)
	}
}
