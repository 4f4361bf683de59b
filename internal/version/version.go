// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package version describes the executable: its version, and the versions of Go and of the Helm
// SDK.
package version

import (
	"fmt"
	"runtime/debug"
)

// version and revision are set by the linker, as the Makefile and hack/release do. Otherwise they
// are the values that the go command records.
var version, revision string //nolint:gochecknoglobals // the linker sets them

const (
	unknown    = "unknown"
	helmModule = "helm.sh/helm/v3"
)

// Info describes an executable. No field is empty.
type Info struct {
	// Version is the version of the source, such as v1.2.3, and Revision the commit.
	Version, Revision string
	// Go and Helm are the versions of Go and of the Helm SDK.
	Go, Helm string
}

// Read returns the description of this executable.
func Read() Info {
	build, _ := debug.ReadBuildInfo()
	return describe(build, version, revision)
}

// describe returns the description of an executable. build is nil if it was built without modules.
func describe(build *debug.BuildInfo, version, revision string) Info {
	i := Info{Version: version, Revision: revision, Go: unknown, Helm: unknown}
	if build != nil {
		i.Go = build.GoVersion
		for _, dependency := range build.Deps {
			if dependency.Path == helmModule {
				i.Helm = dependency.Version
			}
		}
		if i.Version == "" {
			i.Version = build.Main.Version
		}
		if i.Revision == "" {
			i.Revision = recordedRevision(build.Settings)
		}
	}
	if i.Version == "" {
		i.Version = unknown
	}
	if i.Revision == "" {
		i.Revision = unknown
	}
	return i
}

// recordedRevision returns the commit that the go command recorded, with the suffix -dirty if files
// were changed; empty if it recorded none.
func recordedRevision(settings []debug.BuildSetting) string {
	var commit, suffix string
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			suffix = "-dirty"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + suffix
}

// String returns the text of --version.
func (i Info) String() string {
	return fmt.Sprintf("pintle %s (revision %s, %s, Helm %s)", i.Version, i.Revision, i.Go, i.Helm)
}
