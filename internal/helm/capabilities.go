// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	apidiscovery "k8s.io/client-go/discovery"
)

// offering is a way into a cluster that remembers what its server offers.
type offering interface {
	// Capabilities returns the version of the server and all "<group>/<version>" and
	// "<group>/<version>/<kind>" that it offers, to be read only. An error that
	// discovery.IsGroupDiscoveryFailedError knows comes with the other results.
	Capabilities() (*version.Info, []string, error)
}

// offer is what a server offers, as charts get to know it.
type offer struct {
	capabilities *chartutil.Capabilities
	digest       string
	// incomplete says which groups the server could not tell about; nil if it told
	// all.
	incomplete error
}

// discover tells Helm what charts may ask of the cluster. Left alone Helm would
// ask the server anew for every revision.
func (r *run) discover() error {
	way, ok := r.config.RESTClientGetter.(offering)
	if !ok {
		return nil
	}
	capabilities, incomplete, err := capabilitiesOf(way)
	if err != nil {
		return err
	}
	if incomplete != nil {
		r.logs.printf("WARNING: The Kubernetes server has an orphaned API service. Server reports: %s", incomplete)
	}
	r.config.Capabilities = capabilities
	return nil
}

func capabilitiesOf(way offering) (capabilities *chartutil.Capabilities, incomplete, err error) {
	server, apis, err := way.Capabilities()
	if err != nil && !apidiscovery.IsGroupDiscoveryFailedError(err) {
		return nil, nil, err
	}
	// Clipped, so that an append does not write into the shared list.
	known := chartutil.VersionSet(apis[:len(apis):len(apis)])
	if len(known) == 0 {
		known = chartutil.DefaultVersionSet
	}
	return &chartutil.Capabilities{
		APIVersions: known,
		KubeVersion: chartutil.KubeVersion{Version: server.GitVersion, Major: server.Major, Minor: server.Minor},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}, err, nil
}

// Offers returns a digest of what the API server offers to charts: it differs once
// the server has another version or other APIs. It asks the server only if what it
// said earlier may not hold any more.
func (r *Runner) Offers(getter genericclioptions.RESTClientGetter) (string, error) {
	o, err := r.offerOf(getter)
	return o.digest, err
}

var errNoOffering = errors.New("what the API server offers is not known")

func (r *Runner) offerOf(getter genericclioptions.RESTClientGetter) (offer, error) {
	way, ok := getter.(offering)
	if !ok {
		return offer{}, errNoOffering
	}
	capabilities, incomplete, err := capabilitiesOf(way)
	if err != nil {
		return offer{}, err
	}
	return offer{capabilities: capabilities, digest: r.offered.digest(capabilities), incomplete: incomplete}, nil
}

// offerDigest caches the digest of the last list of APIs. Such a list is never changed, so the
// same list has the same digest. It may have thousands of entries, for thousands of releases.
type offerDigest struct {
	mu   sync.Mutex
	apis chartutil.VersionSet
	kube chartutil.KubeVersion
	sum  string
}

func (d *offerDigest) digest(c *chartutil.Capabilities) string {
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
