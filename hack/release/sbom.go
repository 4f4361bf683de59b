// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/buildinfo"
	"errors"
	"os"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes a software bill of materials in the format CycloneDX: the modules that the go
// command has recorded in an executable, and the standard library.
func (s source) writeSBOM(e executable, path string) error {
	info, err := buildinfo.ReadFile(e.path)
	if err != nil {
		return err
	}
	digest, err := sum(e.path)
	if err != nil {
		return err
	}
	components := []cdx.Component{golang("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		components = append(components, golang(module.Path, module.Version))
	}
	var references []string
	for _, c := range components {
		references = append(references, c.BOMRef)
	}
	main := golang(info.Main.Path, s.version)
	main.Type, main.Name = cdx.ComponentTypeApplication, e.name
	main.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: digest}}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: s.time.Format(time.RFC3339), Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &references}}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(cdx.NewBOMEncoder(file, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6), file.Close())
}

// golang is a module of a version.
func golang(module, version string) cdx.Component {
	url := "pkg:golang/" + module + "@" + version
	return cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: module, Version: version, PackageURL: url}
}
