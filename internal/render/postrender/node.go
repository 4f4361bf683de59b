// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// toNode converts a result of decodeJSON to a node of kustomize. It does not write and parse text:
// kyaml parses YAML differently from decodeYAML, and has lost whitespace in strings.
func toNode(v any) *kyaml.Node {
	switch v := v.(type) {
	case map[string]any:
		n := &kyaml.Node{Kind: kyaml.MappingNode, Tag: kyaml.NodeTagMap}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, scalar(kyaml.NodeTagString, k), toNode(v[k]))
		}
		return n
	case []any:
		n := &kyaml.Node{Kind: kyaml.SequenceNode, Tag: kyaml.NodeTagSeq}
		for _, item := range v {
			n.Content = append(n.Content, toNode(item))
		}
		return n
	case string:
		return scalar(kyaml.NodeTagString, v)
	case bool:
		return scalar(kyaml.NodeTagBool, strconv.FormatBool(v))
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return scalar(kyaml.NodeTagFloat, v.String())
		}
		return scalar(kyaml.NodeTagInt, v.String())
	}
	return scalar(kyaml.NodeTagNull, "null")
}

func scalar(tag, value string) *kyaml.Node {
	return &kyaml.Node{Kind: kyaml.ScalarNode, Tag: tag, Value: value}
}

// fromScalar converts a scalar by its tag. Strings that kustomize sets have no tag.
func fromScalar(n *kyaml.Node) any {
	switch n.Tag {
	case kyaml.NodeTagBool:
		return n.Value == "true"
	case kyaml.NodeTagInt, kyaml.NodeTagFloat:
		return json.Number(n.Value)
	case kyaml.NodeTagNull:
		return nil
	}
	return n.Value
}

// fromNode converts a node to the form of decodeJSON.
func fromNode(n *kyaml.Node) (any, error) {
	if n.Kind == kyaml.MappingNode {
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := fromNode(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			m[n.Content[i].Value] = v
		}
		return m, nil
	}
	if n.Kind == kyaml.SequenceNode {
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			v, err := fromNode(item)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	if n.Kind == kyaml.ScalarNode {
		return fromScalar(n), nil
	}
	return nil, fmt.Errorf("kustomize left a node of kind %d", n.Kind)
}

// brief returns an error of kustomize without the YAML that it quotes, which may be long and
// secret.
func brief(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(strings.TrimSuffix(text, ": node contents:"))
}
