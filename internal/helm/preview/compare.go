// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/pintle-dev/pintle/internal/bounded"
)

// SameObjects reports whether two manifests contain the same objects. The manifests may differ in
// their form: another version of a library writes YAML in another form, and that must not cause
// an upgrade.
func SameObjects(a, b string) bool {
	if a == b {
		return true
	}
	first, err := documents(a)
	if err != nil {
		return false
	}
	second, err := documents(b)
	return err == nil && slices.Equal(first, second)
}

// documents returns the documents of a manifest as JSON, sorted, without empty ones.
func documents(manifest string) ([]string, error) {
	var all []string
	for _, text := range releaseutil.SplitManifests(manifest) {
		raw, err := bounded.Manifest().ToJSON([]byte(text))
		if err != nil {
			return nil, err
		}
		if document := strings.TrimSpace(string(raw)); document != "null" {
			all = append(all, document)
		}
	}
	slices.Sort(all)
	return all, nil
}
