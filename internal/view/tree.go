// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Tree is the objects of the newest revision of a release, and the objects that they own.
type Tree struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Owner is the object that the HelmRelease was made for, as <kind>/<name>; empty if there is none.
	Owner  string   `json:"owner,omitempty"`
	Nodes  []Node   `json:"nodes"`
	Unread []string `json:"unread,omitempty"`
}

// OwnedBy returns the tree with the owner of its HelmRelease.
func (t Tree) OwnedBy(hr *helmv2.HelmRelease) Tree {
	t.Owner = OwnerOf(hr)
	return t
}

// Node is an object, with those that it owns.
type Node struct {
	Object Object `json:"object"`
	// Status is Ready, Progressing, Failed, Terminating, Missing, or Unknown for an object that could
	// not be read.
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
	// Drifted is "yes", "no", or "unknown". It is empty if drift is not detected, and for objects that
	// are owned.
	Drifted string `json:"drifted,omitempty"`
	// Fields are the paths of the fields that differ, if the object has drifted. There are none for an
	// object that is missing.
	Fields   []string `json:"fields,omitempty"`
	Children []Node   `json:"children,omitempty"`
}

// Live is what is known of an object.
type Live struct {
	Node
	UID string
	// Owners are the UIDs of its owners.
	Owners []string
	// Idle is true for an object that is left out unless it owns others, such as the ReplicaSet of an
	// earlier revision.
	Idle bool
}

// maxDepth limits the depth of a tree.
const maxDepth = 8

// TreeOf returns the tree of objects and of those that they own.
func TreeOf(namespace, name string, roots, owned []Live, unread []string) Tree {
	byOwner := map[string][]Live{}
	for _, o := range owned {
		for _, uid := range o.Owners {
			byOwner[uid] = append(byOwner[uid], o)
		}
	}
	t := Tree{Namespace: namespace, Name: name, Unread: unread, Nodes: []Node{}}
	for _, root := range roots {
		t.Nodes = append(t.Nodes, grow(root, byOwner, maxDepth))
	}
	sortNodes(t.Nodes)
	return t
}

// NamesOf returns the tree of a release in another cluster: the names of its objects.
func NamesOf(hr *helmv2.HelmRelease) Tree {
	var roots []Live
	for _, o := range Inventory(&hr.Status) {
		roots = append(roots, Live{Node: Node{Object: o, Status: "Unknown"}})
	}
	return TreeOf(hr.Namespace, hr.Name, roots, nil, nil)
}

func grow(o Live, byOwner map[string][]Live, depth int) Node {
	node := o.Node
	if o.UID == "" || depth == 0 {
		return node
	}
	for _, child := range byOwner[o.UID] {
		if c := grow(child, byOwner, depth-1); !child.Idle || len(c.Children) > 0 {
			node.Children = append(node.Children, c)
		}
	}
	sortNodes(node.Children)
	return node
}

func sortNodes(all []Node) {
	slices.SortFunc(all, func(a, b Node) int {
		return cmp.Or(cmp.Compare(a.Object.Kind, b.Object.Kind), cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
}
