// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

// LocalObjectReference references an object in the namespace of the referring object.
type LocalObjectReference struct {
	// Name of the object.
	// +required
	Name string `json:"name"`
}

// SecretKeyReference references a key of a Secret in the namespace of the HelmRelease.
type SecretKeyReference struct {
	// Name of the Secret.
	// +required
	Name string `json:"name"`

	// Key within the Secret. Default: value or, where that does not exist, value.yaml.
	// +optional
	Key string `json:"key,omitempty"`
}

// KubeConfigReference references the connection to another cluster.
//
// +kubebuilder:validation:XValidation:rule="has(self.configMapRef) != has(self.secretRef)",message="exactly one of configMapRef or secretRef must be specified"
type KubeConfigReference struct {
	// ConfigMap, in the namespace of the HelmRelease, that describes the cluster and how to obtain
	// short-lived credentials. Keys: provider (aws, azure, gcp or generic), cluster, address,
	// ca.crt, audiences and serviceAccountName.
	// +optional
	ConfigMapRef *LocalObjectReference `json:"configMapRef,omitempty"`

	// Secret, in the namespace of the HelmRelease, with a kubeconfig. It must be self-contained: by
	// default, exec plugins and file paths in it are rejected.
	// +optional
	SecretRef *SecretKeyReference `json:"secretRef,omitempty"`
}

// DependencyReference references a HelmRelease, or an object of another kind, that has to be ready
// first.
//
// +kubebuilder:validation:XValidation:rule="has(self.apiVersion) == has(self.kind)",message="apiVersion and kind must be specified together"
type DependencyReference struct {
	// API version of the object, with the group. Default, together with kind:
	// helm.toolkit.fluxcd.io/v2.
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

	// Namespace of the object. Default: the namespace of the dependent HelmRelease. Ignored for
	// cluster-scoped kinds.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// CEL expression that checks whether the dependency is ready, in place of the default check.
	// The variable self is the dependent object, dep is the dependency. The result must be a
	// boolean.
	// +optional
	ReadyExpr string `json:"readyExpr,omitempty"`
}

// ValuesReference references values: a key of a ConfigMap or Secret in the namespace of the
// HelmRelease, or files in the artifact of a source.
//
// +kubebuilder:validation:XValidation:rule="!has(self.__namespace__) || (self.kind != 'Secret' && self.kind != 'ConfigMap')",message="namespace must not be set if kind is Secret or ConfigMap"
// +kubebuilder:validation:XValidation:rule="!has(self.valuesKey) || (self.kind != 'Secret' && self.kind != 'ConfigMap') || !self.valuesKey.matches('[/*?@+=]')",message="valuesKey must be a key, not a path, if kind is Secret or ConfigMap"
// +kubebuilder:validation:XValidation:rule="!has(self.targetPath) || !has(self.valuesKey) || !self.valuesKey.matches('[*?]')",message="targetPath must not be set if valuesKey matches several files"
type ValuesReference struct {
	// Kind of the object.
	// +kubebuilder:validation:Enum=Secret;ConfigMap;GitRepository;OCIRepository;Bucket;ExternalArtifact
	// +required
	Kind string `json:"kind"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Namespace of a source. Default: the namespace of the HelmRelease. ConfigMaps and Secrets must
	// be in that namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Key within the ConfigMap or Secret, or path of a file in the artifact of the source. In a path,
	// * and ? match within one name; the files are merged in the order of their names. Default
	// values.yaml.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[\\-._a-zA-Z0-9/*?@+=]+$"
	// +optional
	ValuesKey string `json:"valuesKey,omitempty"`

	// Path within the values at which the content is set, in the notation of Helm's --set. Empty
	// means that the content is a YAML map, merged at the root.
	// +kubebuilder:validation:MaxLength=250
	// +kubebuilder:validation:Pattern="^([a-zA-Z0-9_\\-.\\\\\\/]|\\[[0-9]{1,5}\\])+$"
	// +optional
	TargetPath string `json:"targetPath,omitempty"`

	// Whether the object, key or file may be missing. Default false.
	// +optional
	Optional bool `json:"optional,omitempty"`

	// With targetPath, whether the content is one literal string. Otherwise it is parsed like the
	// right side of Helm's --set. Default false.
	// +optional
	Literal bool `json:"literal,omitempty"`
}

// CommonMetadata are labels and annotations for every rendered object.
//
// Its digest depends on the order of the fields, which must equal helm-controller's.
type CommonMetadata struct {
	// Annotations to set. They override annotations of the chart.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Labels to set. They override labels of the chart.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// PostRenderer is one step that changes the rendered manifests.
type PostRenderer struct {
	// Changes by kustomize. Absent means that the step has no effect.
	// +optional
	Kustomize *Kustomize `json:"kustomize,omitempty"`
}

// Kustomize are the changes of a kustomization.
type Kustomize struct {
	// Patches, applied in this order.
	// +optional
	Patches []Patch `json:"patches,omitempty"`

	// Container images to replace.
	// +optional
	Images []Image `json:"images,omitempty"`
}

// Patch changes the selected objects.
type Patch struct {
	// Either a part of an object for a strategic merge, or a list of JSON patch (RFC 6902)
	// operations. YAML or JSON.
	// +required
	Patch string `json:"patch"`

	// The objects to change. Absent means the object with the kind and name in the patch. A list of
	// operations requires a target.
	// +optional
	Target *Selector `json:"target,omitempty"`
}

// Image replaces a container image.
type Image struct {
	// Name of the image to replace, without tag and digest.
	// +required
	Name string `json:"name"`

	// New name. Empty keeps the name.
	// +optional
	NewName string `json:"newName,omitempty"`

	// New tag. Empty keeps the tag.
	// +optional
	NewTag string `json:"newTag,omitempty"`

	// New digest in place of a tag. It overrides newTag. Empty sets none.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// Selector selects objects. All fields must match. An empty field matches everything. All fields
// but the two selectors are regular expressions that must match as a whole.
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

// WaitStrategy selects how to check whether applied objects are ready.
type WaitStrategy struct {
	// poller checks every kind of object by its status and uses healthCheckExprs; legacy checks as
	// Helm 3 does.
	// +required
	Name WaitStrategyName `json:"name"`
}

// CustomHealthCheck are CEL expressions for the readiness of objects of one kind.
type CustomHealthCheck struct {
	// API version of the objects, with the group.
	// +required
	APIVersion string `json:"apiVersion"`

	// Kind of the objects.
	// +optional
	Kind string `json:"kind,omitempty"`

	// True while an object is in progress. Evaluated first. Empty means never.
	// +optional
	InProgress string `json:"inProgress,omitempty"`

	// True once an object has failed. Evaluated before current. Empty means never.
	// +optional
	Failed string `json:"failed,omitempty"`

	// True once an object is ready.
	// +required
	Current string `json:"current"`
}

// DriftDetection are the settings of the comparison of live objects with the release.
type DriftDetection struct {
	// Treatment of differences: enabled reports and corrects them, warn reports them, disabled does
	// not compare. Default disabled.
	// +optional
	Mode DriftDetectionMode `json:"mode,omitempty"`

	// Differences to ignore.
	// +optional
	Ignore []IgnoreRule `json:"ignore,omitempty"`
}

// IgnoreRule selects parts of objects that may differ from the release.
type IgnoreRule struct {
	// JSON pointers (RFC 6901) to the parts. An empty pointer excludes the whole object.
	// +required
	Paths []string `json:"paths"`

	// The objects that the rule applies to. Absent means all of them.
	// +optional
	Target *Selector `json:"target,omitempty"`
}
