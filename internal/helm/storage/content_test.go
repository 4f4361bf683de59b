// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"strings"
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestManyParts: a small Secret whose JSON has very many parts is refused before they are decoded. Commas
// and brackets in strings do not count.
func TestManyParts(t *testing.T) {
	const record = `{"name":"web","version":1,"namespace":"apps","info":{"status":"deployed"},"manifest":%q,"hooks":[%s],"config":{"a":[%s]},"chart":{"templates":[%s]}}`
	many := strings.Repeat("{},", maxObjects) + "{}"
	for name, tc := range map[string]struct {
		manifest, hooks, config, templates string
		refused                            bool
	}{
		"Hooks":     {"", many, "", "", true},
		"Config":    {"", "", many, "", true},
		"Templates": {"", "", "", many, true},
		"Members":   {"", "", strings.Repeat("1,", maxMembers) + "1", "", true},
		"Allowed":   {"", "", strings.Repeat("1,", maxMembers-100) + "1", "", false},
		"Strings":   {strings.Repeat(`{"\\,[`, maxMembers), "", "", "", false},
	} {
		data, err := new(packer).pack(fmt.Appendf(nil, record, tc.manifest, tc.hooks, tc.config, tc.templates))
		if err != nil {
			t.Fatal(err)
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "sh.helm.release.v1.web.v1"}, Data: map[string][]byte{dataKey: data}}
		if _, err := decode(nil, "apps", secret); (err != nil) != tc.refused {
			t.Errorf("%s: a Secret of %d bytes: %v", name, len(data), err)
		}
	}
}

// TestManyPartsAreNotStored: what could not be read again is refused before it is written.
func TestManyPartsAreNotStored(t *testing.T) {
	list := make([]any, maxObjects+1)
	for i := range list {
		list[i] = map[string]any{}
	}
	d := &Driver{packer: &packer{}}
	rls := &helmrelease.Release{Name: "web", Version: 1, Info: &helmrelease.Info{}, Config: map[string]any{"a": list}}
	if _, err := d.data(rls, unknownFields{}); err == nil {
		t.Error("a record is stored that cannot be read")
	}
}
