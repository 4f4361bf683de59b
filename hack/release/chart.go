// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
)

// packageChart writes the archive of the chart. Its appVersion is the tag of the image.
func (s source) packageChart(out string) error {
	c, err := loader.LoadDir(filepath.Join(s.root, "charts", "pintle"))
	if err != nil {
		return err
	}
	c.Metadata.Version, c.Metadata.AppVersion = strings.TrimPrefix(s.version, "v"), s.version
	path, err := chartutil.Save(c, out)
	if err != nil {
		return err
	}
	// Helm writes the present time into the archive.
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	gz, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	entries, err := readTar(gz)
	if err != nil {
		return err
	}
	content, err := compress(entries, s.time)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
