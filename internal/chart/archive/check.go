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
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/pintle-dev/pintle/internal/bounded"
)

// check returns an error, which names the file, if an archive must not be unpacked. It keeps
// one file in memory at a time. Invalid archives pass, since Helm's errors for them are better.
func check(data []byte) error {
	return (&archiveCheck{bytes: maxUnpackedBytes}).archive(data, "", 0)
}

// archiveCheck counts the use of limits by an archive and the archives in it.
type archiveCheck struct {
	// bytes is the remaining size, entries the number of entries so far.
	bytes   int64
	entries int
	// opening matches the start of a block in a template; nil before the first template.
	opening *regexp.Regexp
}

// errTooLarge is the error of countingReader after the limit.
var errTooLarge = fmt.Errorf("the chart is larger than %d bytes when it is unpacked", maxUnpackedBytes)

// countingReader subtracts the bytes that it reads from left, and fails when none are left.
type countingReader struct {
	in   io.Reader
	left *int64
}

func (c countingReader) Read(p []byte) (int, error) {
	if *c.left <= 0 {
		return 0, errTooLarge
	}
	n, err := c.in.Read(p[:min(int64(len(p)), *c.left)])
	*c.left -= int64(n)
	return n, err
}

// archive checks an archive. location is its path in other archives, and depth its nesting as a
// subchart.
func (c *archiveCheck) archive(data []byte, location string, depth int) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil // Helm reports invalid archives
	}
	defer func() { _ = unzipped.Close() }()
	entries := tar.NewReader(countingReader{unzipped, &c.bytes})
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, errTooLarge) {
			return err
		}
		if err != nil {
			return nil // Helm reports invalid archives
		}
		if c.entries++; c.entries > maxEntries {
			return fmt.Errorf("the chart has more than %d files", maxEntries)
		}
		name := quoteName(path.Join(location, header.Name))
		if err := c.entry(entries, header, name, depth); err != nil {
			return err
		}
	}
}

// entry checks one entry of an archive.
func (c *archiveCheck) entry(in io.Reader, header *tar.Header, name string, depth int) error {
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeXGlobalHeader, tar.TypeXHeader:
	default:
		return fmt.Errorf("%s is neither a file nor a directory, but of the type %q: links and devices are not unpacked", name, header.Typeflag)
	}
	clean := strings.ReplaceAll(header.Name, `\`, "/")
	if path.IsAbs(clean) {
		return fmt.Errorf("%s is an absolute path", name)
	}
	// Helm checks the path only after cleaning it.
	parts := strings.Split(clean, "/")
	nested := depth
	for _, part := range parts {
		switch part {
		case "..":
			return fmt.Errorf("%s is outside of the chart", name)
		case "charts":
			nested++
		}
	}
	if nested > maxNesting {
		return fmt.Errorf("%s is a subchart at depth %d, more than %d", name, nested, maxNesting)
	}
	if header.Typeflag != tar.TypeReg {
		return nil
	}
	parts = strings.Split(path.Clean(clean), "/")
	if isSubchart(parts) {
		inner, err := io.ReadAll(io.LimitReader(in, loader.MaxDecompressedFileSize+1))
		if err != nil || int64(len(inner)) > loader.MaxDecompressedFileSize {
			return limitOnly(err)
		}
		return c.archive(inner, name, nested)
	}
	if isRead(parts) {
		return limitOnly(checkYAML(in, name))
	}
	return limitOnly(c.templates(in, parts, name))
}

// isRead reports whether Helm decodes a file as YAML when it loads a chart.
func isRead(parts []string) bool {
	switch parts[len(parts)-1] {
	case "Chart.yaml", "Chart.lock", "values.yaml", "requirements.yaml", "requirements.lock":
		return true
	}
	return false
}

// checkYAML returns an error if a file is too large once its aliases are expanded.
func checkYAML(in io.Reader, name string) error {
	text, err := io.ReadAll(io.LimitReader(in, loader.MaxDecompressedFileSize+1))
	if err != nil {
		return err
	}
	if err := bounded.Manifest().Check(text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// limitOnly returns the error of an exceeded limit, nil for other errors, which Helm reports.
func limitOnly(err error) error {
	var limit *limitError
	if errors.Is(err, errTooLarge) || errors.As(err, &limit) || errors.As(err, new(*bounded.Error)) {
		return err
	}
	return nil
}

// limitError is the error of a limit that a file exceeds.
type limitError struct{ text string }

// Error implements error.
func (e *limitError) Error() string { return e.text }

// isSubchart reports whether Helm unpacks a file as an archive.
func isSubchart(parts []string) bool {
	return len(parts) > 2 && parts[len(parts)-2] == "charts" && path.Ext(parts[len(parts)-1]) == ".tgz"
}

// templates counts the blocks of a template, including those in strings. The parser itself limits
// nested parentheses.
func (c *archiveCheck) templates(in io.Reader, parts []string, name string) error {
	if !slices.Contains(parts, "templates") {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(in, loader.MaxDecompressedFileSize+1))
	if err != nil {
		return err
	}
	if c.opening == nil {
		c.opening = regexp.MustCompile(`\{\{-?\s*(?:if|range|with|define|block)\b`)
	}
	if found := c.opening.FindAllIndex(text, maxBlocks+1); len(found) > maxBlocks {
		return &limitError{fmt.Sprintf("%s opens more than %d blocks", name, maxBlocks)}
	}
	return nil
}

// quoteName quotes the name of a file and cuts it after 200 bytes: it may be as long as a megabyte.
func quoteName(name string) string {
	const longest = 200
	if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "") + "..."
	}
	return fmt.Sprintf("%q", name)
}
