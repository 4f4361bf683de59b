// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/bounded"
)

// Limits of files that are selected from an artifact. The whole artifact has the limits of a chart.
const (
	// MaxSelectedBytes limits the files of one pattern together.
	MaxSelectedBytes = 16 << 20
	// maxSelected limits the files that one pattern matches, and maxPathDepth the names in a path.
	maxSelected  = 256
	maxPathDepth = 32
	// maxSelections limits the files of all patterns of a call together.
	maxSelections = 2 * MaxSelectedBytes
)

// File is a file of an artifact.
type File struct {
	// Path is relative to the root of the artifact.
	Path string
	Data []byte
}

// Selection holds the files of an artifact that a pattern matches, in the order of their paths.
type Selection struct {
	Pattern string
	Files   []File
	// Err is why the files cannot be used; nil if they can. It does not quote content.
	Err error
}

// CheckPattern returns an error for a pattern that no file of an artifact may be selected by.
func CheckPattern(pattern string) error {
	parts := strings.Split(pattern, "/")
	switch {
	case path.IsAbs(pattern):
		return errors.New("the path is absolute: paths are relative to the root of the artifact")
	case slices.Contains(parts, ".."):
		return errors.New("the path leaves the artifact")
	case strings.Contains(pattern, "**"):
		return errors.New("** is not supported: * matches within one name")
	case len(parts) > maxPathDepth:
		return fmt.Errorf("the path has more than %d names", maxPathDepth)
	}
	return nil
}

// Select returns the files of an artifact, a compressed tar archive, that each pattern matches. It
// keeps no other files. The first pattern has the whole budget; further patterns are left out of the
// result if their files do not fit in. The message of an error continues a sentence that starts with
// the name of the artifact.
func Select(data []byte, patterns []string) ([]Selection, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("cannot be read: it is not compressed with gzip")
	}
	defer func() { _ = unzipped.Close() }()
	left := int64(maxUnpackedBytes)
	entries := tar.NewReader(countingReader{unzipped, &left})
	s := NewSelector(patterns)
	for {
		header, err := entries.Next()
		switch {
		case errors.Is(err, io.EOF):
			return s.Selections(), nil
		case errors.Is(err, errTooLarge):
			return nil, errArtifactTooLarge
		case err != nil:
			return nil, errors.New("cannot be read: it is not a tar archive, or is not complete")
		}
		err = s.Add(header.Name, header.Typeflag == tar.TypeReg, header.Typeflag == tar.TypeDir || isExtension(header.Typeflag), entries)
		if errors.Is(err, errTooLarge) {
			err = errArtifactTooLarge
		}
		if err != nil {
			return nil, err
		}
	}
}

var errArtifactTooLarge = fmt.Errorf("is rejected: it is larger than %d bytes when it is unpacked", maxUnpackedBytes)

func isExtension(flag byte) bool { return flag == tar.TypeXGlobalHeader || flag == tar.TypeXHeader }

// Selector selects files by patterns.
type Selector struct {
	selections []*Selection
	sizes      []int
	entries    int
}

// NewSelector returns a Selector of patterns that CheckPattern accepts.
func NewSelector(patterns []string) *Selector {
	s := &Selector{}
	for _, pattern := range patterns {
		s.selections = append(s.selections, &Selection{Pattern: pattern, Err: CheckPattern(pattern)})
	}
	s.sizes = make([]int, len(patterns))
	return s
}

