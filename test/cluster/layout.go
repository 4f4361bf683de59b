// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const moduleLine = "module github.com/pintle-dev/pintle\n"

// goMod has the modules of all programs, and the files in the folder kubernetes have the modules of
// servers of other versions.
const goMod = "go.mod"

// Names in the built folder. Symbolic links make one executable available under the names that
// envtest and users expect.
const (
	controlPlane      = "controlplane"
	kubernetesServers = "kubernetes"
	kubectl           = "kubectl"
)

var controlPlaneLinks = []string{etcd, apiServer, controllerManager, scheduler, kwok}

// repoRoot searches upwards from the working directory, then from the executable, so that the
// launcher works with `go run` and from bin/cluster.
func repoRoot() (string, error) {
	var starts []string
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	for _, dir := range starts {
		for ; ; dir = filepath.Dir(dir) {
			mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			if err == nil && bytes.Contains(append(mod, '\n'), []byte(moduleLine)) {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", errors.New("cannot find Pintle's repository from here; run it inside the checkout, " +
		"or name the directories with flags")
}

// inRepo returns the flag's value as an absolute path, or the default path in the repository.
func inRepo(value string, elem ...string) (string, error) {
	if value != "" {
		return filepath.Abs(value)
	}
	root, err := repoRoot()
	if err != nil {
		return "", err
	}
	return filepath.Join(append([]string{root}, elem...)...), nil
}

// findBin returns the folder with the built components. The launcher's own folder takes precedence,
// so that bin/cluster/cluster uses the files beside it.
func findBin(value string) (string, error) {
	if value == "" {
		if exe, err := os.Executable(); err == nil {
			if _, err := os.Stat(filepath.Join(filepath.Dir(exe), apiServer)); err == nil {
				return filepath.Dir(exe), nil
			}
		}
	}
	return inRepo(value, "bin", "cluster")
}

func checkBuilt(bin string, sourceController, node bool) error {
	need := []string{etcd, apiServer, controllerManager, scheduler, kwok, "stages"}
	if sourceController {
		need = append(need, sourceControllerName, "source-crds")
	}
	if node {
		if _, err := os.Stat(filepath.Join(bin, kubelet)); err != nil {
			return fmt.Errorf("%s is not built (%w); run `cluster build --node` or `make node-build` first", kubelet, err)
		}
	}
	for _, name := range need {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return fmt.Errorf("%s is not built (%w); run `cluster build` or `make cluster-build` first", name, err)
		}
	}
	return nil
}

// replaceFile writes a temporary file beside the target and renames it, so that a reader gets
// either the old or the new contents.
func replaceFile(path string, data []byte, mode os.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-"+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(data); err != nil {
		tmp.Close()
		return err
	}
	if err := errors.Join(tmp.Chmod(mode), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
