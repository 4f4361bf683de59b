// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// repository is where the source of releases is.
const repository = "https://github.com/pintle-dev/pintle"

// resource is a ResourceDescriptor of in-toto.
type resource struct {
	URI    string            `json:"uri,omitempty"`
	Name   string            `json:"name,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

// statement is a Statement of in-toto with provenance of SLSA, as its specification of version 1
// defines it. The library of in-toto encodes with protojson, whose output differs between builds.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     struct {
		BuildDefinition struct {
			BuildType            string         `json:"buildType"`
			ExternalParameters   map[string]any `json:"externalParameters"`
			ResolvedDependencies []resource     `json:"resolvedDependencies"`
		} `json:"buildDefinition"`
		RunDetails struct {
			Builder struct {
				ID string `json:"id"`
			} `json:"builder"`
		} `json:"runDetails"`
	} `json:"predicate"`
}

// writeProvenance writes what the files in a folder and the image were built from. It has nothing about
// the machine: whoever signs the release vouches for that.
func (s source) writeProvenance(folder string, index v1.ImageIndex) error {
	names, digests, err := sums(folder)
	if err != nil {
		return err
	}
	image, err := index.Digest()
	if err != nil {
		return err
	}
	p := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, name := range names {
		p.Subject = append(p.Subject, resource{Name: name, Digest: map[string]string{"sha256": digests[name]}})
	}
	p.Subject = append(p.Subject, resource{Name: "image pintle:" + s.version, Digest: map[string]string{"sha256": image.Hex}})
	b := &p.Predicate.BuildDefinition
	b.BuildType = repository + "/blob/main/docs/releasing.md#provenance"
	b.ExternalParameters = map[string]any{"command": "make release VERSION=" + s.version, "architectures": s.architectures}
	b.ResolvedDependencies = []resource{
		{URI: "git+" + repository + "@refs/tags/" + s.version, Digest: map[string]string{"gitCommit": s.revision}},
		{URI: "pkg:golang/toolchain@" + runtime.Version()},
	}
	p.Predicate.RunDetails.Builder.ID = repository + "/blob/main/hack/release"
	content, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "provenance.json"), append(content, '\n'), 0o644)
}
