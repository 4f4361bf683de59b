// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	yamlv3 "sigs.k8s.io/yaml/goyaml.v3"
)

// Scalar is a value in YAML or JSON that is no map or list.
type Scalar struct {
	Text string
	// Number is true for integers and floating-point numbers.
	Number bool
}

// Scalars returns the scalars in all documents of a YAML or JSON text: values, and comments, but no
// keys. The value of an alias is returned once. ok is false if the text is invalid, exceeds a limit,
// or if no document is a map or list.
func (l Limits) Scalars(raw string) (all []Scalar, ok bool) {
	if len(raw) > l.Bytes || !mayBeDocument(raw) || nodesOf(raw) > l.Nodes {
		return nil, false
	}
	r := scalarReader{limits: l}
	if strings.HasPrefix(strings.TrimSpace(raw), "{") && json.Valid([]byte(raw)) {
		return r.json(raw)
	}
	for decoder := yamlv3.NewDecoder(strings.NewReader(raw)); ; {
		var document yamlv3.Node
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return r.all, ok
		case err != nil, !r.read(&document, 0):
			return nil, false
		}
		for _, n := range document.Content {
			ok = ok || n.Kind == yamlv3.MappingNode || n.Kind == yamlv3.SequenceNode
		}
	}
}

// mayBeDocument reports whether a text may contain a map or list. Most values of a document are
// words, and the parser needs kilobytes for each.
func mayBeDocument(raw string) bool {
	raw = strings.TrimSpace(raw)
	if raw == "" || strings.IndexByte("{[-?!&%#", raw[0]) >= 0 {
		return raw != ""
	}
	for i := range len(raw) {
		if raw[i] == ':' && (i+1 == len(raw) || raw[i+1] <= ' ') {
			return true
		}
	}
	return false
}

// nodesOf returns an estimate of the number of nodes in a text. Each but the first follows one of
// these characters. A text of one node has more of them if it is prose.
func nodesOf(raw string) int {
	n := 1
	for i := range len(raw) {
		switch raw[i] {
		case '\n', '\r', ',', ':', '[', '{', '?':
			n++
		case '-':
			if i+1 < len(raw) && (raw[i+1] == ' ' || raw[i+1] == '\t') {
				n++
			}
		}
	}
	return n
}

// scalarReader collects scalars.
type scalarReader struct {
	limits Limits
	all    []Scalar
}

// json returns the scalars of a valid object. JSON may have characters that YAML has not.
func (r *scalarReader) json(raw string) (all []Scalar, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(raw))
	decoder.UseNumber()
	var objects []bool // for each level, whether it is an object
	for key := false; ; {
		token, err := decoder.Token()
		if err != nil {
			return r.all, errors.Is(err, io.EOF)
		}
		isKey := key
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				objects = append(objects, v == '{')
			} else {
				objects = objects[:len(objects)-1]
			}
			isKey = false
		case string:
			if !isKey {
				r.all = append(r.all, Scalar{Text: v})
			}
		case json.Number:
			r.all = append(r.all, Scalar{Text: v.String(), Number: true})
		}
		if len(objects) > r.limits.Depth {
			return nil, false
		}
		// The token after a key is its value, and the one after that a key.
		key = len(objects) > 0 && objects[len(objects)-1] && !isKey
	}
}

// read adds the scalars below a node. It returns false if the node is nested too deeply.
func (r *scalarReader) read(n *yamlv3.Node, depth int) bool {
	r.comments(n)
	switch n.Kind {
	case yamlv3.ScalarNode:
		r.scalar(n)
	case yamlv3.DocumentNode, yamlv3.MappingNode, yamlv3.SequenceNode:
		if depth > r.limits.Depth {
			return false
		}
		for i, child := range n.Content {
			if key := n.Kind == yamlv3.MappingNode && i%2 == 0 && child.Kind == yamlv3.ScalarNode; key {
				r.comments(child)
				continue
			}
			if !r.read(child, depth+1) {
				return false
			}
		}
	case yamlv3.AliasNode:
	}
	return true
}

func (r *scalarReader) comments(n *yamlv3.Node) {
	for _, comment := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for line := range strings.Lines(comment) {
			r.all = append(r.all, Scalar{Text: strings.TrimSpace(strings.TrimLeft(line, "#"))})
		}
	}
}

func (r *scalarReader) scalar(n *yamlv3.Node) {
	switch n.ShortTag() {
	case "!!bool", "!!null", "!!merge":
	case "!!int", "!!float":
		r.all = append(r.all, Scalar{Text: n.Value, Number: true})
	default:
		r.all = append(r.all, Scalar{Text: n.Value})
	}
}