// Add adds an entry of an artifact. An error rejects the whole artifact: a path leaves it, or it has
// too many entries. Links and special files reject only the patterns that match them.
func (s *Selector) Add(name string, regular, ignored bool, content io.Reader) error {
	if s.entries++; s.entries > maxEntries {
		return fmt.Errorf("is rejected: it has more than %d files", maxEntries)
	}
	slashes := strings.ReplaceAll(name, `\`, "/")
	if path.IsAbs(slashes) {
		return fmt.Errorf("is rejected: %s is an absolute path", quoteName(name))
	}
	if slices.Contains(strings.Split(slashes, "/"), "..") {
		return fmt.Errorf("is rejected: %s is outside of the artifact", quoteName(name))
	}
	if ignored {
		return nil
	}
	file := File{Path: path.Clean(name)}
	var unusable, unread error
	read := false
	for i, selection := range s.selections {
		matches, err := path.Match(path.Clean(selection.Pattern), file.Path)
		if err != nil || !matches || selection.Err != nil {
			continue
		}
		if !read {
			read = true
			if unusable = checkEntry(file.Path, regular); unusable == nil {
				file.Data, unusable, unread = readFile(content, file.Path)
			}
			if unread != nil {
				return unread
			}
		}
		if selection.Err = unusable; unusable == nil {
			selection.Err = s.add(i, file)
		}
		if selection.Err != nil {
			selection.Files, s.sizes[i] = nil, 0
		}
	}
	return nil
}

// add adds a file to a selection.
func (s *Selector) add(i int, file File) error {
	selection := s.selections[i]
	if slices.ContainsFunc(selection.Files, func(f File) bool { return f.Path == file.Path }) {
		return fmt.Errorf("the artifact has %s twice", quoteName(file.Path))
	}
	selection.Files = append(selection.Files, file)
	s.sizes[i] += len(file.Data)
	switch {
	case len(selection.Files) > maxSelected:
		return fmt.Errorf("the path matches more than %d files", maxSelected)
	case s.sizes[i] > MaxSelectedBytes:
		return fmt.Errorf("the files have more than %d bytes", MaxSelectedBytes)
	}
	return nil
}

// checkEntry returns an error for an entry that is no file, or whose name cannot be shown.
func checkEntry(name string, regular bool) error {
	if !regular {
		return fmt.Errorf("%s is a link or special file, which is not followed", quoteName(name))
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("%s has characters that a path must not have", quoteName(name))
	}
	return nil
}

// readFile returns the content of a file. unusable is the error of a file that cannot be used as
// values, and unread the error of an artifact that cannot be read.
func readFile(content io.Reader, name string) (data []byte, unusable, unread error) {
	limit := bounded.Values().Bytes
	data, err := io.ReadAll(io.LimitReader(content, int64(limit)+1))
	switch {
	case errors.Is(err, errTooLarge):
		return nil, nil, err
	case err != nil:
		return nil, nil, errors.New("cannot be read: it is not complete")
	case len(data) > limit:
		return nil, fmt.Errorf("%s has more than %d bytes", quoteName(name), limit), nil
	case isEncrypted(data):
		return nil, fmt.Errorf("%s is encrypted with SOPS, and is not decrypted here: decrypt it into a Secret, and refer to that", quoteName(name)), nil
	}
	return data, nil, nil
}

// isEncrypted reports whether a file has the metadata that SOPS adds to YAML, JSON, dotenv and INI
// files. Files that cannot be parsed are not valid values either.
func isEncrypted(data []byte) bool {
	if !bytes.Contains(data, []byte("sops")) || !bytes.Contains(data, []byte("mac")) {
		return false
	}
	var values struct {
		Sops map[string]any `json:"sops"`
	}
	if bounded.Values().Unmarshal(data, &values) == nil && len(values.Sops) > 0 {
		_, mac := values.Sops["mac"]
		_, version := values.Sops["version"]
		return mac && version
	}
	// sops_mac and sops_version of dotenv, and the section of INI.
	lines := map[string]bool{}
	for line := range bytes.Lines(data) {
		key, _, _ := strings.Cut(string(line[:min(len(line), 64)]), "=")
		lines[strings.TrimSpace(key)] = true
	}
	return lines["sops_mac"] && lines["sops_version"] || lines["[sops]"] && lines["mac"] && lines["version"]
}

// Selections returns the selections with their files in the order of the paths, without those that
// do not fit in after the first.
func (s *Selector) Selections() []Selection {
	var all []Selection
	size := 0
	for i, selection := range s.selections {
		if size += s.sizes[i]; i > 0 && size > maxSelections {
			size -= s.sizes[i]
			continue
		}
		slices.SortFunc(selection.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
		all = append(all, *selection)
	}
	return all
}
