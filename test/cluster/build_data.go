// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
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

func (b *builder) stages(ctx context.Context) error {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", kwokStages)
	own := filepath.Join(b.root, "test/cluster/stages/*.yaml")
	for _, pattern := range []string{own, filepath.Join(b.root, "test/kwok/go.mod")} {
		if err := hashFiles(h, pattern); err != nil {
			return err
		}
	}
	dir := filepath.Join(b.dir, "stages")
	if b.upToDate("stages", h.Sum(nil), dir) {
		return nil
	}
	module, err := b.goOutput(ctx, "test/kwok", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	if err != nil {
		return err
	}
	sources, err := filepath.Glob(own)
	if err != nil {
		return err
	}
	for _, name := range kwokStages {
		sources = append(sources, filepath.Join(strings.TrimSpace(string(module)), name))
	}
	if err := copyInto(dir, sources); err != nil {
		return err
	}
	return b.stamp("stages", h.Sum(nil), dir)
}

func (b *builder) sourceCRDs(ctx context.Context) error {
	const module = "test/source-controller/crds"
	h := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := hashFiles(h, filepath.Join(b.root, module, name)); err != nil {
			return err
		}
	}
	dir := filepath.Join(b.dir, "source-crds")
	if b.upToDate("source-crds", h.Sum(nil), dir) {
		return nil
	}
	tmp, err := os.MkdirTemp(b.dir, ".tmp-crds-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	// Descriptions would be most of the text, and are not used here.
	cmd := b.goCommand(ctx, module, filepath.Join(b.dir, "controller-gen"), "crd:maxDescLen=0",
		"paths=github.com/fluxcd/source-controller/api/v1", "output:crd:dir="+tmp)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("controller-gen: %w\n%s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(tmp, "*.yaml"))
	if err != nil {
		return err
	}
	if len(made) == 0 {
		return fmt.Errorf("controller-gen wrote no CRD")
	}
	if err := copyInto(dir, made); err != nil {
		return err
	}
	return b.stamp("source-crds", h.Sum(nil), dir)
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
