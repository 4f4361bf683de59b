// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"fmt"
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// crdTimeout bounds the wait for new definitions to be served.
const crdTimeout = 60 * time.Second

// applyCRDs creates the definitions in the chart's crds folders that do not
// exist yet, for every action alike, and waits until they are established.
// What else lies in those folders is left alone, and so are the definitions of
// subcharts that the values switch off.
func (r *run) applyCRDs(c *helmchart.Chart, values map[string]any, policy helmv2.CRDsPolicy, timeout time.Duration) error {
	if policy == helmv2.CRDsSkip || len(c.CRDObjects()) == 0 {
		return nil
	}
	// Helm does the same again when it renders; the second time finds nothing to
	// change.
	if err := chartutil.ProcessDependenciesWithMerge(c, values); err != nil {
		return err
	}
	var created kube.ResourceList
	for _, crd := range c.CRDObjects() {
		list, err := r.client.Build(bytes.NewReader(crd.File.Data), false)
		if err != nil {
			return fmt.Errorf("CRDs in %s: %w", crd.Filename, err)
		}
		for _, info := range list {
			made, err := r.createCRD(info)
			if err != nil {
				return err
			}
			if made {
				created.Append(info)
			}
		}
	}
	if len(created) == 0 {
		return nil
	}
	return r.client.wait(created, min(timeout, crdTimeout), poller(ready))
}

func (r *run) createCRD(info *resource.Info) (bool, error) {
	if kind := info.Mapping.GroupVersionKind.Kind; kind != "CustomResourceDefinition" {
		r.logs.printf("%s %s in the crds folder is no CustomResourceDefinition and is left out", kind, info.Name)
		return false, nil
	}
	if _, err := r.client.Create(kube.ResourceList{info}); err != nil {
		if alreadyExists(err) {
			return false, nil
		}
		return false, fmt.Errorf("create CustomResourceDefinition %s: %w", info.Name, err)
	}
	return true, nil
}
