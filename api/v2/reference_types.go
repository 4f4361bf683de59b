// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

// LocalObjectReference names an object in the namespace of the one that refers to it.
type LocalObjectReference struct {
	// Name of the object.
	// +required
	Name string `json:"name"`
}

// SecretKeyReference names a key of a Secret in the namespace of the HelmRelease.
type SecretKeyReference struct {
	// Name of the Secret.
	// +required
	Name string `json:"name"`

	// Key within the Secret. Default: value or, where that does not exist, value.yaml.
	// +optional
	Key string `json:"key,omitempty"`
}

// KubeConfigReference says how to reach another cluster.
//
// +kubebuilder:validation:XValidation:rule="has(self.configMapRef) || has(self.secretRef)",message="exactly one of configMapRef or secretRef must be specified"
// +kubebuilder:validation:XValidation:rule="!has(self.configMapRef) || !has(self.secretRef)",message="exactly one of configMapRef or secretRef must be specified"
type KubeConfigReference struct {
	// ConfigMap, in the namespace of the HelmRelease, that describes the cluster and how to obtain short-lived
	// credentials for it: provider (aws, azure, gcp or generic), cluster, address, ca.crt, audiences and
	// serviceAccountName.
	// +optional
	ConfigMapRef *LocalObjectReference `json:"configMapRef,omitempty"`

	// Secret, in the namespace of the HelmRelease, that holds a kubeconfig. It has to be self-contained: by default,
	// commands to execute and paths of files in it are not followed.
	// +optional
	SecretRef *SecretKeyReference `json:"secretRef,omitempty"`
}

// DependencyReference names a HelmRelease, or an object of another kind, that has to be ready first.
//
// +kubebuilder:validation:XValidation:rule="has(self.apiVersion) == has(self.kind)",message="apiVersion and kind must be specified together"
type DependencyReference struct {
	// API version of the object, with the group. Default, together with kind: helm.toolkit.fluxcd.io/v2.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// Kind of the object. Default, together with apiVersion: HelmRelease.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Kind string `json:"kind,omitempty"`

	// Name of the object.
	// +required
	Name string `json:"name"`

	// Namespace of the object. Default: the namespace of the one that depends on it. Kinds without namespaces have none.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// CEL expression that says whether the dependency is ready, instead of the usual check. It sees the dependent
	// object as self and the dependency as dep, and has to yield a boolean.
	// +optional
	ReadyExpr string `json:"readyExpr,omitempty"`
}

// ValuesReference names a key of a ConfigMap or Secret, in the namespace of the HelmRelease, to take values from.
type ValuesReference struct {
	// Kind of the object.
	// +kubebuilder:validation:Enum=Secret;ConfigMap
	// +required
	Kind string `json:"kind"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Key within the object. Default values.yaml.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[\\-._a-zA-Z0-9]+$"
	// +optional
	ValuesKey string `json:"valuesKey,omitempty"`

	// Where in the values the content goes, in the notation of Helm's --set. Empty means that the content is a YAML
	// map, merged at the root.
	// +kubebuilder:validation:MaxLength=250
	// +kubebuilder:validation:Pattern="^([a-zA-Z0-9_\\-.\\\\\\/]|\\[[0-9]{1,5}\\])+$"
	// +optional
	TargetPath string `json:"targetPath,omitempty"`

	// Whether it is no error if the object or key is missing. Default false.
	// +optional
	Optional bool `json:"optional,omitempty"`

	// With targetPath, whether the content is taken as one string, to the letter, rather than parsed as the right
	// side of Helm's --set. Default false.
	// +optional
	Literal bool `json:"literal,omitempty"`
}

// CommonMetadata is laid on every rendered object.
//
// Its digest depends on the order of its fields, which is that of the reference.
type CommonMetadata struct {
	// Annotations to set. They win over those of the chart.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Labels to set. They win over those of the chart.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// PostRenderer is one step of changing rendered manifests.
type PostRenderer struct {
	// Changes in the manner of kustomize. Absent means that the step does nothing.
	// +optional
	Kustomize *Kustomize `json:"kustomize,omitempty"`
}

// Kustomize holds changes in the manner of a kustomization file.
type Kustomize struct {
	// Patches, applied in this order.
	// +optional
	Patches []Patch `json:"patches,omitempty"`

	// Container images to put in place of others.
	// +optional
	Images []Image `json:"images,omitempty"`
}

// Patch changes the objects it is meant for.
type Patch struct {
	// The patch itself: either an object in part, merged strategically, or a list of JSON patch (RFC 6902)
	// operations. YAML or JSON.
	// +required
	Patch string `json:"patch"`

	// The objects to change. Absent means the one object that the patch itself names; a list of operations needs a
	// target.
	// +optional
	Target *Selector `json:"target,omitempty"`
}

// Image replaces a container image.
type Image struct {
	// Name of the image to replace, without tag and digest.
	// +required
	Name string `json:"name"`

	// Name to use instead. Empty keeps the name.
	// +optional
	NewName string `json:"newName,omitempty"`

	// Tag to use instead. Empty keeps the tag.
	// +optional
	NewTag string `json:"newTag,omitempty"`

	// Digest to use instead of a tag; it wins over newTag. Empty sets none.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// Selector picks objects. All of its fields have to match, an empty field matches everything, and those that name
// something are regular expressions over the whole name.
type Selector struct {
	// API group.
	// +optional
	Group string `json:"group,omitempty"`

	// API version, without the group.
	// +optional
	Version string `json:"version,omitempty"`

	// Kind.
	// +optional
	Kind string `json:"kind,omitempty"`

	// Namespace.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name.
	// +optional
	Name string `json:"name,omitempty"`

	// Annotations, in the notation of kubectl --selector.
	// +optional
	AnnotationSelector string `json:"annotationSelector,omitempty"`

	// Labels, in the notation of kubectl --selector.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
}

// WaitStrategy says how to find out that applied objects have become ready.
type WaitStrategy struct {
	// Poller judges every kind of object by its status and applies healthCheckExprs; legacy judges as Helm 3 does.
	// +required
	Name WaitStrategyName `json:"name"`
}

// CustomHealthCheck says, in CEL, how the objects of one kind show their state.
type CustomHealthCheck struct {
	// API version of the objects, with the group.
	// +required
	APIVersion string `json:"apiVersion"`

	// Kind of the objects.
	// +optional
	Kind string `json:"kind,omitempty"`

	// True while an object is still being worked on; looked at before the other two. Empty means never.
	// +optional
	InProgress string `json:"inProgress,omitempty"`

	// True once an object has failed; looked at before current. Empty means never.
	// +optional
	Failed string `json:"failed,omitempty"`

	// True once an object is ready.
	// +required
	Current string `json:"current"`
}

// DriftDetection says whether and how live objects are compared with the release.
type DriftDetection struct {
	// What to do about differences: enabled reports and corrects them, warn reports them, disabled does not look.
	// Default disabled.
	// +optional
	Mode DriftDetectionMode `json:"mode,omitempty"`

	// Differences that do not count.
	// +optional
	Ignore []IgnoreRule `json:"ignore,omitempty"`
}

// IgnoreRule names parts of objects that may differ from the release.
type IgnoreRule struct {
	// JSON pointers (RFC 6901) to the parts. An empty pointer exempts the whole object.
	// +required
	Paths []string `json:"paths"`

	// The objects it holds for. Absent means all of them.
	// +optional
	Target *Selector `json:"target,omitempty"`
}
