// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// Interval is the interval of the HelmRelease and of its source.
	Interval = time.Hour
	// maxName is Helm's limit of the name of a release.
	maxName = 53
	// maxHistory is Helm's default.
	maxHistory = 10
	// defaultBackOffLimit is the default of spec.backOffLimit in k3s.
	defaultBackOffLimit = 1000
)

// Input is what a HelmChart is translated from.
type Input struct {
	Chart *cattlev1.HelmChart
	// Config is the HelmChartConfig of the same name; nil if there is none.
	Config *cattlev1.HelmChartConfig
	// HasServiceAccount is true if ServiceAccountName exists.
	HasServiceAccount bool
	// DefaultServiceAccount is the ServiceAccount of HelmReleases that name none; empty for none.
	DefaultServiceAccount string
	// ExternalArtifacts is true if the API server has ExternalArtifacts.
	ExternalArtifacts bool
	// Archive is the artifact of an archive by URL or of spec.chartContent; nil if spec.chart
	// has no URL that can be used.
	Archive *Archive
	// RepoCA has the contents of the ConfigMap in spec.repoCAConfigMap; nil if it does not exist.
	RepoCA map[string]string
	// Secrets has the data of Secrets with ignoreUpdates, by name. Those that do not exist are missing.
	Secrets map[string]map[string][]byte
	// Before is the HelmRelease as it exists, and Kept the data of the Secret; nil if there is none.
	Before *helmv2.HelmRelease
	Kept   map[string][]byte
	// AsK3s reinstalls failed releases even if they hold claims.
	AsK3s bool
}

// Archive is the artifact of a chart that no source-controller fetches.
type Archive struct {
	URL, Digest, Revision string
	// Request is the request that the last read has handled; empty for none.
	Request string
}

// Desired are the objects that a HelmChart stands for. All have its namespace.
type Desired struct {
	// Release is the HelmRelease.
	Release *helmv2.HelmRelease
	// Source provides the chart.
	Source Source
	// Secret is the data of the Secret SecretName.
	Secret map[string][]byte
}

// Refusal states why a HelmChart is not translated.
type Refusal struct {
	Reason, Message string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

func refuse(format string, args ...any) *Refusal {
	return &Refusal{Reason: cattlev1.ReasonRefused, Message: fmt.Sprintf(format, args...)}
}

// ServiceAccountName returns the name of the ServiceAccount that installs a HelmChart, as in k3s.
func ServiceAccountName(c *cattlev1.HelmChart) string { return "helm-" + c.Name }

// SecretName returns the name of the Secret that is made for a HelmChart.
func SecretName(c *cattlev1.HelmChart) string { return "helmchart-" + c.Name }

// Translate returns the objects that a HelmChart stands for. A refusal names the field.
func Translate(in Input) (Desired, *Refusal) {
	if r := refused(in); r != nil {
		return Desired{}, r
	}
	secret := map[string][]byte{}
	if field, name := wrongReference(in); field != "" {
		return Desired{}, refuse("%s: %q is not the name of an object", field, name)
	}
	source, r := sourceOf(in, secret)
	if r != nil {
		return Desired{}, r
	}
	values, r := valuesOf(in)
	if r != nil {
		return Desired{}, r
	}
	c, spec := in.Chart, in.Chart.Spec
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name, Annotations: map[string]string{}}}
	hr.Spec = helmv2.HelmReleaseSpec{
		Interval: metav1.Duration{Duration: Interval}, ReleaseName: c.Name, TargetNamespace: namespace(c), StorageNamespace: namespace(c),
		Timeout: spec.Timeout, MaxHistory: new(maxHistory), ValuesFrom: values.references,
		Install: &helmv2.Install{
			DisableWait: !waits(c), DisableTakeOwnership: !spec.TakeOwnership, CreateNamespace: spec.CreateNamespace, CRDs: helmv2.CRDsCreate,
		},
		Upgrade: &helmv2.Upgrade{
			DisableWait: !waits(c), DisableTakeOwnership: !spec.TakeOwnership, CRDs: helmv2.CRDsSkip,
			// Helm upgrades a release with whatever chart it is given.
			ChartNameChangeStrategy: helmv2.ChartNameChangeInPlaceUpdate,
		},
		Rollback:  &helmv2.Rollback{DisableWait: !waits(c)},
		Uninstall: &helmv2.Uninstall{DisableWait: !waits(c), DeletionPropagation: helmv2.DeletionBackground},
	}
	if in.HasServiceAccount {
		hr.Spec.ServiceAccountName = ServiceAccountName(c)
	}
	setServerSide(&hr.Spec, serverSide(in))
	source.use(&hr.Spec)
	inputs := digest(hr.Spec, source.Spec, values.data, in)
	values.keepIgnored(in, inputs)
	for key, content := range values.data {
		secret[key] = content
	}
	hr.Annotations[cattlev1.AnnotationInputs] = inputs
	remediate(in, hr)
	return Desired{Release: hr, Source: source, Secret: secret}, nil
}

