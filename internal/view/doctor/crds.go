// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Names of CRDs.
const (
	helmReleases = "helmreleases.helm.toolkit.fluxcd.io"
	// sources is the group of source-controller.
	sources = ".source.toolkit.fluxcd.io"
)

// RequiredCRDs returns the CRDs without which the controller does not start, and the version of
// each that it uses.
func RequiredCRDs() map[string]string {
	return map[string]string{helmReleases: "v2", "helmcharts" + sources: "v1", "ocirepositories" + sources: "v1"}
}

// OptionalCRDs returns the CRDs of kinds that need not be installed.
func OptionalCRDs() []string {
	return []string{
		"operations.ops.vworkspace.io", "releaseplans.pintle.dev", "releasepolicies.pintle.dev", "clusterreleasepolicies.pintle.dev",
	}
}

// crds checks the versions of CRDs.
func crds(f Facts) []Finding {
	if f.unread(ResourceCRDs) {
		return nil
	}
	var all []Finding
	var absent []string
	for _, crd := range f.CRDs {
		version := RequiredCRDs()[crd.Name]
		switch {
		case !crd.Found && version == "":
			absent = append(absent, crd.Name)
		case version != "":
			all = append(all, checkServed(crd, version)...)
		}
	}
	if len(all) == 0 {
		all = append(all, Finding{Level: OK, Check: "CRDs", What: "the CRDs of HelmReleases and sources are served in the versions that Pintle uses"})
	}
	if slices.ContainsFunc(f.CRDs, func(crd CRD) bool { return crd.NoTemplateKind }) {
		all = append(all, Finding{
			Level: Note, Check: "CRDs", What: "the CRD of HelmRelease does not have spec.chart.kind", Objects: []string{helmReleases},
			Meaning: "It is that of helm-controller 1.6. The API server rejects HelmReleases with kind OCIRepository in spec.chart, and all others work.",
			Do:      "To use it: kubectl apply --server-side -k config/crd",
		})
	}
	if slices.ContainsFunc(f.CRDs, func(crd CRD) bool { return crd.NoFileValues }) {
		all = append(all, Finding{
			Level: Note, Check: "CRDs", What: "the CRD of HelmRelease takes no values from files of sources", Objects: []string{helmReleases},
			Meaning: "It is that of helm-controller. The API server rejects HelmReleases with a GitRepository, OCIRepository, Bucket or ExternalArtifact in spec.valuesFrom, and all others work.",
			Do:      "To use them: kubectl apply --server-side --force-conflicts -k config/crd",
		})
	}
	if len(absent) > 0 {
		all = append(all, Finding{
			Level: Note, Check: "CRDs", What: fmt.Sprintf("%d optional CRDs are not installed", len(absent)), Objects: absent,
			Meaning: "HelmReleases work without them. Operations, plans and policies do not exist.",
			Do:      "To use them: kubectl apply --server-side -k config/crd",
		})
	}
	return all
}

// checkServed checks a CRD that the controller needs.
func checkServed(crd CRD, version string) []Finding {
	finding := Finding{Level: Failed, Check: "CRDs", Objects: []string{crd.Name}}
	isSource := strings.HasSuffix(crd.Name, sources)
	switch {
	case !crd.Found && isSource:
		finding.What = fmt.Sprintf("the CRD %s does not exist", crd.Name)
		finding.Meaning = "Pintle watches this kind, and exits without it."
		finding.Do = "Install source-controller."
	case !crd.Found:
		finding.What = fmt.Sprintf("the CRD %s does not exist", crd.Name)
		finding.Meaning = "Pintle watches this kind, and exits without it."
		finding.Do = "kubectl apply --server-side -k config/crd"
	case !slices.Contains(crd.Served, version):
		finding.What = fmt.Sprintf("the CRD %s does not serve version %s, only %s", crd.Name, version, list(crd.Served))
		finding.Meaning = "Pintle uses no other version, and exits."
		finding.Do = "Upgrade the CRD: that of Flux 2.3 or later, or config/crd."
		if isSource {
			finding.Do = "Upgrade source-controller and its CRDs."
		}
	default:
		return checkStored(crd, version)
	}
	return []Finding{finding}
}

// checkStored checks that no object may be stored in a version that newer CRDs do not have.
func checkStored(crd CRD, version string) []Finding {
	old := slices.DeleteFunc(slices.Clone(crd.Stored), func(v string) bool { return v == version })
	if crd.Name != helmReleases || len(old) == 0 {
		return nil
	}
	return []Finding{{
		Level: Failed, Check: "CRDs", Objects: []string{crd.Name},
		What: fmt.Sprintf("objects of %s may be stored as %s, which the CRD of Pintle does not have", crd.Name, list(old)),
		Meaning: "The API server refuses a CRD without a stored version, so config/crd cannot be applied. " +
			"Replacing only the image of the controller works.",
		Do: "Write each object once, then drop the versions: " +
			"kubectl get helmreleases.helm.toolkit.fluxcd.io -A -o json | kubectl replace -f - && " +
			"kubectl patch crd " + crd.Name + " --subresource=status --type=merge -p '{\"status\":{\"storedVersions\":[\"" + version + "\"]}}'",
	}}
}
