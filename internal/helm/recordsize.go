// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	helmtime "helm.sh/helm/v3/pkg/time"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render/remote"
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
		return fmt.Errorf("the record of the revision would take %d bytes, compressed, and may take %d when the action begins",
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
	if c.crds == helmv2.CRDsSkip || len(c.files.Files) == 0 || c.files.Unpacked < minPrechecked {
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
	size, err := c.store.Precheck(rls, apply.MethodName(apply.IsServerSide(c.store, c.mode, last)))
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

// preview returns the revision that Helm would make if the CRDs of its chart existed. If the chart
// cannot be rendered, the revision has no manifest.
func (c *creation) preview(ctx context.Context, revision int) (*helmrelease.Release, error) {
	rendered, err := c.rendering(ctx, remote.Rendering{
		Chart: c.chart, Namespace: c.job.Desired.Target.Namespace, Install: c.installs, Revision: revision, SkipSchemas: c.skipSchemas,
		APIs: servedBy(c.files.Files), KeepChart: true, Timeout: c.timeout,
	})
	if err != nil {
		return nil, err
	}
	if rendered.Failed != "" {
		c.logs.Printf("how large the revision will be cannot be told before its CustomResourceDefinitions are there: %s", rendered.Failed)
	}
	return c.revision(c.chart, rendered), nil
}

// revision returns the revision that Helm would store for a rendered chart.
func (r *run) revision(c remote.Chart, rendered *remote.Rendered) *helmrelease.Release {
	now := helmtime.Now() //nolint:forbidigo // only its length counts, in the size of the record
	return &helmrelease.Release{
		Name: r.job.Desired.Target.Name, Namespace: r.job.Desired.Target.Namespace, Chart: r.storedChart(rendered), Config: c.Values,
		Manifest: rendered.Manifest, Hooks: rendered.Hooks,
		Info: &helmrelease.Info{FirstDeployed: now, LastDeployed: now, Status: helmrelease.StatusPendingInstall, Notes: rendered.Notes},
	}
}

// servedBy returns the versions and kinds that the API server serves because of the CRDs.
func servedBy(crds []helmchart.CRD) []string {
	var all []string
	for _, file := range crds {
		all = append(all, servedAPIs(string(file.File.Data))...)
	}
	return all
}

// servedAPIs returns the versions and kinds that the API server serves because of the CRDs in a
// file, in the form of Helm's capabilities.
func servedAPIs(file string) []string {
	var all []string
	for _, text := range releaseutil.SplitManifests(file) {
		crd := &unstructured.Unstructured{}
		if err := bounded.Manifest().Unmarshal([]byte(text), &crd.Object); err != nil || crd.GetKind() != apply.CRDKind {
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
