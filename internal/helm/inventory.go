// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pintle-dev/pintle/internal/release"
)

// Inventory lists the objects of a stored revision, hooks excluded, and what lies
// in the crds folders of its chart. Of job it needs what Run needs, but for
// action, artifact and values.
func (r *Runner) Inventory(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, version int) ([]release.Object, error) {
	run, err := r.observe(ctx, getter, job, newRedactor(job.Secrets))
	if err != nil {
		return nil, err
	}
	rel, err := run.config.Releases.Get(job.Desired.Target.Name, version)
	if err != nil {
		return nil, fmt.Errorf("revision %d of release %s: %w", version, job.Desired.Target.Name, err)
	}
	list, err := run.client.objects.build(strings.NewReader(rel.Manifest))
	if err != nil {
		return nil, fmt.Errorf("objects of revision %d of release %s: %w", version, rel.Name, err)
	}
	if rel.Chart == nil {
		return objects(list), nil
	}
	for _, file := range rel.Chart.CRDObjects() {
		crds, err := run.client.parse(bytes.NewReader(file.File.Data))
		if err != nil {
			return nil, fmt.Errorf("CRDs in %s: %w", file.Filename, err)
		}
		list = append(list, crds...)
	}
	return objects(list), nil
}

// inventory lists the objects of the newest revision that was stored, and what
// lies in the crds folders of its chart, whatever was done with it; nil if none
// was stored. It asks nothing of the server that rendering has not asked already.
func (r *run) inventory() ([]release.Object, error) {
	manifest, ok := r.store.NewestManifest()
	if !ok {
		return nil, nil
	}
	list, known := r.client.parsed[manifest]
	if !known {
		var err error
		if list, err = r.client.objects.build(strings.NewReader(manifest)); err != nil {
			return nil, err
		}
	}
	return objects(slices.Concat(list, r.crds)), nil
}

// objects names what is in a list, each object once.
func objects(list kube.ResourceList) []release.Object {
	all := make([]release.Object, 0, len(list))
	for _, info := range list {
		gvk := info.Mapping.GroupVersionKind
		o := release.Object{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: info.Name}
		if info.Namespaced() {
			o.Namespace = info.Namespace
		}
		if !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
}
