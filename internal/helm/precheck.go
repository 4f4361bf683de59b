// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// precheck is what it takes to know a revision before it is made.
type precheck struct {
	policy  helmv2.CRDsPolicy
	install bool
	values  map[string]any
	// mode is how its objects are going to be applied.
	mode    helmv2.ServerSideApplyMode
	timeout time.Duration
}

// minPrechecked is how many bytes there have to be in a chart and its values,
// unpacked, for their size to be prechecked: from less nothing is rendered that
// could fill a Secret, but by templates made for it, which are refused later.
const minPrechecked = corev1.MaxSecretSize / 4

// precheckSize refuses a revision that is too large before the definitions of its chart
// are written, which happens before it is rendered: templates may want to know that
// these are there. So it is rendered once more, as if they were. If that fails, the
// chart and the values alone are looked at; why it failed is told by those who know
// the cluster as it will be.
//
// Charts without definitions are rendered before anything is written, and so need not
// be prechecked.
func (r *run) precheckSize(ctx context.Context, job Job, c *helmchart.Chart, f precheck) error {
	if f.policy == helmv2.CRDsSkip || len(c.CRDObjects()) == 0 || unpacked(c, f.values) < minPrechecked {
		return nil
	}
	last := 0
	if rls, err := r.config.Releases.Last(job.Desired.Target.Name); err == nil {
		last = rls.Version
	}
	rls, err := r.preview(ctx, job, c, f, last)
	if err != nil {
		return err
	}
	rls.Version = last + 1
	size, err := r.store.Precheck(rls, methodName(r.appliesServerSide(f.mode, last)))
	if err != nil {
		return err
	}
	if err := r.checkSize(size); err != nil {
		return err
	}
	// A size near the limit is reported when the revision is created.
	r.size = nil
	return nil
}

// unpacked returns how many bytes are to be rendered, and stored.
func unpacked(c *helmchart.Chart, values map[string]any) int {
	raw, err := json.Marshal(values)
	if err != nil {
		return 0
	}
	sum := len(raw) + len(c.Schema)
	for _, part := range append([]*helmchart.Chart{c}, c.Dependencies()...) {
		for _, f := range slices.Concat(part.Templates, part.Files) {
			sum += len(f.Data)
		}
	}
	return sum
}

// preview returns the revision that would be made of a chart if its definitions were
// there, or, if it cannot be rendered, one without a manifest.
func (r *run) preview(ctx context.Context, job Job, c *helmchart.Chart, f precheck, last int) (*helmrelease.Release, error) {
	target := job.Desired.Target
	own, err := r.load(ctx, job)
	if err != nil {
		return nil, err
	}
	// Helm changes them.
	values := cloned(f.values)
	if c.Values != nil {
		own.Values = cloned(c.Values)
	}
	if err := chartutil.ProcessDependenciesWithMerge(own, values); err != nil {
		return nil, err
	}
	again, err := r.rehearsal(target, own, f.install, last+1)
	if err != nil {
		return nil, err
	}
	if job.Spec.Upgrade != nil {
		// Values that are kept are among them by now.
		upgrade := *job.Spec.Upgrade
		upgrade.PreserveValues = false
		job.Spec.Upgrade = &upgrade
	}
	rls, err := again.release(ctx, job, own, values, f.timeout)
	if err != nil {
		r.logs.printf("how large the revision will be cannot be told before its CustomResourceDefinitions are there: %s", err)
		return &helmrelease.Release{
			Name: target.Name, Namespace: target.Namespace, Chart: own, Config: values,
			Info: &helmrelease.Info{Status: helmrelease.StatusPendingInstall},
		}, nil
	}
	return rls, nil
}

// rehearsal returns what renders a revision that may be made, as if the definitions of
// the chart were served already.
func (r *run) rehearsal(target release.Target, c *helmchart.Chart, install bool, revision int) (*rerun, error) {
	again := &rerun{run: run{charts: r.charts, large: r.large, config: &action.Configuration{}}, getter: r.config.RESTClientGetter}
	again.made = making{
		stored: &helmrelease.Release{Name: target.Name, Namespace: target.Namespace}, install: install, revision: revision,
	}
	var err error
	again.offer, err = r.offerWith(c)
	return again, err
}

// offerWith is what the server will offer once it serves the definitions of a chart.
func (r *run) offerWith(c *helmchart.Chart) (offer, error) {
	way, ok := r.config.RESTClientGetter.(offering)
	if !ok {
		// Helm asks the server then.
		return offer{}, nil
	}
	capabilities, _, err := capabilitiesOf(way)
	if err != nil {
		return offer{}, err
	}
	for _, file := range c.CRDObjects() {
		for _, api := range definedBy(string(file.File.Data)) {
			if !capabilities.APIVersions.Has(api) {
				capabilities.APIVersions = append(capabilities.APIVersions, api)
			}
		}
	}
	return offer{capabilities: capabilities}, nil
}

// definedBy lists the versions and kinds that the definitions in a file make the
// server serve, as charts ask for them.
func definedBy(file string) []string {
	var all []string
	for _, text := range releaseutil.SplitManifests(file) {
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &crd.Object); err != nil || crd.GetKind() != crdKind {
			continue
		}
		for _, gvk := range servedBy(crd) {
			version := gvk.GroupVersion().String()
			all = append(all, version, version+"/"+gvk.Kind)
		}
	}
	slices.SortFunc(all, strings.Compare)
	return all
}
