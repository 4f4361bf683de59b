// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestMissingCRD: an API server without HelmReleases, or with another version only, is reported with
// what to do.
func TestMissingCRD(t *testing.T) {
	for name, tc := range map[string]struct {
		serves  schema.GroupVersion
		missing bool
	}{
		"Served":       {helmv2.GroupVersion, false},
		"OtherVersion": {schema.GroupVersion{Group: helmv2.GroupVersion.Group, Version: "v2beta1"}, true},
		"Missing":      {schema.GroupVersion{Version: "v1"}, true},
	} {
		mapper := apimeta.NewDefaultRESTMapper(nil)
		mapper.Add(tc.serves.WithKind(helmv2.HelmReleaseKind), apimeta.RESTScopeNamespace)
		got := missingCRD(mapper)
		if (got != "") != tc.missing || tc.missing && !strings.Contains(got, "Apply config/crd.") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
