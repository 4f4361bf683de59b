// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"path"
	"slices"
	"strings"
	template "text/template/parse"

	helmchart "helm.sh/helm/v3/pkg/chart"
)

// ClusterReads is what a chart may read of the cluster when it is rendered. The
// zero value is a chart whose manifest depends on itself and its values alone.
type ClusterReads struct {
	// Lookup is true if it may look up objects.
	Lookup bool
	// Capabilities is true if it may ask for the version of the API server or for
	// the APIs that it offers.
	Capabilities bool
}

// Any reports whether anything is read.
func (r ClusterReads) Any() bool { return r.Lookup || r.Capabilities }

func (r *ClusterReads) add(more ClusterReads) {
	r.Lookup = r.Lookup || more.Lookup
	r.Capabilities = r.Capabilities || more.Capabilities
}

const (
	lookupFunction = "lookup"
	capabilities   = "Capabilities"
	notesFile      = "NOTES.txt"
)

// readsOf tells what the templates of a chart and of its subcharts read, be they
// enabled or not: what a helper that nothing includes reads does not count, nor
// what the notes read. It errs on the side of reading, except for templates it
// cannot see, which are values and files that are given to tpl.
func readsOf(c *helmchart.Chart) ClusterReads {
	s := &scan{defined: map[string]*fragment{}}
	if !s.mentioned(c) {
		return ClusterReads{}
	}
	walk(c, func(*helmchart.File) {}, func(c *helmchart.Chart) {
		for _, f := range c.Templates {
			s.file(f)
		}
	})
	return s.reached()
}

// scan collects what a chart's templates do.
type scan struct {
	// roots are rendered by Helm, defined only where something includes them.
	roots   []*fragment
	defined map[string]*fragment
}

// fragment is what a template does itself.
type fragment struct {
	reads ClusterReads
	// includes are the names of other templates.
	includes []string
	// any is true if it includes templates whose names are not known.
	any bool
}

// mentioned reports whether there is anything to look for: parsing takes long
// compared with this, and most charts are through here.
func (s *scan) mentioned(c *helmchart.Chart) bool {
	found := false
	walk(c, func(*helmchart.File) {}, func(c *helmchart.Chart) {
		for _, f := range c.Templates {
			found = found || searched(f.Data).Any()
		}
	})
	return found
}

// searched is what a text may read at most, whatever it means.
func searched(text []byte) ClusterReads {
	return ClusterReads{
		Lookup:       bytes.Contains(text, []byte(lookupFunction)),
		Capabilities: bytes.Contains(text, []byte(capabilities)),
	}
}

func (s *scan) file(f *helmchart.File) {
	trees, err := parsed(f.Name, string(f.Data))
	if err != nil {
		s.roots = append(s.roots, &fragment{reads: searched(f.Data), any: true})
		return
	}
	for name, tree := range trees {
		switch {
		case name != f.Name:
			if s.defined[name] == nil {
				s.defined[name] = &fragment{}
			}
			s.defined[name].take(tree)
		case strings.HasSuffix(f.Name, notesFile):
		default:
			root := &fragment{}
			root.take(tree)
			s.roots = append(s.roots, root)
		}
	}
}

// parsed returns the templates in a text, by name. Helm's functions are not known
// here, and need not be.
func parsed(name, text string) (map[string]*template.Tree, error) {
	trees := map[string]*template.Tree{}
	tree := template.New(name)
	tree.Mode = template.SkipFuncCheck
	_, err := tree.Parse(text, "", "", trees)
	return trees, err
}

