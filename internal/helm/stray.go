// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pintle-dev/pintle/internal/release"
)

// Stray returns the target and the revisions, newest first, of a release in the storage
// of a namespace whose newest revision the HelmRelease uid made, under whatever name;
// nil if there is none. It lists the records at the API server, once.
func (r *Runner) Stray(ctx context.Context, getter genericclioptions.RESTClientGetter, namespace, uid string) (*release.Target, []release.Revision, error) {
	api, err := secretsOf(getter, namespace)
	if err != nil {
		return nil, nil, err
	}
	all, _, err := api.list(ctx, labels.Set{"owner": "helm"})
	if err != nil {
		return nil, nil, fmt.Errorf("list Secrets in namespace %s: %w", namespace, err)
	}
	newest := map[string]release.Revision{}
	for i := range all {
		next := all[i].revision()
		if last, found := newest[next.Name]; !found || next.Version > last.Version {
			newest[next.Name] = next
		}
	}
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		if found := newest[name]; !release.Stray(&found, uid) {
			continue
		}
		target := release.Target{Name: name, StorageNamespace: namespace}
		reader, err := r.reader(ctx, getter, target, nil)
		if err != nil {
			return nil, nil, err
		}
		// The index may be behind.
		reader.index = nil
		stored, err := reader.revisions()
		if err != nil {
			return nil, nil, fmt.Errorf("history of release %s in namespace %s: %w", name, namespace, err)
		}
		if len(stored) > 0 {
			target.Namespace = stored[0].Namespace
			return &target, stored, nil
		}
	}
	return nil, nil, nil
}
