// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The names of the programs.
const (
	controller = "pintle"
	plugin     = "kubectl-pintle"
)

// executable is a program for one architecture.
type executable struct{ name, arch, path string }

func (e executable) archive(version string) string { return e.base(version) + ".tar.gz" }
func (e executable) sbom(version string) string    { return e.base(version) + ".cdx.json" }

func (e executable) base(version string) string {
	return e.name + "_" + version + "_linux_" + e.arch
}

// build compiles programs for all architectures, in a folder. It has the packages by the names of the
// programs.
func (s source) build(folder string, packages map[string]string) ([]executable, error) {
	var built []executable
	for _, arch := range s.architectures {
		for _, name := range slices.Sorted(maps.Keys(packages)) {
			e := executable{name, arch, filepath.Join(folder, name+"_"+arch)}
			if err := s.compile(e, packages[name]); err != nil {
				return nil, err
			}
			built = append(built, e)
		}
	}
	return built, nil
}

// compile builds one executable. The environment of the user changes nothing but where the go command
// finds its caches and modules. The flags for the compiler are those of the Makefile, so that the
// build cache has each package once.
func (s source) compile(e executable, pkg string) error {
	const variables = "github.com/pintle-dev/pintle/internal/version."
	link := fmt.Sprintf("-s -w -buildid= -X %sversion=%s -X %srevision=%s", variables, s.version, variables, s.revision)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-ldflags="+link, "-o", e.path, pkg)
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+e.arch, "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off", "GOTOOLCHAIN=local")
	fmt.Fprintf(os.Stderr, "building %s for linux/%s\n", e.name, e.arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// archiveProgram writes an archive of an executable and the license.
func (s source) archiveProgram(e executable, path string) error {
	entries, err := readEntries(map[string]string{e.name: e.path, "LICENSE": filepath.Join(s.root, "LICENSE")})
	if err != nil {
		return err
	}
	for i := range entries {
		if entries[i].name == e.name {
			entries[i].mode = 0o755
		}
	}
	content, err := compress(entries, s.time)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
