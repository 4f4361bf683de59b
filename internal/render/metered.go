// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"reflect"
	"strconv"
	"strings"
)

// metered returns a function like f that counts what it takes and returns. What
// could return far more than it takes is estimated before it is called.
func (m *meter) metered(name string, f any, estimate func(args []any) int64) any {
	if isShallow(name) {
		return f
	}
	before := m.before(name, estimate)
	// Those that are called most, without reflection.
	if direct := m.ofTexts(f, before); direct != nil {
		return direct
	}
	if direct := m.ofValues(f, before); direct != nil {
		return direct
	}
	return m.reflected(reflect.ValueOf(f), before)
}

// ofTexts meters functions of texts and numbers; nil if f is none.
func (m *meter) ofTexts(f any, before func(...any) error) any {
	switch f := f.(type) {
	case func(string) string:
		return func(a string) (string, error) {
			if err := before(a); err != nil {
				return "", err
			}
			return m.text(f(a))
		}
	case func(string, string) string:
		return func(a, b string) (string, error) {
			if err := before(a, b); err != nil {
				return "", err
			}
			return m.text(f(a, b))
		}
	case func(string, string, string) string:
		return func(a, b, c string) (string, error) {
			if err := before(a, b, c); err != nil {
				return "", err
			}
			return m.text(f(a, b, c))
		}
	case func(int, string) string:
		return func(n int, a string) (string, error) {
			if err := before(n, a); err != nil {
				return "", err
			}
			return m.text(f(n, a))
		}
	}
	return nil
}

// ofValues meters functions that write values; nil if f is none.
func (m *meter) ofValues(f any, before func(...any) error) any {
	switch f := f.(type) {
	case func(any) string:
		return func(v any) (string, error) {
			if err := before(v); err != nil {
				return "", err
			}
			return m.text(f(v))
		}
	case func(...any) string:
		return func(all ...any) (string, error) {
			if err := before(all...); err != nil {
				return "", err
			}
			return m.text(f(all...))
		}
	case func(string, ...any) string:
		return func(a string, all ...any) (string, error) {
			if err := before(append([]any{a}, all...)...); err != nil {
				return "", err
			}
			return m.text(f(a, all...))
		}
	}
	return nil
}

func (m *meter) text(s string) (string, error) { return s, m.bytes(int64(len(s))) }

// reflected meters a function of any type. It returns an error in addition, or its
// own.
func (m *meter) reflected(f reflect.Value, before func(...any) error) any {
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
		if err := m.bytes(sizeOf(results[0])); err != nil {
			return failed(err)
		}
		if len(results) == 1 {
			results = append(results, reflect.Zero(out[1]))
		}
		return results
	}).Interface()
}

// sizeOf returns what a result takes that shares what it holds.
func sizeOf(v reflect.Value) int64 {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return node
	}
	// The others are small.
	//exhaustive:ignore
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Slice, reflect.Map:
		return node * int64(v.Len())
	}
	return node
}

// isShallow reports whether a function does not look into the values that it is
// given, and returns next to nothing.
func isShallow(name string) bool {
	switch name {
	case "default", "empty", "coalesce", "all", "any", "ternary", "get", "hasKey", "first", "last", "mustFirst", "mustLast",
		"kindOf", "kindIs", "typeOf", "typeIs", "typeIsLike", "now", "uuidv4", "hello", "fail", "required",
		"add", "add1", "sub", "div", "mod", "mul", "int", "int64", "float64", "max", "min", "biggest", "floor", "ceil":
		return true
	}
	return false
}

// isShared reports whether a function passes values on without a look into them.
func isShared(name string) bool {
	switch strings.TrimPrefix(name, "must") {
	case "dict", "list", "tuple", "set", "unset", "keys", "values", "pick", "omit", "pluck", "dig", "rest", "initial",
		"append", "prepend", "push", "concat", "slice", "chunk", "reverse", "compact",
		"Rest", "Initial", "Append", "Prepend", "Push", "Slice", "Chunk", "Reverse", "Compact":
		return true
	}
	return false
}

