// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build reference

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// TestHelm: the helm commands of Helm 3 and 4 and Pintle work on the same releases.
func TestHelm(t *testing.T) {
	for name, variable := range map[string]string{"3": "PINTLE_HELM3", "4": "PINTLE_HELM4"} {
		path := os.Getenv(variable)
		if path == "" {
			t.Fatalf("%s is not set: `make test-helm` builds that executable", variable)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.push("0.1.0")
			w.source("hello", env.Registry.Address)
			archive, err := harness.HelloChart("0.1.0")
			w.Must(err)
			h := helm{w, path, filepath.Join(t.TempDir(), "hello.tgz")}
			w.Must(os.WriteFile(h.chart, archive, 0o600))
			h.onOurs()
			h.onTheirs()
		})
	}
}

// helm runs a helm command in a world.
type helm struct {
	world

	path string
	// chart is the path of the archive of hello 0.1.0.
	chart string
}

// onOurs: the commands read, roll back, upgrade and uninstall a release that Pintle has made.
func (h helm) onOurs() {
	h.Helper()
	hr := h.release("hello", "hello", values{"message": "one"})
	h.UntilRevision(hr, 1)
	h.change(hr, values{"message": "two"})
	h.UntilRevision(hr, 2)
	h.says("list", "hello", "deployed", "hello-0.1.0")
	h.says("history hello", "superseded", "Install complete", "deployed", "Upgrade complete")
	h.says("get all hello", "message: two", "kind: Deployment", "kind: Job")

	h.suspended(hr, true)
	h.says("rollback hello 1"+h.force(), "success")
	h.message("hello", "one")
	h.says("upgrade hello "+h.chart+" --set message=three"+h.force(), "REVISION: 4")
	h.message("hello", "three")
	h.says("history hello", "Rollback to 1", "Upgrade complete")
	// It is a change of another client, so the release gets its own values again.
	h.suspended(hr, false)
	h.UntilRevision(hr, 5)
	h.message("hello", "two")

	h.suspended(hr, true)
	h.says("uninstall hello", "uninstalled")
	h.suspended(hr, false)
	h.UntilRevision(hr, 1)
	h.message("hello", "two")
	h.Must(env.Client.Delete(h.Context(), hr))
	h.gone(hr)
	if out, err := h.run("list"); err != nil || strings.Contains(out, "hello") {
		h.Errorf("the release is listed, or error %v", err)
	}
}

// onTheirs: Pintle takes over a release that the commands have made, rolls it back, and gives it back.
func (h helm) onTheirs() {
	h.Helper()
	h.says("install hello "+h.chart+" --set message=one", "STATUS: deployed")
	h.says("upgrade hello "+h.chart+" --set message=two", "REVISION: 2")
	hr := h.release("hello", "hello", values{"message": "two"})
	h.UntilRevision(hr, 3)
	h.change(hr, values{"message": "three"})
	h.UntilRevision(hr, 4)
	h.message("hello", "three")

	h.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Annotations = map[string]string{helmv2.AnnotationRollbackTo: "3"} })
	h.UntilCondition(hr, helmv2.ConditionRolledBack, yes, helmv2.ReasonRolledBack, "to revision 3")
	h.message("hello", "two")
	h.says("history hello", "Install complete", "Rollback to 3")

	// A revision of the command, and one that Pintle has made.
	h.suspended(hr, true)
	h.says("rollback hello 1"+h.force(), "success")
	h.message("hello", "one")
	h.says("rollback hello 4"+h.force(), "success")
	h.message("hello", "three")
	h.says("get values hello", "message: three")
	h.says("uninstall hello --keep-history", "uninstalled")
	h.says("history hello", "uninstalled")
}

// force returns the option with which Helm 4 changes fields that Pintle has applied. Helm 3 applies none.
func (h helm) force() string {
	if out, err := h.run("rollback --help"); err == nil && strings.Contains(out, "--force-conflicts") {
		return " --force-conflicts"
	}
	return ""
}

// suspended suspends or resumes a release, and waits until it is observed.
func (h helm) suspended(hr *helmv2.HelmRelease, is bool) {
	h.Helper()
	h.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = is })
	h.Until(hr, "to have observed its suspension", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.ObservedGeneration == hr.Generation
	})
}

func (h helm) run(command string) (string, error) {
	args := append(strings.Fields(command), "--kubeconfig", env.Kubeconfig, "--namespace", h.Namespace)
	cmd := exec.CommandContext(h.Context(), h.path, args...)
	home := filepath.Dir(h.chart)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	out, err := cmd.CombinedOutput()
	h.Logf("helm %s\n%s", command, out)
	return string(out), err
}

// says checks that a command succeeds, and prints all parts.
func (h helm) says(command string, parts ...string) {
	h.Helper()
	out, err := h.run(command)
	h.Must(err)
	h.contains(command, out, parts)
}
