// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"slices"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/release"
)

// parallel is the number of concurrent requests about the objects of one action.
const parallel = 8

// each calls do for every object, several at a time, and returns the errors in the order of the
// list.
func each(list kube.ResourceList, do func(i int, info *resource.Info) error) []error {
	errs := make([]error, len(list))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, info := range list {
		group.Go(func() error {
			errs[i] = do(i, info)
			return nil
		})
	}
	_ = group.Wait()
	return errs
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

// objectKey identifies an object, independent of the version of its API.
type objectKey struct {
	kind            apischema.GroupKind
	namespace, name string
}

func keyOf(info *resource.Info) objectKey {
	return objectKey{kind: info.Mapping.GroupVersionKind.GroupKind(), namespace: info.Namespace, name: info.Name}
}

// describe returns the objects of a list, each once.
func describe(list kube.ResourceList) []release.Object {
	all := make([]release.Object, 0, len(list))
	for _, info := range list {
		gvk := info.Mapping.GroupVersionKind
		o := release.Object{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: info.Name}
		if info.Namespaced() {
			o.Namespace = info.Namespace
		}
		if !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
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

// changed returns the objects of list that previous does not contain, or contains in another form.
func changed(list, previous kube.ResourceList) kube.ResourceList {
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
