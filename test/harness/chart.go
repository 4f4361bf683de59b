// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
)

// LoadChart loads a chart of test/charts. The caller may change it.
func LoadChart(name string) (*helmchart.Chart, error) {
	return loader.LoadDir(filepath.Join(Root(), "test", "charts", name))
}

// AddFile adds a file to a chart that its templates can read.
func AddFile(c *helmchart.Chart, name string, content []byte) {
	c.Files = append(c.Files, &helmchart.File{Name: name, Data: content})
}

// Pack returns a chart as an archive, as `helm package` creates it.
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

// PackFiles returns files by their paths as a compressed tar archive, as source-controller packs an
// artifact.
func PackFiles(files map[string]string) ([]byte, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	entries := tar.NewWriter(zipped)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := entries.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(files[path]))}); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(entries, files[path]); err != nil {
			return nil, err
		}
	}
	err := errors.Join(entries.Close(), zipped.Close())
	return packed.Bytes(), err
}

// HelloChart returns the archive of test/charts/hello with the given version.
func HelloChart(version string) ([]byte, error) {
	c, err := LoadChart("hello")
	if err != nil {
		return nil, err
	}
	c.Metadata.Version = version
	return Pack(c)
}
