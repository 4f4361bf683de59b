// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package list

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pintle-dev/pintle/internal/view"
)

const (
	// maxParameter is the maximum length of a parameter.
	maxParameter = 500
	// maxName is the maximum length of an unknown name in a message.
	maxName = 40
	maxPage = 100_000
)

// fields are the functions that set the fields of a query, by parameter. A function returns what is
// wrong with its value, empty if nothing is.
type fields map[string]func(value string) (wrong string)

// parse sets the fields from the parameters of an address, and returns what is wrong with them. Empty
// parameters count as absent.
func parse(parameters map[string][]string, fields fields) (wrong []string) {
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		set, known := fields[key]
		switch values := parameters[key]; {
		case !known:
			wrong = append(wrong, fmt.Sprintf("parameter %q: unknown; known are %s", view.Shorten(key, maxName), strings.Join(slices.Sorted(maps.Keys(fields)), ", ")))
		case len(values) != 1:
			wrong = append(wrong, fmt.Sprintf("parameter %q: given %d times instead of once", key, len(values)))
		case len(values[0]) > maxParameter || !utf8.ValidString(values[0]):
			wrong = append(wrong, fmt.Sprintf("parameter %q: longer than %d bytes, or not UTF-8", key, maxParameter))
		case values[0] != "":
			if why := set(values[0]); why != "" {
				wrong = append(wrong, fmt.Sprintf("parameter %q: %s", key, why))
			}
		}
	}
	return wrong
}

// setText sets a field to any text.
func setText(field *string) func(string) string {
	return func(value string) string { *field = value; return "" }
}

// setNamespace sets a field to the name of a namespace.
func setNamespace(field *string) func(string) string {
	return func(value string) string {
		*field = value
		return strings.Join(validation.IsDNS1123Label(value), "; ")
	}
}

// setOneOf sets a field to one of the known values.
func setOneOf(field *string, known []string) func(string) string {
	return func(value string) string {
		if !slices.Contains(known, value) {
			return fmt.Sprintf("%q is none of %s", value, strings.Join(known, ", "))
		}
		*field = value
		return ""
	}
}

// setPage sets a field to the number of a page.
func setPage(field *int) func(string) string {
	return func(value string) string {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxPage {
			return fmt.Sprintf("%q is not a number from 1 to %d", value, maxPage)
		}
		*field = n
		return ""
	}
}
