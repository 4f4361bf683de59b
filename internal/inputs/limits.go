// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// The limits of the lists and texts of a spec. The work for a release grows with the product of
// some of them and the number of rendered objects. Real releases stay below a tenth. Expressions
// and regular expressions have further limits, in packages cel and bounded.
const (
	// maxEntries limits each list and map. Patches and images of all post-renderers count together.
	maxEntries = 256
	// maxTargetPath, maxValuesKey and maxPointer are in bytes.
	maxTargetPath = 1024
	maxValuesKey  = 1024
	maxPointer    = 4096
	// maxSourceRevision is in bytes. A longer revision is not recorded. Real ones are the name of a
	// branch or tag with a digest.
	maxSourceRevision = 512
	// maxFilesRevision is the same with the files that values come from.
	maxFilesRevision = 2048
)

// CheckName returns a terminal *release.Blocked for a name that cannot be the value of a label. It must
// be called before an object is written for the HelmRelease.
func CheckName(hr *helmv2.HelmRelease) error {
	if n := len(hr.Name); n > validation.LabelValueMaxLength {
		return unsupported("metadata.name has %d characters, more than %d: it is the value of a label of all objects; use a shorter name", n, validation.LabelValueMaxLength)
	}
	return nil
}

// checkLimits returns a terminal *release.Blocked for the first list or text of a spec that exceeds
// its limit.
func checkLimits(spec *helmv2.HelmReleaseSpec) error {
	var c limitCheck
	c.entries(len(spec.DependsOn), "spec.dependsOn")
	c.entries(len(spec.ValuesFrom), "spec.valuesFrom")
	c.entries(len(spec.HealthCheckExprs), "spec.healthCheckExprs")
	c.entries(len(spec.GetTest().Filters), "spec.test.filters")
	for i, ref := range spec.ValuesFrom {
		c.bytes(len(ref.TargetPath), maxTargetPath, "spec.valuesFrom[%d].targetPath", i)
		c.bytes(len(ref.ValuesKey), maxValuesKey, "spec.valuesFrom[%d].valuesKey", i)
	}
	if spec.CommonMetadata != nil {
		c.entries(len(spec.CommonMetadata.Labels), "spec.commonMetadata.labels")
		c.entries(len(spec.CommonMetadata.Annotations), "spec.commonMetadata.annotations")
	}
	if spec.DriftDetection != nil {
		c.ignoreRules(spec.DriftDetection.Ignore)
	}
	c.postRenderers(spec.PostRenderers)
	return c.err
}

// limitCheck holds the error of the first exceeded limit; nil if there is none.
type limitCheck struct{ err error }

func (c *limitCheck) ignoreRules(rules []helmv2.IgnoreRule) {
	c.entries(len(rules), "spec.driftDetection.ignore")
	for i, rule := range rules {
		c.entries(len(rule.Paths), "spec.driftDetection.ignore[%d].paths", i)
		for j, path := range rule.Paths {
			c.bytes(len(path), maxPointer, "spec.driftDetection.ignore[%d].paths[%d]", i, j)
		}
	}
}

// postRenderers checks the patches and images of all post-renderers together.
func (c *limitCheck) postRenderers(renderers []helmv2.PostRenderer) {
	c.entries(len(renderers), "spec.postRenderers")
	patches, images := 0, 0
	for _, r := range renderers {
		if r.Kustomize != nil {
			patches, images = patches+len(r.Kustomize.Patches), images+len(r.Kustomize.Images)
		}
	}
	c.entries(patches, "spec.postRenderers[*].kustomize.patches")
	c.entries(images, "spec.postRenderers[*].kustomize.images")
}

func (c *limitCheck) entries(n int, field string, indices ...any) {
	c.check(n, maxEntries, "entries", field, indices)
}

func (c *limitCheck) bytes(n, limit int, field string, indices ...any) {
	c.check(n, limit, "bytes", field, indices)
}

func (c *limitCheck) check(n, limit int, unit, field string, indices []any) {
	if c.err == nil && n > limit {
		c.err = unsupported("%s has %d %s, more than %d", fmt.Sprintf(field, indices...), n, unit, limit)
	}
}
