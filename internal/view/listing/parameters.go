// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// maxParameter is the maximum length of a parameter.
	maxParameter = 500
	// maxName is the maximum length of an unknown name in a message.
	maxName = 40
	maxPage = 100_000
)

// PageKey is the name of the parameter with the number of a page.
const PageKey = "page"

// Fields are the functions that set the fields of a query, by parameter. A function returns what is
// wrong with its value, empty if nothing is.
type Fields map[string]func(value string) (wrong string)

// Parse sets the fields from the parameters of an address, and returns what is wrong with them. Empty
// parameters count as absent.
func Parse(parameters map[string][]string, fields Fields) (wrong []string) {
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		set, known := fields[key]
		switch values := parameters[key]; {
		case !known:
			wrong = append(wrong, fmt.Sprintf("parameter %q: unknown; known are %s", Shorten(key, maxName), strings.Join(slices.Sorted(maps.Keys(fields)), ", ")))
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

// Parameters returns the parameters of an address with values and the number of a page. It leaves out
// empty values and the first page.
func Parameters(values map[string]string, page int) map[string][]string {
	parameters := map[string][]string{}
	for key, value := range values {
		if value != "" {
			parameters[key] = []string{value}
		}
	}
	if page > 1 {
		parameters[PageKey] = []string{strconv.Itoa(page)}
	}
	return parameters
}

// SetText sets a field to any text.
func SetText(field *string) func(string) string {
	return func(value string) string { *field = value; return "" }
}

// SetNamespace sets a field to the name of a namespace.
func SetNamespace(field *string) func(string) string {
	return func(value string) string {
		*field = value
		return strings.Join(validation.IsDNS1123Label(value), "; ")
	}
}

// SetOneOf sets a field to one of the known values.
func SetOneOf[T ~string](field *T, known []T) func(string) string {
	return func(value string) string {
		if !slices.Contains(known, T(value)) {
			return fmt.Sprintf("%q is none of %s", value, join(known))
		}
		*field = T(value)
		return ""
	}
}

// SetPage sets a field to the number of a page.
func SetPage(field *int) func(string) string {
	return func(value string) string {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxPage {
			return fmt.Sprintf("%q is not a number from 1 to %d", value, maxPage)
		}
		*field = n
		return ""
	}
}

func join[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, t := range all {
		texts[i] = string(t)
	}
	return strings.Join(texts, ", ")
}
