// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// writeKrew writes the manifest of the plugin for krew. The file must have the name of the plugin.
func (s source) writeKrew(built []executable, out string) error {
	type values = map[string]any
	var platforms []values
	for _, e := range built {
		if e.name != plugin {
			continue
		}
		digest, err := sum(filepath.Join(out, e.archive(s.version)))
		if err != nil {
			return err
		}
		platforms = append(platforms, values{
			"selector": values{"matchLabels": values{"os": "linux", "arch": e.arch}},
			"uri":      repository + "/releases/download/" + s.version + "/" + e.archive(s.version),
			"sha256":   digest,
			"bin":      e.name,
			"files":    []values{{"from": e.name, "to": "."}, {"from": "LICENSE", "to": "."}},
		})
	}
	content, err := yaml.Marshal(values{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
		"kind":       "Plugin",
		"metadata":   values{"name": "pintle"},
		"spec": values{
			"version":          s.version,
			"homepage":         repository,
			"shortDescription": "Explain and control HelmReleases",
			"description":      "Lists the HelmReleases that need attention, and says why; shows what would change;\napproves plans, rolls back and suspends.\n",
			"platforms":        platforms,
		},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "pintle.yaml"), content, 0o644)
}
