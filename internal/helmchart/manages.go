// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Manages reports whether a HelmChart is to be reconciled: it names a chart, and its annotations name
// Pintle as its only controller.
func Manages(c *cattlev1.HelmChart) bool {
	if c.Spec.Chart == "" && c.Spec.ChartContent == "" {
		return false
	}
	if _, unmanaged := c.Annotations[cattlev1.AnnotationUnmanaged]; unmanaged {
		return false
	}
	return c.Annotations[cattlev1.AnnotationManagedBy] == cattlev1.ManagedBy
}

// Ignored returns the fields of a HelmChart that are set and have no effect. All of them configure the
// Job that k3s runs.
func Ignored(s cattlev1.HelmChartSpec) []string {
	var all []string
	for name, set := range map[string]bool{
		"spec.bootstrap": s.Bootstrap, "spec.jobImage": s.JobImage != "",
		"spec.podSecurityContext": s.PodSecurityContext != nil, "spec.securityContext": s.SecurityContext != nil,
	} {
		if set {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// ReferencedSecrets returns the names of the Secrets whose changes must be noticed.
func ReferencedSecrets(c *cattlev1.HelmChart, config *cattlev1.HelmChartConfig) []string {
	var all []string
	specs := c.Spec.ValuesSecrets
	if config != nil {
		specs = slices.Concat(specs, config.Spec.ValuesSecrets)
	}
	for _, s := range specs {
		if len(s.Keys) > 0 {
			all = append(all, s.Name)
		}
	}
	return all
}

// IsMade reports whether a HelmRelease was made for a HelmChart.
func IsMade(hr *helmv2.HelmRelease) bool {
	o := metav1.GetControllerOfNoCopy(hr)
	return o != nil && o.Kind == cattlev1.HelmChartKind && strings.HasPrefix(o.APIVersion, cattlev1.Group+"/")
}
