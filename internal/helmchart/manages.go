// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/util/validation"

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

// wrongReference returns a field whose name cannot be the name of an object, and that name; empty if there
// is none. With a slash it would be part of a path of the API.
func wrongReference(in Input) (field, name string) {
	names := map[string]string{}
	for field, ref := range map[string]*cattlev1.LocalObjectReference{
		"repoCAConfigMap": in.Chart.Spec.RepoCAConfigMap, "authSecret": in.Chart.Spec.AuthSecret, "dockerRegistrySecret": in.Chart.Spec.DockerRegistrySecret,
	} {
		if ref != nil {
			names["spec."+field] = ref.Name
		}
	}
	secrets := map[string][]cattlev1.SecretSpec{"spec": in.Chart.Spec.ValuesSecrets}
	if in.Config != nil {
		secrets[cattlev1.HelmChartConfigKind+".spec"] = in.Config.Spec.ValuesSecrets
	}
	for spec, all := range secrets {
		for i, s := range all {
			if len(s.Keys) > 0 {
				names[fmt.Sprintf("%s.valuesSecrets[%d]", spec, i)] = s.Name
			}
		}
	}
	for _, field := range slices.Sorted(maps.Keys(names)) {
		if !IsName(names[field]) {
			return field, names[field]
		}
	}
	return "", ""
}

// IsName reports whether a text can be the name of an object.
func IsName(text string) bool { return len(validation.IsDNS1123Subdomain(text)) == 0 }

// ReferencedSecrets returns the names of the Secrets whose changes must be noticed.
func ReferencedSecrets(specs []cattlev1.SecretSpec) []string {
	var all []string
	for _, s := range specs {
		if len(s.Keys) > 0 && !s.IgnoreUpdates {
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
