// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

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

// costLimit is the limit of the API server for one expression. Without it, nested loops over long
// lists could occupy a worker for hours.
const costLimit = 1_000_000

// Expression is a compiled CEL expression that yields a bool. It is safe for concurrent use.
type Expression struct {
	text    string
	program cel.Program
}

// Parse compiles an expression whose variables are the top-level fields of an object. These fields
// are unknown before there is an object, so names and types are checked at evaluation only.
func Parse(text string) (*Expression, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Parse(text)
	if err := issues.Err(); err != nil {
		return nil, expressionError(text, err)
	}
	return program(env, text, ast)
}

// Compile compiles an expression over the named variables, each of which is an object. An
// expression with other variables is an error, and so is one whose static type is not bool.
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
		return nil, expressionError(text, err)
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("expression '%s' yields %s, not bool", text, t)
	}
	return program(env, text, ast)
}

// Bool evaluates the expression with vars, whose values have the form of decoded JSON. A field that
// does not exist is an error, and so is a result that is not a bool.
func (e *Expression) Bool(vars map[string]any) (bool, error) {
	value, _, err := e.program.Eval(vars)
	if err != nil {
		return false, expressionError(e.text, err)
	}
	truth, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("expression '%s' yields %s, not bool", e.text, value.Type().TypeName())
	}
	return bool(truth), nil
}

// expressionError wraps an error with the expression. A long expression is cut in both: the parser
// quotes it too.
func expressionError(text string, err error) error {
	const long, shown = 1000, 100
	if len(text) <= long {
		return fmt.Errorf("expression '%s': %w", text, err)
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("expression '%s...': %.300s", strings.ToValidUTF8(text[:shown], ""), first)
}

// environment returns the CEL environment of helm-controller, with options.
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
	p, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostTracking(lengthCost{}), cel.CostLimit(costLimit))
	if err != nil {
		return nil, expressionError(text, err)
	}
	return &Expression{text: text, program: p}, nil
}

// lengthCost adds the length of results to the cost. By default, functions such as replace cost
// one, whatever the length of their result: a chain of ten calls could allocate ten gigabytes.
type lengthCost struct{}

// CallCost implements interpreter.ActualCostEstimator. Ten characters or entries cost one.
func (lengthCost) CallCost(_, _ string, _ []ref.Val, result ref.Val) *uint64 {
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
