// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/cli-runtime/pkg/resource"
)

// TestDescribeError: an error about a Secret has the names of its fields, and not the values that the
// API server quotes.
func TestDescribeError(t *testing.T) {
	t.Parallel()
	err := apierrors.NewInvalid(apischema.GroupKind{Kind: "Secret"}, "s", field.ErrorList{field.Invalid(field.NewPath("data", "key"), "canary", "is canary")})
	for kind, want := range map[string]string{"Secret": "the API server refuses the Secret: Invalid data.key", "ConfigMap": err.Error()} {
		info := &resource.Info{Mapping: &meta.RESTMapping{GroupVersionKind: apischema.GroupVersionKind{Version: "v1", Kind: kind}}}
		if got := describeError(info, err); got != want {
			t.Errorf("%s: %s", kind, got)
		}
		if got := describeError(info, errors.New("no answer")); got != "no answer" {
			t.Errorf("%s: %s", kind, got)
		}
	}
	if !strings.Contains(err.Error(), "canary") {
		t.Error("the API server quotes no value, so nothing is tested")
	}
}
