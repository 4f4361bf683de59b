// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// kindHelmRepository is the kind of the source of a chart in a repository.
const kindHelmRepository = "HelmRepository"

// keyCA is the key of the Secret of a HelmChart that source-controller reads certificates from.
const keyCA = "ca.crt"

// Source is the object that provides the chart, in group source.toolkit.fluxcd.io. It has the name of
// the HelmChart.
type Source struct {
	Kind string
	Spec map[string]any
	// Archive is the artifact in the status of an ExternalArtifact; nil for other kinds.
	Archive *Archive

	name, chart, version string
}

// use makes a HelmRelease use the source.
func (s Source) use(spec *helmv2.HelmReleaseSpec) {
	if s.Kind != kindHelmRepository {
		spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: s.Kind, Name: s.name}
		return
	}
	spec.Chart = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
		Chart: s.chart, Version: s.version, ReconcileStrategy: helmv2.ReconcileStrategyChartVersion,
		SourceRef: helmv2.CrossNamespaceObjectReference{Kind: kindHelmRepository, Name: s.name},
	}}
}

// FromArchive reports whether a HelmChart has its chart in an archive, which Pintle itself reads: in
// spec.chartContent, or at a URL.
func FromArchive(s cattlev1.HelmChartSpec) bool {
	return s.ChartContent != "" || !isOCI(s.Chart) && strings.Contains(s.Chart, "://")
}

func isOCI(chart string) bool { return strings.HasPrefix(chart, "oci://") }

// sourceOf returns the source of the chart. It adds certificates to the Secret.
func sourceOf(in Input, secret map[string][]byte) (Source, *Refusal) {
	spec := in.Chart.Spec
	switch {
	case FromArchive(spec):
		return archive(in)
	case spec.InsecureSkipTLSVerify:
		return Source{}, refuse("spec.insecureSkipTLSVerify is not supported: source-controller verifies certificates. Set spec.repoCA")
	}
	certs, r := certificates(in)
	if r != nil {
		return Source{}, r
	}
	s := Source{Spec: map[string]any{"interval": Interval.String()}, name: in.Chart.Name}
	if certs != "" {
		secret[keyCA] = []byte(certs)
		s.Spec["certSecretRef"] = reference(SecretName(in.Chart))
	}
	if isOCI(spec.Chart) {
		return s, s.fromRegistry(spec)
	}
	return s, s.fromRepository(spec)
}

func reference(name string) map[string]any { return map[string]any{"name": name} }

// fromRegistry completes the OCIRepository of a chart in a registry.
func (s *Source) fromRegistry(spec cattlev1.HelmChartSpec) *Refusal {
	s.Kind = helmv2.KindOCIRepository
	switch {
	case spec.Repo != "":
		return refuse("spec.repo is not supported with spec.chart oci://…: the chart has its own registry")
	case spec.AuthSecret != nil:
		return refuse("spec.authSecret is not supported with spec.chart oci://…: set spec.dockerRegistrySecret")
	case spec.AuthPassCredentials:
		return refuse("spec.authPassCredentials is not supported with spec.chart oci://…")
	}
	location, digest, _ := strings.Cut(spec.Chart, "@")
	tag := ""
	if slash, colon := strings.LastIndex(location, "/"), strings.LastIndex(location, ":"); colon > slash {
		location, tag = location[:colon], location[colon+1:]
	}
	s.Spec["url"] = location
	s.Spec["ref"] = registryReference(tag, digest, spec.Version)
	s.Spec["layerSelector"] = map[string]any{"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "operation": "copy"}
	if spec.PlainHTTP {
		s.Spec["insecure"] = true
	}
	if ref := spec.DockerRegistrySecret; ref != nil {
		s.Spec["secretRef"] = reference(ref.Name)
	}
	return nil
}

// registryReference returns spec.ref of an OCIRepository. A digest in the URL comes before a tag there,
// and a tag before the version. A tag has an underscore in place of a plus sign.
func registryReference(tag, digest, version string) map[string]any {
	switch {
	case digest != "":
		return map[string]any{"digest": digest}
	case tag != "":
		return map[string]any{"tag": tag}
	case version == "":
		return map[string]any{"semver": "*"}
	}
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v")); err == nil {
		return map[string]any{"tag": strings.ReplaceAll(version, "+", "_")}
	}
	return map[string]any{"semver": version}
}

