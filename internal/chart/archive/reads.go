// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"slices"
	"strings"
	template "text/template/parse"

	helmchart "helm.sh/helm/v3/pkg/chart"
)

// Reads lists the kinds of data that the templates of a chart may read from the cluster. The
// zero value means that the manifest depends on the chart and its values only.
type Reads struct {
	// Lookup is true if templates may call lookup.
	Lookup bool
	// Capabilities is true if templates may use the version of the API server or its API groups.
	Capabilities bool
}

// any reports whether templates may read anything from the cluster.
func (r Reads) any() bool { return r.Lookup || r.Capabilities }

func (r *Reads) add(more Reads) {
	r.Lookup = r.Lookup || more.Lookup
	r.Capabilities = r.Capabilities || more.Capabilities
}

const (
	lookupFunction = "lookup"
	capabilities   = "Capabilities"
	notesFile      = "NOTES.txt"
)

// ReadsOf returns the cluster reads of a chart and its subcharts, whether enabled or not. Helpers
// that are not included do not count, nor does NOTES.txt. In doubt it reports a read. It cannot see
// templates in values and files that are passed to tpl.
func ReadsOf(c *helmchart.Chart) Reads {
	s := &scan{defined: map[string]*fragment{}}
	if !s.mayRead(c) {
		return Reads{}
	}
	walk(c, func(*helmchart.File) {}, func(c *helmchart.Chart) {
		for _, f := range c.Templates {
			s.file(f)
		}
	})
	return s.reachableReads()
}

// scan holds the templates of a chart.
type scan struct {
	// roots are rendered by Helm, defined ones only where they are included.
	roots   []*fragment
	defined map[string]*fragment
}

// fragment holds the reads of one template, without the reads of templates that it includes.
type fragment struct {
	reads Reads
	// includes holds the names of the templates that it includes.
	includes []string
	// any is true if it includes templates whose names are computed.
	any bool
}

// mayRead reports whether a template contains a name that reads need. Most charts contain none, and
// this check is much faster than parsing.
func (s *scan) mayRead(c *helmchart.Chart) bool {
	found := false
	walk(c, func(*helmchart.File) {}, func(c *helmchart.Chart) {
		for _, f := range c.Templates {
			found = found || findReads(f.Data).any()
		}
	})
	return found
}

// findReads returns the reads whose names a text contains.
func findReads(text []byte) Reads {
	return Reads{
		Lookup:       bytes.Contains(text, []byte(lookupFunction)),
		Capabilities: bytes.Contains(text, []byte(capabilities)),
	}
}

// file adds the templates of a file.
func (s *scan) file(f *helmchart.File) {
	trees, err := parseTemplates(f.Name, string(f.Data))
	if err != nil {
		s.roots = append(s.roots, &fragment{reads: findReads(f.Data), any: true})
		return
	}
	for name, tree := range trees {
		switch {
		case name != f.Name:
			if s.defined[name] == nil {
				s.defined[name] = &fragment{}
			}
			s.defined[name].add(tree)
		case strings.HasSuffix(f.Name, notesFile):
		default:
			root := &fragment{}
			root.add(tree)
			s.roots = append(s.roots, root)
		}
	}
}

// parseTemplates returns the templates in a text by name. It accepts unknown functions.
func parseTemplates(name, text string) (map[string]*template.Tree, error) {
	trees := map[string]*template.Tree{}
	tree := template.New(name)
	tree.Mode = template.SkipFuncCheck
	_, err := tree.Parse(text, "", "", trees)
	return trees, err
}

// reachableReads returns the reads of the roots and of all templates that they include.
func (s *scan) reachableReads() Reads {
	var all Reads
	done := map[*fragment]bool{}
	for left := s.roots; len(left) > 0; {
		f := left[len(left)-1]
		left = left[:len(left)-1]
		if f == nil || done[f] {
			continue
		}
		done[f] = true
		all.add(f.reads)
		for _, name := range f.includes {
			left = append(left, s.defined[name])
		}
		if f.any {
			for _, other := range s.defined {
				left = append(left, other)
			}
		}
	}
	return all
}

