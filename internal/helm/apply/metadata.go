// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"maps"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// fieldManager is the name under which Pintle writes objects.
const fieldManager = helmv2.FieldManager

// Origin identifies the HelmRelease of an object.
type Origin struct{ Name, Namespace string }

// label adds the labels of the HelmRelease to an object.
func (o Origin) label(info *resource.Info) error {
	object, err := meta.Accessor(info.Object)
	if err != nil {
		return fmt.Errorf("%s %s: %w", info.Mapping.GroupVersionKind.Kind, info.ObjectName(), err)
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[helmv2.LabelName] = o.Name
	labels[helmv2.LabelNamespace] = o.Namespace
	object.SetLabels(labels)
	return nil
}

// setOwner adds the ownership metadata to an object that Helm adds when it applies the object.
// Stored manifests do not contain it.
func setOwner(info *resource.Info, name, namespace string) {
	object, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	object.SetLabels(with(object.GetLabels(), helmv2.LabelManagedBy, helmv2.ManagedByHelm))
	annotations := with(object.GetAnnotations(), helmv2.AnnotationHelmReleaseName, name)
	annotations[helmv2.AnnotationHelmReleaseNamespace] = namespace
	object.SetAnnotations(annotations)
}

// with returns a copy with one more entry. The original map may be shared.
func with(all map[string]string, key, value string) map[string]string {
	more := maps.Clone(all)
	if more == nil {
		more = map[string]string{}
	}
	more[key] = value
	return more
}

// ownershipMetadataOf returns the ownership metadata of an object.
func ownershipMetadataOf(live runtime.Object) release.OwnershipMetadata {
	object, err := meta.Accessor(live)
	if err != nil {
		return release.OwnershipMetadata{}
	}
	annotations, labels := object.GetAnnotations(), object.GetLabels()
	return release.OwnershipMetadata{
		Name: annotations[helmv2.AnnotationHelmReleaseName], Namespace: annotations[helmv2.AnnotationHelmReleaseNamespace],
		OriginName: labels[helmv2.LabelName], OriginNamespace: labels[helmv2.LabelNamespace],
	}
}

// keeps reports whether an annotation asks Helm not to delete an object.
func keeps(object runtime.Object) bool {
	accessor, err := meta.Accessor(object)
	return err == nil && accessor.GetAnnotations()[kube.ResourcePolicyAnno] == kube.KeepPolicy
}

// acceptMetadata is the Accept header of requests that need only the metadata of an object. An API
// server without partial objects sends the whole object.
const acceptMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// readMetadata reads the metadata of an object from the API server. It returns nil if the object
// does not exist.
func readMetadata(ctx context.Context, info *resource.Info) (runtime.Object, error) {
	live, err := direct(info.Client).Get().
		NamespaceIfScoped(info.Namespace, info.Namespaced()).
		Resource(info.Mapping.Resource.Resource).
		Name(info.Name).
		SetHeader("Accept", acceptMetadata).
		Do(ctx).Get()
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // see above
	}
	return live, err
}

// suffixLength is the length of the suffix that API servers add to metadata.generateName.
// maxGenerated is the length of the prefix that they keep.
const (
	suffixLength = 5
	maxGenerated = 63 - suffixLength
)

// annotateAttempt annotates the objects of a hook with the ID of the attempt that creates them.
// Pintle then recognizes an object if the answer to its creation was lost. For the same reason
// the names of objects with metadata.generateName are generated here.
func annotateAttempt(list kube.ResourceList, attempt string) error {
	for _, info := range list {
		object, err := meta.Accessor(info.Object)
		if err != nil {
			return err
		}
		object.SetAnnotations(with(object.GetAnnotations(), helmv2.AnnotationAttempt, attempt))
		if base := object.GetGenerateName(); info.Name == "" && base != "" {
			info.Name = base[:min(len(base), maxGenerated)] + rand.String(suffixLength)
			object.SetName(info.Name)
		}
	}
	return nil
}
