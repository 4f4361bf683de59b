// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v1

// Types of conditions. k3s' helm-controller has JobCreated and Failed.
const (
	// ConditionJobCreated is True once the HelmRelease exists. No Job is created.
	ConditionJobCreated string = "JobCreated"

	// ConditionFailed is True if the HelmChart is refused, or if its release has failed.
	ConditionFailed string = "Failed"

	// ConditionReady is True if the release matches the HelmChart.
	ConditionReady string = "Ready"

	// ConditionIgnored is True if fields are set that have no effect. Its message names them.
	ConditionIgnored string = "Ignored"
)

// Reasons of conditions. Ready and Failed also have the reasons of the HelmRelease.
const (
	// ReasonHelmReleaseCreated means that the HelmRelease exists.
	ReasonHelmReleaseCreated string = "HelmReleaseCreated"

	// ReasonRefused means that a field is set, or is missing, which is not supported.
	ReasonRefused string = "Refused"

	// ReasonUnsupportedVersion means that spec.helmVersion is not v3.
	ReasonUnsupportedVersion string = "UnsupportedVersion"

	// ReasonNameTaken means that an object of the required name exists that was not made for the
	// HelmChart.
	ReasonNameTaken string = "NameTaken"

	// ReasonNoServiceAccount means that no ServiceAccount may install the release.
	ReasonNoServiceAccount string = "NoServiceAccount"

	// ReasonArtifactFailed means that the archive of the chart could not be fetched.
	ReasonArtifactFailed string = "ArtifactFailed"

	// ReasonWaitsForChange means that the last attempt failed, and that the next one follows a change.
	ReasonWaitsForChange string = "WaitsForChange"

	// ReasonClaimsKept means that a failed release was not reinstalled because it may hold
	// PersistentVolumeClaims.
	ReasonClaimsKept string = "ClaimsKept"

	// ReasonNoEffect means that fields have no effect.
	ReasonNoEffect string = "NoEffect"

	// EventReasonHandedOver is the reason of an event only. It means that the release stays for another
	// controller.
	EventReasonHandedOver string = "HandedOver"
)

// Annotations of HelmCharts.
const (
	// AnnotationManagedBy names the only controller that may act on a HelmChart.
	AnnotationManagedBy string = "helmcharts.cattle.io/managed-by"

	// ManagedBy is the value of AnnotationManagedBy that has an effect.
	ManagedBy string = "pintle"

	// AnnotationUnmanaged, with any value, excludes a HelmChart from every controller.
	AnnotationUnmanaged string = "helmcharts.helm.cattle.io/unmanaged"

	// AnnotationWait makes installs and upgrades wait until objects are ready if the value is true.
	AnnotationWait string = "pintle.dev/wait"
)

// FinalizerK3s is the finalizer of k3s' helm-controller.
const FinalizerK3s string = "wrangler.cattle.io/on-helm-chart-remove"

// LabelConfigHash is a label of the records of releases that k3s' helm-controller has made.
const LabelConfigHash string = "helmcharts.helm.cattle.io/configHash"

const (
	// LabelHelmChart is the label of every object that is made for a HelmChart. Its value is the name.
	LabelHelmChart string = "pintle.dev/helmchart"

	// AnnotationInputs is an annotation of a HelmRelease that is made for a HelmChart. Its value is a
	// digest of what the HelmRelease is made from.
	AnnotationInputs string = "pintle.dev/helmchart-inputs"

	// AnnotationApplied is an annotation of every object that is made for a HelmChart. Its value is a
	// digest of what was applied.
	AnnotationApplied string = "pintle.dev/helmchart-applied"
)
