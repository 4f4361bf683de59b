// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Command release builds what a release of Pintle consists of, and pushes its image. The Makefile
// calls it in the root of the repository; docs/releasing.md lists the files.
//
// Two builds of the same source with the same version of Go write the same bytes: all times are the
// time of the commit, all entries of archives are sorted, and no file has a path of the machine.
//
// Files, top-down:
//
//	main.go        the command line, and the files of a release in their order
//	build.go       the executables
//	image.go       the image, its archive, and how it is pushed
//	chart.go       the chart
//	sbom.go        the modules in each executable
//	provenance.go  what the files were built from
//	krew.go        the manifest for krew, the manager of kubectl's plugins
//	archive.go     archives with fixed times
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// source is what a release is built from.
type source struct {
	// root is the folder of the repository.
	root string
	// version is a tag such as v1.2.3, and revision the commit.
	version, revision string
	// time is the time of the commit.
	time time.Time
	// architectures are those of the executables and of the image; the system is Linux.
	architectures []string
}

func run(args []string) error {
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	out := flags.String("out", "", "folder of the files of a release; it is replaced")
	image := flags.String("image", "", "build the image only, as this `archive`")
	push := flags.String("push", "", "push the archive of -image as this `reference`, and build nothing")
	version := flags.String("version", "", "tag of the release, such as v1.2.3")
	revision := flags.String("revision", "unknown", "commit of the source")
	epoch := flags.Int64("epoch", 0, "time of the commit, in seconds since 1970")
	architectures := flags.String("arch", "amd64,arm64", "architectures, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	s := source{root: root, version: *version, revision: *revision, time: time.Unix(*epoch, 0).UTC(), architectures: strings.Split(*architectures, ",")}
	switch {
	case *push != "":
		return pushImage(*image, *push)
	case *image != "":
		return s.buildImage(*image)
	}
	return s.release(*out)
}

// release writes all files of a release.
func (s source) release(out string) error {
	if v, err := semver.StrictNewVersion(strings.TrimPrefix(s.version, "v")); err != nil || s.version != "v"+v.String() {
		return fmt.Errorf("version %q is not of the form v1.2.3", s.version)
	}
	scratch, err := os.MkdirTemp("", "pintle-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	built, err := s.build(scratch, map[string]string{controller: ".", plugin: "./cmd/kubectl-pintle"})
	if err != nil {
		return err
	}
	return s.write(built, out)
}

// write replaces the files in out by those of a release with some executables.
func (s source) write(built []executable, out string) error {
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	for _, e := range built {
		if err := errors.Join(s.archiveProgram(e, filepath.Join(out, e.archive(s.version))), s.writeSBOM(e, filepath.Join(out, e.sbom(s.version)))); err != nil {
			return err
		}
	}
	index, err := s.image(built)
	if err != nil {
		return err
	}
	if err := s.writeImage(index, filepath.Join(out, "pintle_"+s.version+"_image.tar")); err != nil {
		return err
	}
	// The provenance names all files before it, and the checksums all files.
	for _, step := range []func() error{
		func() error { return s.packageChart(out) },
		func() error { return s.writeKrew(built, out) },
		func() error { return s.writeProvenance(out, index) },
		func() error { return writeChecksums(out) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// sums returns the names of the files in a folder, sorted, and their SHA-256 digests in hexadecimal.
func sums(folder string) (names []string, digests map[string]string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, err
	}
	digests = map[string]string{}
	for _, e := range entries {
		sum, err := sum(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, nil, err
		}
		names, digests[e.Name()] = append(names, e.Name()), sum
	}
	slices.Sort(names)
	return names, digests, nil
}

func sum(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(content)), nil
}

// writeChecksums writes the digests of all files, as sha256sum reads them. A signature of this file
// covers the release.
func writeChecksums(folder string) error {
	names, digests, err := sums(folder)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "%s  %s\n", digests[name], name)
	}
	return os.WriteFile(filepath.Join(folder, "checksums.txt"), []byte(text.String()), 0o644)
}
