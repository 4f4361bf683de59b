// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/helm/kinds"
	"github.com/pintle-dev/pintle/internal/parallel"
	"github.com/pintle-dev/pintle/internal/release"
)

// concurrency is the number of concurrent requests about the objects of one action.
const concurrency = 8

// each calls do for every object, several at a time, and returns the errors in the order of the
// list.
func each(ctx context.Context, list kube.ResourceList, do func(i int, info *resource.Info) error) []error {
	return parallel.Do(ctx, len(list), concurrency, func(i int) error { return do(i, list[i]) })
}

// byKind splits a list where the kind changes. Objects of one kind do not depend on each other.
func byKind(list kube.ResourceList) []kube.ResourceList {
	var batches []kube.ResourceList
	for i, info := range list {
		if i == 0 || info.Mapping.GroupVersionKind.GroupKind() != list[i-1].Mapping.GroupVersionKind.GroupKind() {
			batches = append(batches, nil)
		}
		batches[len(batches)-1].Append(info)
	}
	return batches
}

// objectKey identifies an object, independent of the version and former group of its API.
type objectKey struct {
	kind            apischema.GroupKind
	namespace, name string
}

func keyOf(info *resource.Info) objectKey {
	return objectKey{kind: kinds.Canonical(info.Mapping.GroupVersionKind.GroupKind()), namespace: info.Namespace, name: info.Name}
}

// describe returns the objects of a list, each once.
func describe(list kube.ResourceList) []release.Object {
	all := make([]release.Object, 0, len(list))
	for _, info := range list {
		o := objectOf(info)
		if !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
}

// objectOf returns the object of an Info.
func objectOf(info *resource.Info) release.Object {
	gvk := info.Mapping.GroupVersionKind
	o := release.Object{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: info.Name}
	if info.Namespaced() {
		o.Namespace = info.Namespace
	}
	return o
}

// webhooksIn returns the names of the admission webhooks that objects configure.
func webhooksIn(list kube.ResourceList) []string {
	var names []string
	for _, info := range list {
		object, ok := info.Object.(*unstructured.Unstructured)
		if !ok || info.Mapping.GroupVersionKind.Group != "admissionregistration.k8s.io" {
			continue
		}
		webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
		for _, w := range webhooks {
			if webhook, ok := w.(map[string]any); ok {
				name, _ := webhook["name"].(string)
				names = append(names, name)
			}
		}
	}
	return names
}

// apisIn returns the APIs that APIServices register, as "<group>/<version>".
func apisIn(list kube.ResourceList) []string {
	var apis []string
	for _, info := range list {
		object, ok := info.Object.(*unstructured.Unstructured)
		if !ok || info.Mapping.GroupVersionKind.GroupKind() != (apischema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}) {
			continue
		}
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		version, _, _ := unstructured.NestedString(object.Object, "spec", "version")
		apis = append(apis, group+"/"+version)
	}
	return apis
}

// changedObjects returns the objects of list that previous does not contain, or contains in another
// form.
func changedObjects(list, previous kube.ResourceList) kube.ResourceList {
	was := make(map[objectKey]runtime.Object, len(previous))
	for _, info := range previous {
		if _, twice := was[keyOf(info)]; !twice {
			was[keyOf(info)] = info.Object
		}
	}
	return list.Filter(func(info *resource.Info) bool {
		before, ok := was[keyOf(info)]
		return !ok || !sameObject(before, info.Object)
	})
}

func sameObject(a, b runtime.Object) bool {
	before, isParsed := a.(*unstructured.Unstructured)
	after, areParsed := b.(*unstructured.Unstructured)
	if !isParsed || !areParsed {
		return equality.Semantic.DeepEqual(a, b)
	}
	return sameValue(before.Object, after.Object)
}

// sameValue compares values that were parsed from JSON, without reflection.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok || !sameValue(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	}
	return a == b
}

// encode returns an object as JSON. encoding/json would parse the result again.
func encode(object runtime.Object) ([]byte, error) {
	if _, ok := object.(*unstructured.Unstructured); ok {
		return runtime.Encode(unstructured.UnstructuredJSONScheme, object)
	}
	return json.Marshal(object)
}

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

// keeps reports whether an annotation excludes an object from deletion by Helm.
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
	if apierrors.IsNotFound(err) && !apiretry.NotServed(err) {
		return nil, nil //nolint:nilnil // see above
	}
	return live, err
}

// attemptOf returns the ID of the attempt that has created the object of a hook; empty if it is
// unknown.
func attemptOf(live runtime.Object) string {
	object, err := meta.Accessor(live)
	if err != nil {
		return ""
	}
	return object.GetAnnotations()[helmv2.AnnotationAttempt]
}

// suffixLength is the length of the suffix that API servers add to metadata.generateName.
// maxGenerated is the length of the prefix that they keep.
const (
	suffixLength = 5
	maxGenerated = 63 - suffixLength
)

// annotateAttempt annotates the objects of a hook with the ID of the attempt that creates them.
// Pintle then recognizes an object if the answer to its creation was lost, or if another process has
// created it. For the same reason the names of objects with metadata.generateName are generated
// here, from the run of the hook.
func annotateAttempt(list kube.ResourceList, attempt, run string) error {
	for i, info := range list {
		object, err := meta.Accessor(info.Object)
		if err != nil {
			return err
		}
		object.SetAnnotations(with(object.GetAnnotations(), helmv2.AnnotationAttempt, attempt))
		if base := object.GetGenerateName(); info.Name == "" && base != "" {
			sum := sha256.Sum256(fmt.Append(nil, attempt, "/", run, "/", i))
			info.Name = base[:min(len(base), maxGenerated)] + rand.SafeEncodeString(hex.EncodeToString(sum[:])[:suffixLength])
			object.SetName(info.Name)
		}
	}
	return nil
}
