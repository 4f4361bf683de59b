// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
)

// ContentOf returns a digest of the files of a chart and of its subcharts. It does not depend on the
// order of the files in the archive, or on how they are packed.
func ContentOf(c *chart.Chart) string {
	files := slices.SortedFunc(slices.Values(c.Raw), func(a, b *chart.File) int { return cmp.Compare(a.Name, b.Name) })
	all := sha256.New()
	for _, f := range files {
		_, _ = fmt.Fprintf(all, "%q %x\n", f.Name, sha256.Sum256(f.Data))
	}
	return hex.EncodeToString(all.Sum(nil))
}
