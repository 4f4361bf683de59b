// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"maps"
	"slices"
)

// maxNames is the maximum number of changed objects of one kind and namespace that an event names.
const maxNames = 50

// scope is a kind, as an index of Hub.kinds, and a namespace.
type scope struct {
	kind      int
	namespace string
}

// pending is a set of changed objects. The zero value is empty.
type pending struct {
	// missed is true if the client may have missed any change.
	missed bool
	// names are the names of objects. A nil set means all objects of the scope.
	names map[scope]map[string]bool
}

// add adds an object. Its scope counts as changed as a whole if it has more than maxNames objects.
func (p *pending) add(s scope, name string) {
	if p.names == nil {
		p.names = map[scope]map[string]bool{}
	}
	names, known := p.names[s]
	switch {
	case !known:
		p.names[s] = map[string]bool{name: true}
	case names == nil:
	default:
		if names[name] = true; len(names) > maxNames {
			p.names[s] = nil
		}
	}
}

// paths returns the paths of the pages of changed objects, in order. A path that ends with a slash
// means all pages below it.
func (p *pending) paths(kinds []Kind, may func(Kind, string) (bool, error)) ([]string, error) {
	if p.missed {
		return []string{"/"}, nil
	}
	var paths []string
	for s, names := range p.names {
		kind := kinds[s.kind]
		switch allowed, err := may(kind, s.namespace); {
		case err != nil:
			return nil, err
		case !allowed:
			continue
		}
		below := kind.Path + s.namespace + "/"
		if names == nil {
			paths = append(paths, below)
		}
		for name := range maps.Keys(names) {
			paths = append(paths, below+name)
		}
	}
	slices.Sort(paths)
	return paths, nil
}
