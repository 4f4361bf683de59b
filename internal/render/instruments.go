// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/rand"
	"fmt"
	"reflect"
	"text/template"
	"text/template/parse"
)

// instruments make templates count what they do, without a difference to what they
// render. What a template calls for that has a name that none can know.
type instruments struct {
	meter *meter
	// steps is {{ step }}, checks | check.
	steps  *parse.ActionNode
	checks *parse.CommandNode
	// plain are the functions whose results take no check before they are printed.
	plain               map[string]bool
	enterName, exitName string
	functions           template.FuncMap
	done                map[*parse.Tree]bool
	entering, leaving   map[int]*parse.ActionNode
}

// newInstruments adds to functions what instrumented templates call.
func newInstruments(m *meter, functions template.FuncMap) (*instruments, error) {
	secret := rand.Text()
	i := &instruments{
		meter: m, plain: map[string]bool{}, enterName: "enter" + secret, exitName: "exit" + secret, done: map[*parse.Tree]bool{},
		entering: map[int]*parse.ActionNode{}, leaving: map[int]*parse.ActionNode{},
	}
	for name, f := range functions {
		// These are what is small, or was counted when it was made.
		//exhaustive:ignore
		switch reflect.TypeOf(f).Out(0).Kind() {
		case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
			i.plain[name] = true
		}
	}
	step, check := "step"+secret, "check"+secret
	i.functions = template.FuncMap{
		i.enterName: func(n int) (string, error) { return "", m.enter(n) },
		i.exitName:  func(n int) string { m.exit(n); return "" },
		step:        func() (string, error) { return "", m.step(1) },
		// Not of the type any: what has an address is printed by methods that what has
		// none is not.
		check: func(v reflect.Value) (reflect.Value, error) { return v, m.printed(v) },
	}
	for name, f := range i.functions {
		functions[name] = f
	}
	var err error
	if i.steps, err = i.action("{{" + step + "}}"); err != nil {
		return nil, err
	}
	piped, err := i.action("{{. | " + check + "}}")
	if err != nil {
		return nil, err
	}
	i.checks = piped.Pipe.Cmds[1]
	return i, nil
}

// printed counts a value that is about to be printed.
func (m *meter) printed(v reflect.Value) error {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	// The others are small.
	//exhaustive:ignore
	switch v.Kind() {
	case reflect.String:
		return m.bytes(int64(v.Len()))
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Struct, reflect.Pointer:
		w := weighing{limit: m.limits.Value + 1}
		if w.other(v, 0); w.deep {
			return m.exceeded("rendering writes a value that is more than %d levels deep, or contains itself", deepest)
		}
		return m.bytes(w.sum)
	}
	return nil
}

// action returns the one action of a text.
func (i *instruments) action(text string) (*parse.ActionNode, error) {
	t, err := template.New("").Funcs(i.functions).Parse(text)
	if err != nil {
		return nil, err
	}
	action, ok := t.Root.Nodes[0].(*parse.ActionNode)
	if !ok {
		return nil, fmt.Errorf("%s is no action", text)
	}
	return action, nil
}

// all instruments the templates that are known to one, but for those that are
// already.
func (i *instruments) all(t *template.Template) error {
	for _, known := range t.Templates() {
		if known.Tree == nil || known.Root == nil || i.done[known.Tree] {
			continue
		}
		i.done[known.Tree] = true
		if err := i.tree(known.Root); err != nil {
			return err
		}
	}
	return nil
}

func (i *instruments) tree(root *parse.ListNode) error {
	depth := 2 + i.list(root)
	for _, part := range []struct {
		known map[int]*parse.ActionNode
		name  string
	}{{i.entering, i.enterName}, {i.leaving, i.exitName}} {
		if part.known[depth] != nil {
			continue
		}
		action, err := i.action(fmt.Sprintf("{{%s %d}}", part.name, depth))
		if err != nil {
			return err
		}
		part.known[depth] = action
	}
	nodes := append([]parse.Node{i.entering[depth]}, root.Nodes...)
	root.Nodes = append(nodes, i.leaving[depth])
	return nil
}

// list instruments a list of nodes and returns how deep it is.
func (i *instruments) list(l *parse.ListNode) int {
	if l == nil {
		return 0
	}
	deepest := 0
	for _, n := range l.Nodes {
		deepest = max(deepest, i.node(n))
	}
	return deepest
}

func (i *instruments) node(n parse.Node) int {
	switch n := n.(type) {
	case *parse.ActionNode:
		depth := depthOf(n.Pipe)
		if len(n.Pipe.Decl) == 0 && !i.isPlain(n.Pipe) {
			n.Pipe.Cmds = append(n.Pipe.Cmds, i.checks)
		}
		return depth
	case *parse.TemplateNode:
		return depthOf(n.Pipe)
	case *parse.IfNode:
		return i.branch(&n.BranchNode)
	case *parse.WithNode:
		return i.branch(&n.BranchNode)
	case *parse.RangeNode:
		depth := i.branch(&n.BranchNode)
		n.List.Nodes = append([]parse.Node{i.steps}, n.List.Nodes...)
		return depth
	}
	return 0
}

func (i *instruments) branch(b *parse.BranchNode) int {
	return 1 + max(depthOf(b.Pipe), i.list(b.List), i.list(b.ElseList))
}

// isPlain reports whether nothing large can come out of a pipe that was not
// counted.
func (i *instruments) isPlain(p *parse.PipeNode) bool {
	last := p.Cmds[len(p.Cmds)-1]
	switch first := last.Args[0].(type) {
	case *parse.IdentifierNode:
		return i.plain[first.Ident]
	case *parse.NumberNode, *parse.BoolNode, *parse.StringNode:
		return true
	}
	return false
}

// depthOf returns how deep the parentheses of a pipe are.
func depthOf(n parse.Node) int {
	deepest := 0
	switch n := n.(type) {
	case *parse.PipeNode:
		if n == nil {
			return 0
		}
		for _, command := range n.Cmds {
			for _, arg := range command.Args {
				deepest = max(deepest, 1+depthOf(arg))
			}
		}
	case *parse.ChainNode:
		deepest = 1 + depthOf(n.Node)
	}
	return deepest
}
