// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kwok's own Stages for Pods are left out: those of this test cluster cover every Pod, and two
// Stages for the same Pod would race.
var kwokStages = []string{
	"kustomize/stage/node/fast/node-initialize.yaml",
	"kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	"kustomize/stage/volume/fast/pvc-provision.yaml",
	"kustomize/stage/volume/fast/pvc-delete.yaml",
	"kustomize/stage/volume/fast/pv-bind.yaml",
	"kustomize/stage/volume/fast/pv-delete.yaml",
}

// The modules of the programs that are not Kubernetes' own, in go.mod.
const (
	kwokModule             = "sigs.k8s.io/kwok"
	sourceControllerModule = "github.com/fluxcd/source-controller"
)

func (b *builder) stages(ctx context.Context) error {
	own, err := filepath.Glob(filepath.Join(b.root, module, "stages/*.yaml"))
	if err != nil {
		return err
	}
	return b.data(ctx, "stages", kwokModule, kwokStages, own)
}

func (b *builder) sourceCRDs(ctx context.Context) error {
	return b.data(ctx, "source-crds", sourceControllerModule, []string{"config/crd/bases/*.yaml"}, nil)
}

// data copies files of a Go module, which patterns select, and files of the repository into a
// folder of the build.
func (b *builder) data(ctx context.Context, name, from string, patterns, own []string) error {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", patterns)
	for _, file := range append([]string{filepath.Join(b.root, module, "go.mod")}, own...) {
		if err := hashFiles(h, file); err != nil {
			return err
		}
	}
	dir := filepath.Join(b.dir, name)
	if b.upToDate(name, h.Sum(nil), dir) {
		return nil
	}
	root, err := b.goOutput(ctx, "list", "-m", "-f", "{{.Dir}}", from)
	if err != nil {
		return err
	}
	sources := slices.Clone(own)
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), pattern))
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("%s has no file %s", from, pattern)
		}
		sources = append(sources, files...)
	}
	if err := copyInto(dir, sources); err != nil {
		return err
	}
	return b.stamp(name, h.Sum(nil), dir)
}

// copyInto makes dir contain exactly the sources. It works file by file, because a cluster may be
// starting from the directory.
func copyInto(dir string, sources []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, source := range sources {
		data, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		name := filepath.Base(source)
		wanted[name] = true
		if err := replaceFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !wanted[entry.Name()] {
			if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
