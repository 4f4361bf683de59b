// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/ignore"

	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/values"
)

// Package returns the archive of the chart at a path in a directory, as source-controller packages it. If
// defaults is not nil, it replaces the values of the chart. Missing dependencies are an error.
func Package(root *os.Root, ignored Ignored, at string, defaults []byte) ([]byte, *helmchart.Chart, error) {
	dir := within(at)
	rules := ignore.Empty()
	if text, err := root.ReadFile(path.Join(dir, ignore.HelmIgnore)); err == nil {
		if rules, err = ignore.Parse(bytes.NewReader(text)); err != nil {
			return nil, nil, unreadable(err)
		}
	}
	rules.AddDefaults()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	entries := tar.NewWriter(zipped)
	err := walkIn(root, dir, ignored, func(name string, info fs.FileInfo) error {
		file := strings.TrimPrefix(name, dir+"/")
		if rules.Ignore(file, info) {
			if info.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if info.IsDir() {
			return nil
		}
		data, err := root.ReadFile(name)
		if err != nil {
			return unreadable(err)
		}
		if file == chartutil.ValuesfileName && defaults != nil {
			data = defaults
		}
		if err := entries.WriteHeader(&tar.Header{Name: "chart/" + file, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = entries.Write(data)
		return err
	})
	if err = errors.Join(err, entries.Close(), zipped.Close()); err != nil {
		return nil, nil, err
	}
	c, err := Load(packed.Bytes())
	if err != nil {
		return nil, nil, err
	}
	needed := c.Metadata.Dependencies
	if c.Lock != nil {
		needed = c.Lock.Dependencies
	}
	for _, d := range needed {
		if !slices.ContainsFunc(c.Dependencies(), func(have *helmchart.Chart) bool { return have.Name() == d.Name }) {
			return nil, nil, fmt.Errorf("lacks the dependency %s: run helm dependency build", quoteName(d.Name))
		}
	}
	return packed.Bytes(), c, nil
}

// MergeIn returns the merged values of files in a directory; nil without files.
func MergeIn(root *os.Root, ignored Ignored, files []string, ignoreMissing bool) ([]byte, error) {
	if len(files) == 0 {
		return nil, nil
	}
	merged := map[string]any{}
	for _, name := range files {
		found, err := SelectIn(root, ignored, []string{within(name)})
		switch {
		case err != nil:
			return nil, err
		case found[0].Err != nil:
			return nil, found[0].Err
		case len(found[0].Files) == 0 && !ignoreMissing:
			return nil, fmt.Errorf("has no values file %s", quoteName(name))
		}
		for _, file := range found[0].Files {
			var content map[string]any
			if err := bounded.Values().Unmarshal(file.Data, &content); err != nil {
				return nil, fmt.Errorf("has a values file %s that cannot be read: %w", quoteName(name), err)
			}
			values.Merge(merged, content)
		}
	}
	return json.Marshal(merged)
}

// within returns a path that does not leave the directory that it is relative to.
func within(name string) string { return path.Clean(strings.TrimPrefix(path.Clean("/"+name), "/")) }