// fromRepository completes the HelmRepository of a chart in a repository.
func (s *Source) fromRepository(spec cattlev1.HelmChartSpec) *Refusal {
	s.Kind, s.chart, s.version = kindHelmRepository, spec.Chart, spec.Version
	if s.version == "" {
		s.version = "*"
	}
	scheme, rest, _ := strings.Cut(spec.Repo, "://")
	host, _, _ := strings.Cut(rest, "/")
	switch {
	case spec.Repo == "":
		return refuse("spec.repo is not set, and spec.chart %q is neither oci://… nor the URL of an archive", spec.Chart)
	case host == "" || scheme != "http" && scheme != "https":
		return refuse("spec.repo is not an http or https URL")
	case strings.Contains(host, "@"):
		return refuse("spec.repo has credentials: set spec.authSecret")
	case spec.DockerRegistrySecret != nil:
		return refuse("spec.dockerRegistrySecret is not supported with spec.repo: set spec.authSecret")
	case spec.AuthPassCredentials && spec.AuthSecret == nil:
		return refuse("spec.authPassCredentials is not supported without spec.authSecret")
	case spec.PlainHTTP && scheme != "http":
		return refuse("spec.plainHTTP is not supported with spec.repo https://…")
	}
	s.Spec["url"] = spec.Repo
	if ref := spec.AuthSecret; ref != nil {
		s.Spec["secretRef"] = reference(ref.Name)
	}
	if spec.AuthPassCredentials {
		s.Spec["passCredentials"] = true
	}
	return nil
}

// certificates returns the certificates of spec.repoCA and of all keys of spec.repoCAConfigMap.
func certificates(in Input) (string, *Refusal) {
	ref := in.Chart.Spec.RepoCAConfigMap
	switch {
	case ref == nil:
		return Certificates(in.Chart.Spec.RepoCA, nil), nil
	case in.RepoCA == nil:
		return "", refuse("spec.repoCAConfigMap: ConfigMap '%s/%s' does not exist", in.Chart.Namespace, ref.Name)
	}
	return Certificates(in.Chart.Spec.RepoCA, in.RepoCA), nil
}

// Certificates joins certificates and those in a map, in the order of its keys.
func Certificates(one string, more map[string]string) string {
	var all []string
	if one != "" {
		all = append(all, strings.TrimSpace(one))
	}
	for _, key := range slices.Sorted(maps.Keys(more)) {
		all = append(all, strings.TrimSpace(more[key]))
	}
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, "\n") + "\n"
}

// ArchiveRefusal returns the refusal of a HelmChart with an archive, which must not be read then.
func ArchiveRefusal(in Input) *Refusal {
	if r := refused(in); r != nil {
		return r
	}
	spec, field := in.Chart.Spec, "spec.chart with the URL of an archive"
	if spec.ChartContent != "" {
		field = "spec.chartContent"
	}
	if !in.ExternalArtifacts {
		return refuse("%s needs the CRD ExternalArtifact of source-controller. Restart the controller when it is installed", field)
	}
	if spec.ChartContent != "" {
		return nil
	}
	for _, field := range []struct {
		name, instead string
		set           bool
	}{
		{"repo", "", spec.Repo != ""},
		{"dockerRegistrySecret", ": set spec.authSecret", spec.DockerRegistrySecret != nil},
		{"insecureSkipTLSVerify", ": set spec.repoCA", spec.InsecureSkipTLSVerify},
		{"authPassCredentials without spec.authSecret", "", spec.AuthPassCredentials && spec.AuthSecret == nil},
		{"plainHTTP", ", which has its own scheme", spec.PlainHTTP && !strings.HasPrefix(spec.Chart, "http://")},
	} {
		if field.set {
			return refuse("spec.%s is not supported with the URL of an archive in spec.chart%s", field.name, field.instead)
		}
	}
	return nil
}

// archive returns the ExternalArtifact of a chart that Pintle itself reads.
func archive(in Input) (Source, *Refusal) {
	if r := ArchiveRefusal(in); r != nil {
		return Source{}, r
	}
	if in.Archive == nil {
		return Source{}, refuse("spec.chart is not an http or https URL without credentials")
	}
	s := Source{Kind: helmv2.KindExternalArtifact, name: in.Chart.Name, Archive: in.Archive, Spec: map[string]any{
		"sourceRef": map[string]any{"apiVersion": cattlev1.GroupVersion.String(), "kind": cattlev1.HelmChartKind, "name": in.Chart.Name},
	}}
	return s, nil
}