// refused returns the refusal of a HelmChart whose fields cannot be meant, whatever its chart is.
func refused(in Input) *Refusal {
	c, spec := in.Chart, in.Chart.Spec
	switch {
	case spec.HelmVersion != "" && spec.HelmVersion != "v3":
		return &Refusal{cattlev1.ReasonUnsupportedVersion, fmt.Sprintf("Only Helm v3 charts are supported: spec.helmVersion is %q", spec.HelmVersion)}
	case spec.Driver != "" && spec.Driver != cattlev1.DriverSecret:
		return refuse("spec.driver %s is not supported: releases are stored in Secrets", spec.Driver)
	case spec.BackOffLimit != nil && *spec.BackOffLimit < 0:
		return refuse("spec.backOffLimit is negative")
	case len(c.Name) > maxName:
		return refuse("metadata.name is the name of the release, and has more than %d characters", maxName)
	case spec.TargetNamespace != "" && len(validation.IsDNS1123Label(spec.TargetNamespace)) > 0:
		return refuse("spec.targetNamespace %q is not the name of a namespace", spec.TargetNamespace)
	case !in.HasServiceAccount && namespace(c) != c.Namespace:
		return &Refusal{cattlev1.ReasonNoServiceAccount, fmt.Sprintf(
			"spec.targetNamespace is another namespace, which needs ServiceAccount '%s/%s'", c.Namespace, ServiceAccountName(c))}
	case !in.HasServiceAccount && in.DefaultServiceAccount == "":
		return &Refusal{cattlev1.ReasonNoServiceAccount, fmt.Sprintf(
			"ServiceAccount '%s/%s' does not exist, and the flag --default-service-account names no other", c.Namespace, ServiceAccountName(c))}
	}
	return nil
}

func namespace(c *cattlev1.HelmChart) string {
	if c.Spec.TargetNamespace != "" {
		return c.Spec.TargetNamespace
	}
	return c.Namespace
}

// waits reports whether actions wait until objects are ready. k3s does not wait.
func waits(c *cattlev1.HelmChart) bool {
	return strings.EqualFold(c.Annotations[cattlev1.AnnotationWait], "true")
}

func serverSide(in Input) cattlev1.ServerSide {
	if in.Config != nil && in.Config.Spec.ServerSide != "" {
		return in.Config.Spec.ServerSide
	}
	return in.Chart.Spec.ServerSide
}

func setServerSide(spec *helmv2.HelmReleaseSpec, mode cattlev1.ServerSide) {
	install, upgrade := true, helmv2.ServerSideApplyAuto
	switch mode {
	case cattlev1.ServerSideTrue:
		upgrade = helmv2.ServerSideApplyEnabled
	case cattlev1.ServerSideFalse:
		install, upgrade = false, helmv2.ServerSideApplyDisabled
	case cattlev1.ServerSideAuto:
	}
	spec.Install.ServerSideApply, spec.Upgrade.ServerSideApply, spec.Rollback.ServerSideApply = &install, upgrade, upgrade
}

// digest returns a digest of everything that a HelmChart and its HelmChartConfig set.
func digest(spec helmv2.HelmReleaseSpec, source map[string]any, values map[string][]byte, in Input) string {
	// Maps are encoded in the order of their keys. An error is not possible: all have been decoded.
	raw, _ := json.Marshal([]any{spec, source, values, FailurePolicy(in), in.Chart.Spec.BackOffLimit})
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}
