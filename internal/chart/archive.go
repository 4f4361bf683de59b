// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

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
)

// What a chart may be. Helm has limits of its own for the bytes of one archive and
// of one file; these hold for an archive and all the archives in it together.
// Charts that many people use stay below a tenth of each.
const (
	// maxUnpacked is how many bytes a chart may be when it is unpacked, headers
	// and padding included.
	maxUnpacked = 100 << 20
	// maxEntries is how many files and folders it may have.
	maxEntries = 20_000
	// maxNesting is how deep subcharts may be in subcharts, as folders or archives.
	maxNesting = 16
	// maxBlocks is how many blocks, like {{ if }}, the templates of one file may
	// open: parsing takes stack for each that is in another.
	maxBlocks = 50_000
)

// inspect returns an error, which names the file, if an archive is one that must
// not be unpacked. It holds one subchart in memory at a time, and of the rest
// nothing.
func inspect(data []byte) error {
	return (&inspection{bytes: maxUnpacked}).archive(data, "", 0)
}

// inspection is what is left of the limits.
type inspection struct {
	bytes   int64
	entries int
	// opening is what opens a block in a template; nil until there is one.
	opening *regexp.Regexp
}

// errTooLarge is what reading ends with when nothing is left.
var errTooLarge = fmt.Errorf("the chart is larger than %d bytes when it is unpacked", maxUnpacked)

// counted takes what is read from what is left.
type counted struct {
	in   io.Reader
	left *int64
}

func (c counted) Read(p []byte) (int, error) {
	if *c.left <= 0 {
		return 0, errTooLarge
	}
	n, err := c.in.Read(p[:min(int64(len(p)), *c.left)])
	*c.left -= int64(n)
	return n, err
}

// archive inspects an archive that stands at a place in others.
func (i *inspection) archive(data []byte, place string, depth int) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		// Helm finds better words for what is no archive.
		return nil //nolint:nilerr // see above
	}
	defer func() { _ = unzipped.Close() }()
	entries := tar.NewReader(counted{unzipped, &i.bytes})
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, errTooLarge) {
			return err
		}
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		if i.entries++; i.entries > maxEntries {
			return fmt.Errorf("the chart has more than %d files", maxEntries)
		}
		name := brief(path.Join(place, header.Name))
		if err := i.entry(entries, header, name, depth); err != nil {
			return err
		}
	}
}

func (i *inspection) entry(in io.Reader, header *tar.Header, name string, depth int) error {
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeXGlobalHeader, tar.TypeXHeader:
	default:
		return fmt.Errorf("%s is neither a file nor a folder, but of the type %q: links and devices are not unpacked", name, header.Typeflag)
	}
	clean := strings.ReplaceAll(header.Name, `\`, "/")
	if path.IsAbs(clean) {
		return fmt.Errorf("%s is an absolute path", name)
	}
	// Helm would clean it before it looks where it leads.
	parts := strings.Split(clean, "/")
	nested := depth
	for _, part := range parts {
		switch part {
		case "..":
			return fmt.Errorf("%s leads out of the chart", name)
		case "charts":
			nested++
		}
	}
	if nested > maxNesting {
		return fmt.Errorf("%s is a subchart of the %dth degree, more than %d", name, nested, maxNesting)
	}
	if header.Typeflag != tar.TypeReg {
		return nil
	}
	parts = strings.Split(path.Clean(clean), "/")
	if isSubchart(parts) {
		inner, err := io.ReadAll(io.LimitReader(in, loader.MaxDecompressedFileSize+1))
		if err != nil || int64(len(inner)) > loader.MaxDecompressedFileSize {
			return tooLargeOnly(err)
		}
		return i.archive(inner, name, nested)
	}
	return tooLargeOnly(i.templates(in, parts, name))
}

// tooLargeOnly leaves to Helm what else may be wrong.
func tooLargeOnly(err error) error {
	var refused *refusal
	if errors.Is(err, errTooLarge) || errors.As(err, &refused) {
		return err
	}
	return nil
}

// refusal is an error of ours.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// isSubchart reports whether Helm unpacks a file once more.
func isSubchart(parts []string) bool {
	return len(parts) > 2 && parts[len(parts)-2] == "charts" && path.Ext(parts[len(parts)-1]) == ".tgz"
}

// templates counts the blocks that templates open, those in strings among
// them. Blocks in parentheses have a limit in the parser itself.
func (i *inspection) templates(in io.Reader, parts []string, name string) error {
	if !slices.Contains(parts, "templates") {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(in, loader.MaxDecompressedFileSize+1))
	if err != nil {
		return err
	}
	if i.opening == nil {
		i.opening = regexp.MustCompile(`\{\{-?\s*(?:if|range|with|define|block)\b`)
	}
	if found := i.opening.FindAllIndex(text, maxBlocks+1); len(found) > maxBlocks {
		return &refusal{fmt.Sprintf("%s opens more than %d blocks", name, maxBlocks)}
	}
	return nil
}

// brief shortens the name of a file, which may be as long as a megabyte.
func brief(name string) string {
	const longest = 200
	if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "") + "..."
	}
	return fmt.Sprintf("%q", name)
}