// before returns what is to be asked before a function is called: whether there is
// room for what it is given and for what it may return.
func (m *meter) before(name string, estimate func(args []any) int64) func(args ...any) error {
	shared, cost := isShared(name), costOf(name)
	return func(args ...any) error {
		var sum int64
		for _, arg := range args {
			if shared {
				sum += sizeOf(reflect.ValueOf(arg))
				continue
			}
			n, err := m.weigh(arg)
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
		if err := m.step(cost); err != nil {
			return err
		}
		return m.bytes(sum)
	}
}

// costOf returns the steps of a function, for those that compute for long.
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

// estimates are at least the bytes that functions return, or the steps they take,
// by the names of the functions. They are asked for arguments of the right types,
// or for too few of them.
func estimates() map[string]func(args []any) int64 {
	count := func(args []any) int64 { return node * number(args, 0) }
	indent := func(args []any) int64 {
		return times(number(args, 0), 2+int64(strings.Count(text(args, 1), "\n"))) + int64(len(text(args, 1)))
	}
	replaced := func(args []any) int64 { return afterRegexp(text(args, 1), text(args, 2)) }
	return map[string]func(args []any) int64{
		"until":     count,
		"untilStep": func(args []any) int64 { return node * ((number(args, 1)-number(args, 0))/nonzero(number(args, 2)) + 1) },
		"seq":       sequence,
		"repeat":    func(args []any) int64 { return times(number(args, 0), int64(len(text(args, 1)))) },
		"indent":    indent, "nindent": indent,
		"randAlphaNum": count, "randAlpha": count, "randAscii": count, "randNumeric": count, "randBytes": count, "randInt": nil,
		"printf": func(args []any) int64 { return widths(text(args, 0), args) },
		"replace": func(args []any) int64 {
			return times(int64(strings.Count(text(args, 2), text(args, 0))), int64(len(text(args, 1)))) + int64(len(text(args, 2)))
		},
		"join": func(args []any) int64 {
			if len(args) < 2 {
				return 0
			}
			return times(sizeOf(reflect.ValueOf(args[1]))/node, int64(len(text(args, 0))))
		},
		"regexReplaceAll": replaced, "regexReplaceAllLiteral": replaced, "RegexReplaceAll": replaced, "RegexReplaceAllLiteral": replaced,
		"regexMatch": searched, "regexFind": searched, "regexFindAll": searched, "regexSplit": searched,
		"RegexMatch": searched, "RegexFind": searched, "RegexFindAll": searched, "RegexSplit": searched,
		"splitList": func(args []any) int64 { return 2 * node * (1 + int64(strings.Count(text(args, 1), text(args, 0)))) },
		"split":     func(args []any) int64 { return 8 * node * (1 + int64(strings.Count(text(args, 1), text(args, 0)))) },
		"wrapWith":  func(args []any) int64 { return times(int64(len(text(args, 2))), 1+int64(len(text(args, 1)))) },
		"uniq":      square, "Uniq": square,
		"without": square, "Without": square,
		"toPrettyJson": pretty, "ToPrettyJson": pretty, "toYaml": pretty, "toYamlPretty": pretty,
		"randInts": nil,
	}
}

func text(args []any, i int) string {
	if i >= len(args) {
		return ""
	}
	s, _ := args[i].(string)
	return s
}

// number returns a number that is to be used as one of bytes or entries.
func number(args []any, i int) int64 {
	if i >= len(args) {
		return 0
	}
	v := reflect.ValueOf(args[i])
	switch {
	case !v.IsValid():
	case v.CanInt():
		return clamp(v.Int())
	case v.CanUint():
		return clamp(int64(min(v.Uint(), 1<<40)))
	case v.CanFloat():
		return clamp(int64(min(max(v.Float(), -1<<40), 1<<40)))
	case v.Kind() == reflect.String:
		// As functions read numbers: 0x and 0 in front mean something.
		if n, err := strconv.ParseInt(v.String(), 0, 64); err == nil {
			return clamp(n)
		}
	}
	return 0
}

// clamp keeps numbers in a range in which some of them can be multiplied.
func clamp(n int64) int64 { return min(max(n, -1<<40), 1<<40) }

func times(a, b int64) int64 {
	a, b = clamp(max(a, 0)), clamp(max(b, 0))
	if a > 0 && b > (1<<40)/a {
		return 1 << 40
	}
	return a * b
}

func nonzero(n int64) int64 {
	if n == 0 {
		return 1
	}
	return n
}

// sequence estimates seq, which takes one to three numbers.
func sequence(args []any) int64 {
	first, step, last := int64(1), int64(1), number(args, 0)
	switch len(args) {
	case 2:
		first, last = number(args, 0), number(args, 1)
	case 3:
		first, step, last = number(args, 0), number(args, 1), number(args, 2)
	}
	n := (last - first) / nonzero(step)
	return 20 * node * (1 + max(n, -n))
}

// widths estimates what a format makes of small values.
func widths(format string, args []any) int64 {
	var sum, n int64
	for _, r := range format {
		if r < '0' || r > '9' {
			sum, n = sum+n, 0
			continue
		}
		n = clamp(10*n + int64(r-'0'))
	}
	sum += n
	if strings.Contains(format, "*") {
		for i := range args {
			sum += max(number(args, i), -number(args, i))
		}
	}
	return sum
}

// afterRegexp estimates a text after everything in it was replaced.
func afterRegexp(in, by string) int64 {
	matches := int64(len(in)) + 1
	return times(matches, int64(len(by))) + times(int64(strings.Count(by, "$")), int64(len(in))) + int64(len(in))
}

// searched estimates what a search takes, which a long expression makes slow.
func searched(args []any) int64 {
	return int64(len(text(args, 1))) + times(int64(len(text(args, 1))), int64(len(text(args, 0))))>>6
}

// square estimates what compares each of a list with each.
func square(args []any) int64 {
	n := int64(0)
	for _, arg := range args {
		n += sizeOf(reflect.ValueOf(arg)) / node
	}
	return times(n, n)
}

// pretty estimates what is written with blanks in front of every line.
func pretty(args []any) int64 {
	w := weighing{limit: 1 << 40}
	for _, arg := range args {
		w.indented(arg, 0)
	}
	return w.sum
}

func (w *weighing) indented(v any, depth int) {
	if w.full(depth) {
		return
	}
	w.sum += 2 * int64(depth)
	switch v := v.(type) {
	case string:
		w.sum += times(int64(strings.Count(v, "\n")), 2*int64(depth)) + int64(len(v))
	case map[string]any:
		for key, inner := range v {
			w.sum += int64(len(key))
			w.indented(inner, depth+1)
		}
	case []any:
		for _, inner := range v {
			w.indented(inner, depth+1)
		}
	}
}
