// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestInvalidFields: the reason has no value, which may be secret, whatever the kind of the error.
func TestInvalidFields(t *testing.T) {
	t.Parallel()
	at := field.NewPath("spec", "a")
	for want, err := range map[string]*field.Error{
		"spec.a: field is immutable":                                         field.Invalid(at, "hunter22: x", "field is immutable"),
		"spec.a: the value is invalid":                                       field.Invalid(at, "hunter22: x", ""),
		"spec.a: must be 1: or 2":                                            field.Invalid(at, "hunter22: x", "must be 1: or 2"),
		"spec.a: must be small":                                              field.Invalid(at, 70000, "must be small"),
		"spec.a: immutable when set":                                         field.Forbidden(at, "immutable when set"),
		"spec.a: the value is there twice":                                   field.Duplicate(at, "hunter22"),
		"spec.a: the value is not found":                                     field.NotFound(at, "hunter22"),
		`spec.a: the value is not supported; supported values: "one", "two"`: field.NotSupported(at, "hunter22", []string{"one", "two"}),
		"spec.a: Required value: name it":                                    field.Required(at, "name it"),
	} {
		got := invalidFields([]metav1.StatusCause{{Type: metav1.CauseType(err.Type), Message: err.ErrorBody(), Field: err.Field}})
		if got != want || strings.Contains(got, "hunter22") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
