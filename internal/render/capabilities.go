// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/version"
	apidiscovery "k8s.io/client-go/discovery"
)

// ErrNoCapabilities is the error for a connection that does not cache capabilities.
var ErrNoCapabilities = errors.New("what the API server offers is not known")

// Capabilities are the capabilities of a cluster that templates see.
type Capabilities struct {
	*chartutil.Capabilities
	// Incomplete names the groups that the API server could not list, nil if it listed all.
	Incomplete error
}

// CapabilitiesOf returns the capabilities of the cluster of a connection. The connection implements
//
//	Capabilities() (*version.Info, []string, error)
//
// which returns the version of the API server, and "<group>/<version>" and
// "<group>/<version>/<kind>" for all APIs, to be read only.
func CapabilitiesOf(connection any) (Capabilities, error) {
	cached, ok := connection.(interface {
		Capabilities() (*version.Info, []string, error)
	})
	if !ok {
		return Capabilities{}, ErrNoCapabilities
	}
	server, apis, err := cached.Capabilities()
	if err != nil && !apidiscovery.IsGroupDiscoveryFailedError(err) {
		return Capabilities{}, err
	}
	// Clipped, so that an append does not write into the shared list.
	known := chartutil.VersionSet(apis[:len(apis):len(apis)])
	if len(known) == 0 {
		known = chartutil.DefaultVersionSet
	}
	return Capabilities{Incomplete: err, Capabilities: &chartutil.Capabilities{
		APIVersions: known,
		KubeVersion: chartutil.KubeVersion{Version: server.GitVersion, Major: server.Major, Minor: server.Minor},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}}, nil
}

// CapabilitiesDigests computes digests of capabilities. It caches the last one: the list of APIs
// may have thousands of entries, for thousands of releases. A list is never changed, so the same
// list has the same digest. It may be used concurrently.
type CapabilitiesDigests struct {
	mu   sync.Mutex
	apis chartutil.VersionSet
	kube chartutil.KubeVersion
	sum  string
}

// Digest returns the digest of the version of the API server and its APIs.
func (d *CapabilitiesDigests) Digest(c *chartutil.Capabilities) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.apis) == len(c.APIVersions) && d.kube == c.KubeVersion && &d.apis[0] == &c.APIVersions[0] {
		return d.sum
	}
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%q %q %q\n", c.KubeVersion.Version, c.KubeVersion.Major, c.KubeVersion.Minor)
	for _, api := range c.APIVersions {
		_, _ = fmt.Fprintln(sum, api)
	}
	d.apis, d.kube, d.sum = c.APIVersions, c.KubeVersion, "sha256:"+hex.EncodeToString(sum.Sum(nil))
	return d.sum
}
