// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/preview"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render"
)

// checkRecord refuses a new revision whose record would be too large, before anything is written.
func (r *run) checkRecord(key string, rls *helmrelease.Release) error {
	size, err := r.store.Stage(key, rls)
	if err != nil {
		return err
	}
	return r.checkSize(size)
}

// checkSize stores a size that is reported, and refuses a record that would be too large.
func (r *run) checkSize(size *release.RecordSize) error {
	if !size.NearlyTooLarge() && !size.TooLarge() {
		return nil
	}
	r.size = size
	if size.TooLarge() {
		return fmt.Errorf("nothing was changed: the record of the revision would take %d bytes, compressed, and may take %d when the action begins",
			size.Bytes, size.Limit-size.Reserved)
	}
	return nil
}

// minPrechecked is the size of a chart with its values, unpacked, from which the size of the record
// is prechecked. The record of a smaller chart exceeds the limit only if its templates are made for
// that. The gate refuses such a record.
const minPrechecked = corev1.MaxSecretSize / 4

// precheckSize refuses a revision that is too large before the CRDs of its chart are written. The
// CRDs are written before the chart is rendered, since templates may depend on them. So the chart
// is rendered once more, as if the CRDs existed. If that fails, only the chart and the values
// count, and the rendering by Helm returns the error. Charts without CRDs need no precheck, because
// they are rendered before anything is written.
func (c *creation) precheckSize(ctx context.Context) error {
	if c.crds == helmv2.CRDsSkip || len(c.chart.CRDObjects()) == 0 || unpackedSize(c.chart, c.values) < minPrechecked {
		return nil
	}
	last := 0
	if rls, err := c.config.Releases.Last(c.job.Desired.Target.Name); err == nil {
		last = rls.Version
	}
	rls, err := c.preview(ctx, last+1)
	if err != nil {
		return err
	}
	rls.Version = last + 1
	size, err := c.store.Precheck(rls, methodName(appliesServerSide(c.store, c.mode, last)))
	if err != nil {
		return err
	}
	if err := c.checkSize(size); err != nil {
		return err
	}
	// A size near the limit is reported when the revision is created.
	c.size = nil
	return nil
}

// unpackedSize returns the number of bytes that are rendered and stored.
func unpackedSize(c *helmchart.Chart, values map[string]any) int {
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

// preview returns the revision that Helm would make if the CRDs of its chart existed. If the chart
// cannot be rendered, the revision has no manifest.
func (c *creation) preview(ctx context.Context, revision int) (*helmrelease.Release, error) {
	own, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	values := preview.Clone(c.values)
	if c.chart.Values != nil {
		own.Values = preview.Clone(c.chart.Values)
	}
	if err := chartutil.ProcessDependenciesWithMerge(own, values); err != nil {
		return nil, err
	}
	in, err := c.previewInput(own, own.CRDObjects(), c.timeout)
	if err != nil {
		return nil, err
	}
	in.Install, in.Revision, in.Values = c.installs, revision, values
	rls, err := preview.Render(ctx, in)
	if err != nil {
		c.logs.Printf("how large the revision will be cannot be told before its CustomResourceDefinitions are there: %s", err)
		return &helmrelease.Release{
			Name: in.Name, Namespace: in.Namespace, Chart: own, Config: values,
			Info: &helmrelease.Info{Status: helmrelease.StatusPendingInstall},
		}, nil
	}
	return rls, nil
}

// previewInput returns the input for a preview of a revision of the job, as if the CRDs were served
// already. The caller adds the values and the kind of action.
func (r *run) previewInput(c *helmchart.Chart, crds []helmchart.CRD, timeout time.Duration) (preview.Input, error) {
	in := preview.Input{
		Name: r.job.Desired.Target.Name, Namespace: r.job.Desired.Target.Namespace, Chart: c, Spec: r.job.Spec, Defaults: r.job.Defaults,
		Connection: r.config.RESTClientGetter, Options: r.renderOptions(), Timeout: timeout,
	}
	capabilities, err := render.CapabilitiesOf(r.config.RESTClientGetter)
	if errors.Is(err, render.ErrNoCapabilities) {
		// Helm sends requests for them.
		return in, nil
	}
	if err != nil {
		return in, err
	}
	for _, file := range crds {
		for _, api := range servedAPIs(string(file.File.Data)) {
			if !capabilities.APIVersions.Has(api) {
				capabilities.APIVersions = append(capabilities.APIVersions, api)
			}
		}
	}
	in.Capabilities = capabilities.Capabilities
	return in, nil
}

// servedAPIs returns the versions and kinds that the API server serves because of the CRDs in a
// file, in the form of Helm's capabilities.
func servedAPIs(file string) []string {
	var all []string
	for _, text := range releaseutil.SplitManifests(file) {
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &crd.Object); err != nil || crd.GetKind() != apply.CRDKind {
			continue
		}
		for _, gvk := range apply.ServedKinds(crd) {
			version := gvk.GroupVersion().String()
			all = append(all, version, version+"/"+gvk.Kind)
		}
	}
	slices.SortFunc(all, strings.Compare)
	return all
}
