// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"reflect"
	"strconv"
	"strings"
)

// estimates returns, by the names of functions, an upper bound of the bytes that a call returns.
// For some functions it bounds the work instead. Arguments may be too few, but have the right
// types.
func estimates() map[string]func(args []any) int64 {
	count := func(args []any) int64 { return nodeSize * number(args, 0) }
	indent := func(args []any) int64 {
		return times(number(args, 0), 2+int64(strings.Count(text(args, 1), "\n"))) + int64(len(text(args, 1)))
	}
	replaced := func(args []any) int64 { return afterRegexp(text(args, 1), text(args, 2)) }
	return map[string]func(args []any) int64{
		"until": count,
		"untilStep": func(args []any) int64 {
			return nodeSize * ((number(args, 1)-number(args, 0))/nonzero(number(args, 2)) + 1)
		},
		"seq":    sequence,
		"repeat": func(args []any) int64 { return times(number(args, 0), int64(len(text(args, 1)))) },
		"indent": indent, "nindent": indent,
		"randAlphaNum": count, "randAlpha": count, "randAscii": count, "randNumeric": count, "randBytes": count, "randInt": nil,
		"printf": func(args []any) int64 { return widths(text(args, 0), args) },
		"replace": func(args []any) int64 {
			return times(int64(strings.Count(text(args, 2), text(args, 0))), int64(len(text(args, 1)))) + int64(len(text(args, 2)))
		},
		"join": func(args []any) int64 {
			if len(args) < 2 {
				return 0
			}
			return times(shallowSize(reflect.ValueOf(args[1]))/nodeSize, int64(len(text(args, 0))))
		},
		"regexReplaceAll": replaced, "regexReplaceAllLiteral": replaced, "RegexReplaceAll": replaced, "RegexReplaceAllLiteral": replaced,
		"regexMatch": searched, "regexFind": searched, "regexFindAll": searched, "regexSplit": searched,
		"RegexMatch": searched, "RegexFind": searched, "RegexFindAll": searched, "RegexSplit": searched,
		"splitList": func(args []any) int64 { return 2 * nodeSize * (1 + int64(strings.Count(text(args, 1), text(args, 0)))) },
		"split":     func(args []any) int64 { return 8 * nodeSize * (1 + int64(strings.Count(text(args, 1), text(args, 0)))) },
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

// number returns an argument that is a count of bytes or entries, 0 if it is not a number.
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
		// The functions accept prefixes of a base, such as 0x and 0.
		if n, err := strconv.ParseInt(v.String(), 0, 64); err == nil {
			return clamp(n)
		}
	}
	return 0
}

// clamp limits a number so that products of a few of them do not overflow.
func clamp(n int64) int64 { return min(max(n, -1<<40), 1<<40) }

// times returns the product of two numbers, at most 1<<40.
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

// sequence estimates seq, which has one to three arguments.
func sequence(args []any) int64 {
	first, step, last := int64(1), int64(1), number(args, 0)
	switch len(args) {
	case 2:
		first, last = number(args, 0), number(args, 1)
	case 3:
		first, step, last = number(args, 0), number(args, 1), number(args, 2)
	}
	n := (last - first) / nonzero(step)
	return 20 * nodeSize * (1 + max(n, -n))
}

// widths estimates the result of a format with small values by the widths in it.
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

// afterRegexp estimates the result of replacing all matches in a text.
func afterRegexp(in, by string) int64 {
	matches := int64(len(in)) + 1
	return times(matches, int64(len(by))) + times(int64(strings.Count(by, "$")), int64(len(in))) + int64(len(in))
}

// searched estimates the work of a search, which grows with the length of the expression.
func searched(args []any) int64 {
	return int64(len(text(args, 1))) + times(int64(len(text(args, 1))), int64(len(text(args, 0))))>>6
}

// square estimates the work of comparing each entry of a list with each other.
func square(args []any) int64 {
	n := int64(0)
	for _, arg := range args {
		n += shallowSize(reflect.ValueOf(arg)) / nodeSize
	}
	return times(n, n)
}

// pretty estimates the size of an indented text.
func pretty(args []any) int64 {
	w := sizer{limit: 1 << 40}
	for _, arg := range args {
		w.indented(arg, 0)
	}
	return w.sum
}

func (w *sizer) indented(v any, depth int) {
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