// reached returns what the roots read, and all they include.
func (s *scan) reached() ClusterReads {
	var all ClusterReads
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

// take notes what a template does.
func (f *fragment) take(tree *template.Tree) {
	if tree.Root == nil {
		return
	}
	visit(tree.Root, func(n template.Node) {
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

// path notes a chain of fields. What is below .Values is the user's, whatever it
// is called, and the version of Helm is none of the cluster's.
func (f *fragment) path(fields []string) {
	i := slices.Index(fields, capabilities)
	if i < 0 || slices.Contains(fields[:i], "Values") || i+1 < len(fields) && fields[i+1] == "HelmVersion" {
		return
	}
	f.reads.Capabilities = true
}

// command notes what a command includes.
func (f *fragment) command(args []template.Node) {
	function, ok := args[0].(*template.IdentifierNode)
	if !ok {
		return
	}
	switch function.Ident {
	case "include":
		if len(args) < 2 {
			// The name comes out of a pipe.
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
		trees, err := parsed("tpl", text.Text)
		if err != nil {
			f.reads.add(searched([]byte(text.Text)))
			return
		}
		for _, tree := range trees {
			f.take(tree)
		}
	}
}

// namesFile reports whether an argument is the path of a template file, as in
// (print $.Template.BasePath "/config.yaml"), whose digest many charts take. Each
// of them is a root anyway.
func namesFile(arg template.Node) bool {
	found := false
	visit(arg, func(n template.Node) {
		switch n := n.(type) {
		case *template.FieldNode:
			found = found || slices.Contains(n.Ident, "BasePath")
		case *template.VariableNode:
			found = found || slices.Contains(n.Ident, "BasePath")
		}
	})
	return found
}

// visit calls each for a node and all below it.
func visit(n template.Node, each func(template.Node)) {
	each(n)
	switch n := n.(type) {
	case *template.ListNode:
		for _, inner := range n.Nodes {
			visit(inner, each)
		}
	case *template.ActionNode:
		visitPipe(n.Pipe, each)
	case *template.TemplateNode:
		visitPipe(n.Pipe, each)
	case *template.PipeNode:
		visitPipe(n, each)
	case *template.CommandNode:
		for _, arg := range n.Args {
			visit(arg, each)
		}
	case *template.ChainNode:
		visit(n.Node, each)
	case *template.IfNode:
		visitBranch(&n.BranchNode, each)
	case *template.RangeNode:
		visitBranch(&n.BranchNode, each)
	case *template.WithNode:
		visitBranch(&n.BranchNode, each)
	}
}

func visitPipe(p *template.PipeNode, each func(template.Node)) {
	if p == nil {
		return
	}
	for _, command := range p.Cmds {
		visit(command, each)
	}
}

func visitBranch(b *template.BranchNode, each func(template.Node)) {
	visitPipe(b.Pipe, each)
	if b.List != nil {
		visit(b.List, each)
	}
	if b.ElseList != nil {
		visit(b.ElseList, each)
	}
}

// Another second, minute, hour, day of the week, day, month and year.
const anotherTime = `(now | date_modify "9677h23m41s")`

// ShiftTime makes the templates of a chart, which has to be the caller's own,
// find another time when they ask for it: what depends on the time then shows, even
// if it changes only once a day. Times that ago or the templates in values take are
// not changed.
func ShiftTime(c *helmchart.Chart) {
	walk(c, func(*helmchart.File) {}, func(c *helmchart.Chart) {
		for i, f := range c.Templates {
			if changed, ok := shiftedTime(f); ok {
				// Others of the chart's files may share the bytes.
				c.Templates[i] = &helmchart.File{Name: f.Name, Data: changed}
			}
		}
	})
}

func shiftedTime(f *helmchart.File) ([]byte, bool) {
	const now = "now"
	if !bytes.Contains(f.Data, []byte(now)) {
		return nil, false
	}
	trees, err := parsed(path.Base(f.Name), string(f.Data))
	if err != nil {
		return nil, false
	}
	var at []int
	for _, tree := range trees {
		if tree.Root == nil {
			continue
		}
		visit(tree.Root, func(n template.Node) {
			if f, ok := n.(*template.IdentifierNode); ok && f.Ident == now {
				at = append(at, int(f.Pos))
			}
		})
	}
	slices.Sort(at)
	var changed []byte
	end := 0
	for _, pos := range slices.Compact(at) {
		if pos < end || !bytes.HasPrefix(f.Data[pos:], []byte(now)) {
			return nil, false
		}
		changed = append(append(changed, f.Data[end:pos]...), anotherTime...)
		end = pos + len(now)
	}
	return append(changed, f.Data[end:]...), len(at) > 0
}
