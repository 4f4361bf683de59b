// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/test/harness"
)

// TestWorkflows: the steps run targets of the Makefile and nothing else, with one version of Go.
func TestWorkflows(t *testing.T) {
	root := harness.Root()
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("workflows %v: %v", files, err)
	}
	makefile := string(read(t, filepath.Join(root, "Makefile")))
	command := regexp.MustCompile(`^make ([a-z-]+)( VERSION="\$GITHUB_REF_NAME")?$`)
	actions := []string{"actions/checkout", "actions/setup-go", "actions/upload-artifact"}
	_, rest, _ := strings.Cut(string(read(t, filepath.Join(root, "go.mod"))), "\ngo ")
	required, _, _ := strings.Cut(rest, "\n")
	versions := map[any]bool{}
	ran := 0
	for _, file := range files {
		var w struct {
			Permissions map[string]string
			Jobs        map[string]struct {
				Steps []struct {
					Run, Uses string
					With      map[string]any
				}
			}
		}
		if err := yaml.Unmarshal(read(t, file), &w); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s has the permissions %v", file, w.Permissions)
		}
		for name, job := range w.Jobs {
			for _, step := range job.Steps {
				action, _, _ := strings.Cut(step.Uses, "@")
				if step.Uses != "" && !slices.Contains(actions, action) {
					t.Errorf("%s, job %s uses %s", file, name, step.Uses)
				}
				if action == "actions/setup-go" {
					versions[step.With["go-version"]] = true
				}
				if step.Run == "" {
					continue
				}
				ran++
				if target := command.FindStringSubmatch(step.Run); target == nil || !strings.Contains(makefile, "\n"+target[1]+":") {
					t.Errorf("%s, job %s runs %q, which is no target of the Makefile", file, name, step.Run)
				}
			}
		}
	}
	for version := range versions {
		// A patch version, since others may write other bytes.
		if text, _ := version.(string); len(versions) != 1 || !strings.HasPrefix(text, strings.TrimSuffix(required, "0")) {
			t.Errorf("the versions of Go are %v, want one patch version of %s", versions, required)
		}
	}
	if ran == 0 {
		t.Error("no step runs anything")
	}
}
