// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// Helm returns what the helm command would work with in a namespace.
func (e *Environment) Helm(namespace string) (*action.Configuration, error) {
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.Namespace = &e.Kubeconfig, &namespace
	config := new(action.Configuration)
	if err := config.Init(flags, namespace, "secret", func(string, ...any) {}); err != nil {
		return nil, fmt.Errorf("helm: %w", err)
	}
	return config, nil
}

// History returns the revisions of a release as `helm history` does, oldest
// first, and none if there is no such release.
func (e *Environment) History(namespace, name string) ([]*helmrelease.Release, error) {
	config, err := e.Helm(namespace)
	if err != nil {
		return nil, err
	}
	revisions, err := action.NewHistory(config).Run(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	releaseutil.SortByRevision(revisions)
	return revisions, err
}
