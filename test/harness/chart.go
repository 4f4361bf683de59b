// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
)

// LoadChart reads a chart of test/charts, which the caller may change before it
// is packed or committed.
func LoadChart(name string) (*helmchart.Chart, error) {
	return loader.LoadDir(filepath.Join(Root(), "test", "charts", name))
}

// AddFile puts a file beside the templates of a chart, for them to read.
func AddFile(c *helmchart.Chart, name string, content []byte) {
	c.Files = append(c.Files, &helmchart.File{Name: name, Data: content})
}

// Pack returns a chart as one file, as `helm package` makes it.
func Pack(c *helmchart.Chart) (archive []byte, err error) {
	dir, err := os.MkdirTemp("", "pintle-chart-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path, err := chartutil.Save(c, dir)
	if err != nil {
		return nil, fmt.Errorf("pack chart %s: %w", c.Name(), err)
	}
	return os.ReadFile(path)
}

// HelloChart returns the chart of test/charts/hello, packed under a version.
func HelloChart(version string) ([]byte, error) {
	c, err := LoadChart("hello")
	if err != nil {
		return nil, err
	}
	c.Metadata.Version = version
	return Pack(c)
}
