// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"reflect"
	"strings"
)

// limited returns a function like f whose arguments and results count toward the quota. The size of
// a result that may be far larger than the arguments is estimated before the call.
func (q *quota) limited(name string, f any, estimate func(args []any) int64) any {
	if isShallow(name) {
		return f
	}
	before := q.before(name, estimate)
	// The most frequent types need no reflection.
	if direct := q.limitTexts(f, before); direct != nil {
		return direct
	}
	if direct := q.limitValues(f, before); direct != nil {
		return direct
	}
	return q.limitAny(reflect.ValueOf(f), before)
}

// limitTexts limits functions of strings and numbers. It returns nil for other types.
func (q *quota) limitTexts(f any, before func(...any) error) any {
	switch f := f.(type) {
	case func(string) string:
		return func(a string) (string, error) {
			if err := before(a); err != nil {
				return "", err
			}
			return q.text(f(a))
		}
	case func(string, string) string:
		return func(a, b string) (string, error) {
			if err := before(a, b); err != nil {
				return "", err
			}
			return q.text(f(a, b))
		}
	case func(string, string, string) string:
		return func(a, b, c string) (string, error) {
			if err := before(a, b, c); err != nil {
				return "", err
			}
			return q.text(f(a, b, c))
		}
	case func(int, string) string:
		return func(n int, a string) (string, error) {
			if err := before(n, a); err != nil {
				return "", err
			}
			return q.text(f(n, a))
		}
	}
	return nil
}

// limitValues limits functions from values to strings. It returns nil for other types.
func (q *quota) limitValues(f any, before func(...any) error) any {
	switch f := f.(type) {
	case func(any) string:
		return func(v any) (string, error) {
			if err := before(v); err != nil {
				return "", err
			}
			return q.text(f(v))
		}
	case func(...any) string:
		return func(all ...any) (string, error) {
			if err := before(all...); err != nil {
				return "", err
			}
			return q.text(f(all...))
		}
	case func(string, ...any) string:
		return func(a string, all ...any) (string, error) {
			if err := before(append([]any{a}, all...)...); err != nil {
				return "", err
			}
			return q.text(f(a, all...))
		}
	}
	return nil
}

func (q *quota) text(s string) (string, error) { return s, q.useBytes(int64(len(s))) }

// limitAny limits a function of any type. The result has an error in addition, unless f has one.
func (q *quota) limitAny(f reflect.Value, before func(...any) error) any {
	was := f.Type()
	in, out := make([]reflect.Type, was.NumIn()), []reflect.Type{was.Out(0), reflect.TypeFor[error]()}
	for i := range in {
		in[i] = was.In(i)
	}
	failed := func(err error) []reflect.Value {
		return []reflect.Value{reflect.Zero(out[0]), reflect.ValueOf(&err).Elem()}
	}
	return reflect.MakeFunc(reflect.FuncOf(in, out, was.IsVariadic()), func(args []reflect.Value) []reflect.Value {
		given := make([]any, 0, len(args))
		for i, arg := range args {
			if was.IsVariadic() && i == len(args)-1 {
				for j := range arg.Len() {
					given = append(given, arg.Index(j).Interface())
				}
				continue
			}
			given = append(given, arg.Interface())
		}
		if err := before(given...); err != nil {
			return failed(err)
		}
		var results []reflect.Value
		if was.IsVariadic() {
			results = f.CallSlice(args)
		} else {
			results = f.Call(args)
		}
		if err := q.useBytes(shallowSize(results[0])); err != nil {
			return failed(err)
		}
		if len(results) == 1 {
			results = append(results, reflect.Zero(out[1]))
		}
		return results
	}).Interface()
}

// isShallow reports whether a function reads little of its arguments, and returns little.
func isShallow(name string) bool {
	switch name {
	case "default", "empty", "coalesce", "all", "any", "ternary", "get", "hasKey", "first", "last", "mustFirst", "mustLast",
		"kindOf", "kindIs", "typeOf", "typeIs", "typeIsLike", "now", "uuidv4", "hello", "fail", "required",
		"add", "add1", "sub", "div", "mod", "mul", "int", "int64", "float64", "max", "min", "biggest", "floor", "ceil":
		return true
	}
	return false
}

// isShared reports whether a function copies references to values, but not their content.
func isShared(name string) bool {
	switch strings.TrimPrefix(name, "must") {
	case "dict", "list", "tuple", "set", "unset", "keys", "values", "pick", "omit", "pluck", "dig", "rest", "initial",
		"append", "prepend", "push", "concat", "slice", "chunk", "reverse", "compact",
		"Rest", "Initial", "Append", "Prepend", "Push", "Slice", "Chunk", "Reverse", "Compact":
		return true
	}
	return false
}

// before returns a function that counts the arguments of a call, and the estimate of its result. An
// error means that the call must not be made.
func (q *quota) before(name string, estimate func(args []any) int64) func(args ...any) error {
	shared, cost := isShared(name), costOf(name)
	return func(args ...any) error {
		var sum int64
		for _, arg := range args {
			if shared {
				sum += shallowSize(reflect.ValueOf(arg))
				continue
			}
			n, err := q.sizeOf(arg)
			if err != nil {
				return err
			}
			sum += n
		}
		if estimate != nil {
			if n := estimate(args); n > sum {
				sum = n
			}
		}
		if err := q.useSteps(cost); err != nil {
			return err
		}
		return q.useBytes(sum)
	}
}

// costOf returns the steps of a call of a slow function, 0 for others.
func costOf(name string) int64 {
	switch name {
	case "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey":
		return 100_000
	case "genPrivateKey":
		return 500_000
	case "bcrypt", "htpasswd", "derivePassword":
		return 20_000
	}
	return 0
}
