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

// counter changes parsed templates so that they count toward the quota. Their output does not
// change. The functions that they call for that have random names, which a chart cannot know.
type counter struct {
	quota *quota
	// steps is the action {{ step }}, checks the command | check.
	steps  *parse.ActionNode
	checks *parse.CommandNode
	// plain holds the functions whose results are printed without a check.
	plain               map[string]bool
	enterName, exitName string
	functions           template.FuncMap
	done                map[*parse.Tree]bool
	entering, leaving   map[int]*parse.ActionNode
}

// newCounter returns a counter, and adds the functions that changed templates call to functions.
func newCounter(q *quota, functions template.FuncMap) (*counter, error) {
	secret := rand.Text()
	i := &counter{
		quota: q, plain: map[string]bool{}, enterName: "enter" + secret, exitName: "exit" + secret, done: map[*parse.Tree]bool{},
		entering: map[int]*parse.ActionNode{}, leaving: map[int]*parse.ActionNode{},
	}
	for name, f := range functions {
		// Such results are small, or were counted when they were returned.
		//exhaustive:ignore
		switch reflect.TypeOf(f).Out(0).Kind() {
		case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
			i.plain[name] = true
		}
	}
	step, check := "step"+secret, "check"+secret
	i.functions = template.FuncMap{
		i.enterName: func(n int) (string, error) { return "", q.enter(n) },
		i.exitName:  func(n int) string { q.exit(n); return "" },
		step:        func() (string, error) { return "", q.useSteps(1) },
		// With a parameter of type any, methods with pointer receivers would not be printed as
		// they are without the check.
		check: func(v reflect.Value) (reflect.Value, error) { return v, q.printed(v) },
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

// printed counts the size of a value that will be printed.
func (q *quota) printed(v reflect.Value) error {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	// Values of other kinds are small.
	//exhaustive:ignore
	switch v.Kind() {
	case reflect.String:
		return q.useBytes(int64(v.Len()))
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Struct, reflect.Pointer:
		w := sizer{limit: q.limits.Value + 1}
		if w.other(v, 0); w.deep {
			return q.exceeded("rendering writes a value that is more than %d levels deep, or contains itself", maxValueDepth)
		}
		return q.useBytes(w.sum)
	}
	return nil
}

// action returns the only action of a text.
func (i *counter) action(text string) (*parse.ActionNode, error) {
	t, err := template.New("").Funcs(i.functions).Parse(text)
	if err != nil {
		return nil, err
	}
	action, ok := t.Root.Nodes[0].(*parse.ActionNode)
	if !ok {
		return nil, fmt.Errorf("%s is not an action", text)
	}
	return action, nil
}

// all changes the templates that are associated with t, except those that it has changed before.
func (i *counter) all(t *template.Template) error {
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

// tree adds the depth of a template to the quota for the time of its execution.
func (i *counter) tree(root *parse.ListNode) error {
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

// list changes a list of nodes and returns its depth.
func (i *counter) list(l *parse.ListNode) int {
	if l == nil {
		return 0
	}
	deepest := 0
	for _, n := range l.Nodes {
		deepest = max(deepest, i.node(n))
	}
	return deepest
}

func (i *counter) node(n parse.Node) int {
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

func (i *counter) branch(b *parse.BranchNode) int {
	return 1 + max(depthOf(b.Pipe), i.list(b.List), i.list(b.ElseList))
}

// isPlain reports whether the result of a pipe is small or already counted.
func (i *counter) isPlain(p *parse.PipeNode) bool {
	last := p.Cmds[len(p.Cmds)-1]
	switch first := last.Args[0].(type) {
	case *parse.IdentifierNode:
		return i.plain[first.Ident]
	case *parse.NumberNode, *parse.BoolNode, *parse.StringNode:
		return true
	}
	return false
}

// depthOf returns the nesting depth of parentheses in a pipe.
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
