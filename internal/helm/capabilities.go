// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/version"
	apidiscovery "k8s.io/client-go/discovery"
)

// offering is a way into a cluster that remembers what its server offers.
type offering interface {
	// Offers returns the version of the server and all "<group>/<version>" and
	// "<group>/<version>/<kind>" that it offers, to be read only. An error that
	// discovery.IsGroupDiscoveryFailedError knows comes with the other results.
	Offers() (*version.Info, []string, error)
}

// discover tells Helm what charts may ask of the cluster. Left alone Helm would
// ask the server anew for every revision.
func (r *run) discover() error {
	way, ok := r.config.RESTClientGetter.(offering)
	if !ok {
		return nil
	}
	server, apis, err := way.Offers()
	if err != nil && !apidiscovery.IsGroupDiscoveryFailedError(err) {
		return err
	}
	if err != nil {
		r.logs.printf("WARNING: The Kubernetes server has an orphaned API service. Server reports: %s", err)
	}
	// Clipped, so that nobody appends to what others read.
	known := chartutil.VersionSet(apis[:len(apis):len(apis)])
	if len(known) == 0 {
		known = chartutil.DefaultVersionSet
	}
	r.config.Capabilities = &chartutil.Capabilities{
		APIVersions: known,
		KubeVersion: chartutil.KubeVersion{Version: server.GitVersion, Major: server.Major, Minor: server.Minor},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}
	return nil
}
