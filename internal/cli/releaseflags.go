// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/values"
)

// releaseFlags are the flags of helm upgrade --install that describe a release.
type releaseFlags struct {
	chart, repo, version string
	atomic, wait         bool
	timeout              time.Duration
	values               values.Flags
	targetNamespace      string
	createNamespace      bool
}

const (
	// defaultInterval is the interval of the objects.
	defaultInterval = 10 * time.Minute
	// maxReleaseName is the limit of Helm for the name of a release.
	maxReleaseName = 53
	// chartLayer is the media type of the layer of an OCI artifact that has the chart.
	chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// objects returns the HelmRelease that the flags describe, and the source of its chart. read returns
// the content of a file.
func (f releaseFlags) objects(namespace, name string, read func(name string) ([]byte, error)) (client.Object, *helmv2.HelmRelease, error) {
	if err := f.check(name); err != nil {
		return nil, nil, err
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	hr := &helmv2.HelmRelease{
		TypeMeta:   metav1.TypeMeta{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind},
		ObjectMeta: meta,
		Spec:       helmv2.HelmReleaseSpec{Interval: metav1.Duration{Duration: defaultInterval}},
	}
	source, err := f.source(meta, &hr.Spec)
	if err != nil {
		return nil, nil, err
	}
	f.setActions(&hr.Spec)
	if f.targetNamespace != "" {
		// The defaults are another name, and records in the namespace of the HelmRelease: helm would not
		// find the release, and a release that helm has installed would not be found.
		hr.Spec.ReleaseName, hr.Spec.TargetNamespace, hr.Spec.StorageNamespace = name, f.targetNamespace, f.targetNamespace
	}
	all, err := f.values.Values(read)
	if err != nil {
		return nil, nil, err
	}
	if len(all) > 0 {
		raw, err := json.Marshal(all)
		if err != nil {
			return nil, nil, err
		}
		hr.Spec.Values = &apiextensionsv1.JSON{Raw: raw}
	}
	return source, hr, nil
}

// helmChart returns the HelmChart of k3s that the flags describe, given the HelmRelease that they
// describe.
func (f releaseFlags) helmChart(hr *helmv2.HelmRelease) (*cattlev1.HelmChart, error) {
	c := &cattlev1.HelmChart{
		TypeMeta: metav1.TypeMeta{APIVersion: cattlev1.GroupVersion.String(), Kind: cattlev1.HelmChartKind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: hr.Namespace, Name: hr.Name, Annotations: map[string]string{cattlev1.AnnotationManagedBy: cattlev1.ManagedBy},
		},
		Spec: cattlev1.HelmChartSpec{
			Repo: strings.TrimSuffix(f.repo, "/"), Chart: strings.TrimSuffix(f.chart, "/"), Version: f.version,
			TargetNamespace: f.targetNamespace, CreateNamespace: f.createNamespace, Timeout: hr.Spec.Timeout,
		},
	}
	if f.wait {
		c.Annotations[cattlev1.AnnotationWait] = "true"
	}
	if hr.Spec.Values != nil {
		// CRDs of older versions of k3s have no field values.
		content, err := yaml.JSONToYAML(hr.Spec.Values.Raw)
		if err != nil {
			return nil, err
		}
		c.Spec.ValuesContent = string(content)
	}
	return c, nil
}

// check returns an error for arguments that have no meaning, alone or together.
func (f releaseFlags) check(name string) error {
	switch {
	case len(validation.IsDNS1123Subdomain(name)) > 0 || len(name) > maxReleaseName:
		return fmt.Errorf("%q is not a valid name of a release: at most %d lower case letters, digits, dashes and dots", name, maxReleaseName)
	case f.version == "":
		return errors.New("--version is required: a version, or '*' for the newest one, which is installed whenever there is another")
	case f.atomic && !f.wait:
		return errors.New("--atomic waits for the objects: leave --wait=false out")
	case f.timeout < 0 || f.timeout%time.Millisecond != 0:
		return fmt.Errorf("--timeout %s is negative, or has fractions of a millisecond", f.timeout)
	case f.targetNamespace != "" && len(validation.IsDNS1123Label(f.targetNamespace)) > 0:
		return fmt.Errorf("--target-namespace: %q is not a valid name of a namespace", f.targetNamespace)
	case f.createNamespace && f.targetNamespace == "":
		return errors.New("--create-namespace has no effect without --target-namespace: the namespace of the HelmRelease must exist")
	}
	return nil
}

// isExact reports whether the version is no range. It returns an error if it is neither.
func (f releaseFlags) isExact() (bool, error) {
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(f.version, "v")); err == nil {
		return true, nil
	}
	if _, err := semver.NewConstraint(f.version); err != nil {
		return false, fmt.Errorf("--version %q is neither a version nor a range of versions", f.version)
	}
	return false, nil
}

// source returns the source of the chart, and sets the fields of the HelmRelease that refer to it.
func (f releaseFlags) source(meta metav1.ObjectMeta, spec *helmv2.HelmReleaseSpec) (client.Object, error) {
	exact, err := f.isExact()
	if err != nil {
		return nil, err
	}
	if f.repo != "" {
		return f.helmRepository(meta, spec)
	}
	if !strings.HasPrefix(f.chart, sourcev1.OCIRepositoryPrefix) {
		return nil, errors.New("--chart is not an oci:// URL. The name of a chart needs the URL of its repository in --repo, which 'helm repo list' shows")
	}
	location, err := locationOf("--chart", f.chart, "oci")
	if err != nil {
		return nil, err
	}
	if base := location[strings.LastIndex(location, "/")+1:]; strings.ContainsAny(base, ":@") {
		return nil, fmt.Errorf("--chart %s has a tag or a digest: set --version in its place", f.chart)
	}
	ref := &sourcev1.OCIRepositoryRef{SemVer: f.version}
	if exact {
		// Tags have no +, and helm pushes _ in its place.
		ref = &sourcev1.OCIRepositoryRef{Tag: strings.ReplaceAll(f.version, "+", "_")}
	}
	spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: sourcev1.OCIRepositoryKind, Name: meta.Name}
	return &sourcev1.OCIRepository{
		TypeMeta:   metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.OCIRepositoryKind},
		ObjectMeta: meta,
		Spec: sourcev1.OCIRepositorySpec{
			Interval: spec.Interval, URL: location, Reference: ref,
			LayerSelector: &sourcev1.OCILayerSelector{MediaType: chartLayer, Operation: sourcev1.OCILayerCopy},
		},
	}, nil
}

