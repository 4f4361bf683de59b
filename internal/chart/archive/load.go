// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"fmt"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// Load parses an archive. The message of an error continues a sentence that starts with the name of
// the archive.
func Load(data []byte) (*helmchart.Chart, error) {
	if err := check(data); err != nil {
		return nil, fmt.Errorf("is rejected: %w", err)
	}
	c, err := loader.LoadArchive(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	// Helm 3 would read a newer format as v2. A chart without a format is of v1.
	if v := c.Metadata.APIVersion; v != helmchart.APIVersionV1 && v != helmchart.APIVersionV2 {
		return nil, fmt.Errorf("is rejected: Chart.yaml has apiVersion %q, and only v1 and v2 can be rendered", v)
	}
	return c, nil
}