// add adds the reads and includes of a template.
func (f *fragment) add(tree *template.Tree) {
	if tree.Root == nil {
		return
	}
	walkNode(tree.Root, func(n template.Node) {
		switch n := n.(type) {
		case *template.IdentifierNode:
			f.reads.Lookup = f.reads.Lookup || n.Ident == lookupFunction
		case *template.FieldNode:
			f.path(n.Ident)
		case *template.VariableNode:
			f.path(n.Ident)
		case *template.ChainNode:
			f.path(n.Field)
		case *template.StringNode:
			// As in {{ index . "Capabilities" }}.
			f.reads.Capabilities = f.reads.Capabilities || n.Text == capabilities
		case *template.TemplateNode:
			f.includes = append(f.includes, n.Name)
		case *template.CommandNode:
			f.command(n.Args)
		}
	})
}

// path adds the read of a chain of fields. Fields below .Values are not reads, whatever their
// names. Neither is the version of Helm.
func (f *fragment) path(fields []string) {
	i := slices.Index(fields, capabilities)
	if i < 0 || slices.Contains(fields[:i], "Values") || i+1 < len(fields) && fields[i+1] == "HelmVersion" {
		return
	}
	f.reads.Capabilities = true
}

// command adds the includes of a command, and the reads of a text that is passed to tpl.
func (f *fragment) command(args []template.Node) {
	function, ok := args[0].(*template.IdentifierNode)
	if !ok {
		return
	}
	switch function.Ident {
	case "include":
		if len(args) < 2 {
			// The name is the result of a pipe.
			f.any = true
			return
		}
		if name, ok := args[1].(*template.StringNode); ok {
			f.includes = append(f.includes, name.Text)
			return
		}
		f.any = f.any || !namesFile(args[1])
	case "tpl":
		if len(args) < 2 {
			return
		}
		text, ok := args[1].(*template.StringNode)
		if !ok {
			return
		}
		trees, err := parseTemplates("tpl", text.Text)
		if err != nil {
			f.reads.add(findReads([]byte(text.Text)))
			return
		}
		for _, tree := range trees {
			f.add(tree)
		}
	}
}

// namesFile reports whether an argument is the path of a template file, as in (print
// $.Template.BasePath "/config.yaml"). Many charts digest such files. Each of them is a root.
func namesFile(arg template.Node) bool {
	found := false
	walkNode(arg, func(n template.Node) {
		switch n := n.(type) {
		case *template.FieldNode:
			found = found || slices.Contains(n.Ident, "BasePath")
		case *template.VariableNode:
			found = found || slices.Contains(n.Ident, "BasePath")
		}
	})
	return found
}

// walkNode calls each for a node and all nodes below it.
func walkNode(n template.Node, each func(template.Node)) {
	each(n)
	switch n := n.(type) {
	case *template.ListNode:
		for _, inner := range n.Nodes {
			walkNode(inner, each)
		}
	case *template.ActionNode:
		walkPipe(n.Pipe, each)
	case *template.TemplateNode:
		walkPipe(n.Pipe, each)
	case *template.PipeNode:
		walkPipe(n, each)
	case *template.CommandNode:
		for _, arg := range n.Args {
			walkNode(arg, each)
		}
	case *template.ChainNode:
		walkNode(n.Node, each)
	case *template.IfNode:
		walkBranch(&n.BranchNode, each)
	case *template.RangeNode:
		walkBranch(&n.BranchNode, each)
	case *template.WithNode:
		walkBranch(&n.BranchNode, each)
	}
}

func walkPipe(p *template.PipeNode, each func(template.Node)) {
	if p == nil {
		return
	}
	for _, command := range p.Cmds {
		walkNode(command, each)
	}
}

func walkBranch(b *template.BranchNode, each func(template.Node)) {
	walkPipe(b.Pipe, each)
	if b.List != nil {
		walkNode(b.List, each)
	}
	if b.ElseList != nil {
		walkNode(b.ElseList, each)
	}
}