// helmRepository is source for a chart in a Helm repository.
func (f releaseFlags) helmRepository(meta metav1.ObjectMeta, spec *helmv2.HelmReleaseSpec) (client.Object, error) {
	location, err := locationOf("--repo", f.repo, "https", "http")
	switch {
	case err != nil:
		return nil, err
	case f.chart == "" || strings.Contains(f.chart, "/"):
		return nil, fmt.Errorf("--chart %q is not the name of a chart in --repo", f.chart)
	}
	spec.Chart = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
		Chart: f.chart, Version: f.version,
		SourceRef: helmv2.CrossNamespaceObjectReference{Kind: sourcev1.HelmRepositoryKind, Name: meta.Name},
	}}
	return &sourcev1.HelmRepository{
		TypeMeta:   metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.HelmRepositoryKind},
		ObjectMeta: meta,
		Spec:       sourcev1.HelmRepositorySpec{Interval: spec.Interval, URL: location},
	}, nil
}

// locationOf returns the URL in a flag without a slash at its end. An error does not repeat
// credentials.
func locationOf(flag, value string, schemes ...string) (string, error) {
	u, err := url.Parse(value)
	switch {
	case err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "":
		return "", fmt.Errorf("%s is not a URL with %s://", flag, schemes[0])
	case u.User != nil:
		return "", fmt.Errorf("%s has credentials, which all readers of the source would see: use a Secret, and name it in spec.secretRef of the source", flag)
	}
	return strings.TrimSuffix(value, "/"), nil
}

// setActions sets how to install and upgrade.
func (f releaseFlags) setActions(spec *helmv2.HelmReleaseSpec) {
	if f.timeout > 0 {
		spec.Timeout = &metav1.Duration{Duration: f.timeout}
	}
	var install helmv2.Install
	var upgrade helmv2.Upgrade
	install.CreateNamespace = f.createNamespace
	install.DisableWait, upgrade.DisableWait = !f.wait, !f.wait
	if f.atomic {
		// One attempt, whose failure is remediated: retries would be others.
		last := true
		install.Remediation = &helmv2.InstallRemediation{RemediateLastFailure: &last}
		upgrade.Remediation = &helmv2.UpgradeRemediation{RemediateLastFailure: &last}
	}
	if install != (helmv2.Install{}) {
		spec.Install = &install
	}
	if upgrade != (helmv2.Upgrade{}) {
		spec.Upgrade = &upgrade
	}
}
