// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive, or a folder if its name ends with a slash.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// readEntries returns files with the mode 0644, by their names in an archive.
func readEntries(paths map[string]string) ([]entry, error) {
	var entries []entry
	for name, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name, 0o644, content})
	}
	return entries, nil
}

// writeTar writes an archive. Entries are sorted by name, belong to root, and have the same time.
func writeTar(to io.Writer, entries []entry, at time.Time) error {
	w := tar.NewWriter(to)
	for _, e := range slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.name, b.name) }) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: at, Format: tar.FormatUSTAR}
		if strings.HasSuffix(e.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(e.content); err != nil {
			return err
		}
	}
	return w.Close()
}

// compress returns an archive, compressed. The header of gzip has no time and no name.
func compress(entries []entry, at time.Time) ([]byte, error) {
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	if err := errors.Join(writeTar(gz, entries, at), gz.Close()); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// readTar returns the files of an archive, with the mode 0644.
func readTar(from io.Reader) ([]entry, error) {
	var entries []entry
	for r := tar.NewReader(from); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		if !filepath.IsLocal(header.Name) {
			return nil, fmt.Errorf("the archive has a file %q", header.Name)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{header.Name, 0o644, content})
	}
}
