// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"

	"github.com/pintle-dev/pintle/internal/bounded"
)

// costLimit is the limit of the API server for one expression. Without it, nested loops over long
// lists could occupy a worker for hours.
const costLimit = 1_000_000

// Expression is a compiled CEL expression that yields a bool. It is safe for concurrent use.
type Expression struct {
	text    string
	program cel.Program
}

// The limits of the texts of one HelmRelease. The parser takes about three milliseconds and 500 KiB
// for a kilobyte.
const (
	maxExpression  = 16 << 10
	maxExpressions = 128 << 10
)

// Compiler compiles expressions. Their texts and regular expressions have a common limit. The zero
// value is ready for use. It is not safe for concurrent use.
type Compiler struct {
	bytes    int
	patterns bounded.Patterns
}

// Parse compiles an expression whose variables are the top-level fields of an object. These fields
// are unknown before there is an object, so names and types are checked at evaluation only.
func (c *Compiler) Parse(text string) (*Expression, error) {
	if err := c.use(text); err != nil {
		return nil, err
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Parse(text)
	if err := issues.Err(); err != nil {
		return nil, expressionError(text, err)
	}
	return c.program(env, text, ast)
}

// Compile compiles an expression over the named variables, each of which is an object. An
// expression with other variables is an error, and so is one whose static type is not bool.
func (c *Compiler) Compile(text string, variables ...string) (*Expression, error) {
	if err := c.use(text); err != nil {
		return nil, err
	}
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
	return c.program(env, text, ast)
}

// use adds a text.
func (c *Compiler) use(text string) error {
	if len(text) > maxExpression {
		return expressionError(text, bounded.Exceeded("it has %d bytes, more than %d", len(text), maxExpression))
	}
	if c.bytes += len(text); c.bytes > maxExpressions {
		return expressionError(text, bounded.Exceeded("all expressions together have more than %d bytes", maxExpressions))
	}
	return nil
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

func (c *Compiler) program(env *cel.Env, text string, ast *cel.Ast) (*Expression, error) {
	p, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CustomDecoratorV2(c.limitPatterns),
		cel.CostTracking(lengthCost{}), cel.CostLimit(costLimit))
	if err != nil {
		return nil, expressionError(text, err)
	}
	return &Expression{text: text, program: p}, nil
}

// limitPatterns rejects a constant regular expression that exceeds a limit before cel compiles it.
// Other regular expressions are limited when they are evaluated.
func (c *Compiler) limitPatterns(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || call.Function() != overloads.Matches || len(call.Args()) != 2 {
		return i, nil
	}
	constant, ok := call.Args()[1].(interpreter.InterpretableConst)
	if !ok {
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), matches), nil
	}
	if pattern, ok := constant.Value().(types.String); ok {
		return i, c.patterns.Check(string(pattern))
	}
	return i, nil
}

// matches is the function of cel, with a limited regular expression.
func matches(args ...ref.Val) ref.Val {
	text, isText := args[0].(types.String)
	pattern, isPattern := args[1].(types.String)
	if !isText || !isPattern {
		return types.NoSuchOverloadErr()
	}
	if _, err := bounded.PatternCost(string(pattern)); err != nil {
		return types.WrapErr(err)
	}
	return text.Match(pattern)
}

// lengthCost adds the length of results to the cost. By default, functions such as replace cost
// one, whatever the length of their result: a chain of ten calls could allocate ten gigabytes.
type lengthCost struct{}

// CallCost implements interpreter.ActualCostEstimator. Ten characters or entries cost one. A regular
// expression costs as much as it takes to compile and run it.
func (lengthCost) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	if function == overloads.Matches && len(args) == 2 {
		return matchCost(args[0], args[1])
	}
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

// matchCost is the cost of cel for a match, plus the cost of compiling a long pattern.
func matchCost(text, pattern ref.Val) *uint64 {
	in, isText := text.(types.String)
	expression, isPattern := pattern.(types.String)
	if !isText || !isPattern {
		return nil
	}
	const charactersPerCost, patternPerCost = 10, 4
	compiled, err := bounded.PatternCost(string(expression))
	if err != nil {
		compiled = 1
	}
	cost := uint64(1+len(in)/charactersPerCost)*uint64(1+len(expression)/patternPerCost) + uint64(compiled)
	return &cost
}
