// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package cel evaluates the expressions that users write in a
// HelmRelease, in CEL: what makes an object healthy, what makes a dependency
// ready. It reads no objects itself: it is given them.
package cel

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
)

// costLimit ends an evaluation that nobody who means well needs: nested loops over
// long lists would keep a worker busy for hours. It is what the API
// server allows an expression.
const costLimit = 1_000_000

// Expression is a condition in CEL. It may be used concurrently.
type Expression struct {
	text    string
	program cel.Program
}

// Parse reads an expression about the top-level fields of an object. Which those
// are nobody knows before there is one, so that types are not checked: a wrong
// name is found when the expression is evaluated.
func Parse(text string) (*Expression, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Parse(text)
	if err := issues.Err(); err != nil {
		return nil, refused(text, err)
	}
	return program(env, text, ast)
}

// Compile reads an expression about the named variables, each of which is an
// object, and checks that it has no others and yields true or false. An
// expression of which only the evaluation could tell is refused.
func Compile(text string, variables ...string) (*Expression, error) {
	var declared []cel.EnvOption
	for _, v := range variables {
		declared = append(declared, cel.Variable(v, cel.MapType(cel.StringType, cel.DynType)))
	}
	env, err := environment(declared...)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, refused(text, err)
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("expression '%s' yields %s, not bool", text, t)
	}
	return program(env, text, ast)
}

// refused says what is wrong with an expression, without most of it if it is long:
// the parser quotes it once more.
func refused(text string, err error) error {
	const long, shown = 1000, 100
	if len(text) <= long {
		return fmt.Errorf("expression '%s': %w", text, err)
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("expression '%s...': %.300s", strings.ToValidUTF8(text[:shown], ""), first)
}

// environment is the language: what users of the reference can write.
func environment(options ...cel.EnvOption) (*cel.Env, error) {
	return cel.NewEnv(append([]cel.EnvOption{
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		ext.Strings(),
		ext.Sets(),
		ext.Encoders(),
	}, options...)...)
}

func program(env *cel.Env, text string, ast *cel.Ast) (*Expression, error) {
	p, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostTracking(lengths{}), cel.CostLimit(costLimit))
	if err != nil {
		return nil, refused(text, err)
	}
	return &Expression{text: text, program: p}, nil
}

// lengths make texts and lists cost what they are long: functions that make them of
// others, like replace, cost one otherwise, and a chain of ten of them makes ten
// gigabytes.
type lengths struct{}

// CallCost implements interpreter.ActualCostEstimator. A tenth of a character costs
// one.
func (lengths) CallCost(_, _ string, _ []ref.Val, result ref.Val) *uint64 {
	const charactersPerCost = 10
	sized, ok := result.(traits.Sizer)
	if !ok {
		return nil
	}
	n, ok := sized.Size().(types.Int)
	if !ok || n < charactersPerCost {
		return nil
	}
	cost := 1 + uint64(n)/charactersPerCost
	return &cost
}

// Bool evaluates the expression with vars, whose values are as JSON has them. It
// is an error if something is missing that the expression takes for granted, or
// if it yields anything but true or false.
func (e *Expression) Bool(vars map[string]any) (bool, error) {
	value, _, err := e.program.Eval(vars)
	if err != nil {
		return false, refused(e.text, err)
	}
	truth, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("expression '%s' yields %s, not bool", e.text, value.Type().TypeName())
	}
	return bool(truth), nil
}
