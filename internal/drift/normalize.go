// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Normalize returns a copy of a desired object that is fit for comparing and
// applying. A Secret's stringData, which live ones never have, becomes data; what
// only a live object can know, status and the time of creation, goes.
//
// So does what is null in an object of a built-in kind. Applied, it would own the
// field, unset what others put there, and compare all that the API server then
// defaults; and a chart that says "replicas: null" means to say nothing. In maps of
// strings the API server takes null for an empty string, and for custom resources
// it can be a value, so there it stays.
func Normalize(desired *unstructured.Unstructured) *unstructured.Unstructured {
	o := desired.DeepCopy()
	delete(o.Object, "status")
	unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
	dropNulls(o.Object, builtIn(o.GetAPIVersion()))
	if isSecret(o) {
		encodeStringData(o.Object)
	}
	return o
}

// dropNulls removes what is null from maps, or, unless all is to go, the times of
// creation only, which templates of pods have by mistake. Items of lists have a
// place, and stay.
func dropNulls(v any, all bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if value == nil && (all || name == "creationTimestamp") {
				delete(v, name)
				continue
			}
			dropNulls(value, all && !stringMap(name))
		}
	case []any:
		for _, item := range v {
			dropNulls(item, all)
		}
	}
}

// stringMap reports whether a map of that name has strings of the user's naming.
func stringMap(name string) bool {
	switch name {
	case "data", "stringData", "labels", "annotations", "matchLabels", "nodeSelector":
		return true
	}
	return false
}

func isSecret(o *unstructured.Unstructured) bool {
	gvk := o.GroupVersionKind()
	return gvk.Group == "" && gvk.Kind == "Secret"
}

// encodeStringData does what the API server does: stringData wins. What is no
// string is left for the API server to complain about.
func encodeStringData(secret map[string]any) {
	from, ok := secret["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, ok := secret["data"].(map[string]any)
	if !ok {
		if secret["data"] != nil {
			return
		}
		data = map[string]any{}
	}
	for name, value := range from {
		if s, ok := value.(string); ok {
			data[name] = base64.StdEncoding.EncodeToString([]byte(s))
			delete(from, name)
		}
	}
	if len(from) == 0 {
		delete(secret, "stringData")
	}
	if len(data) > 0 {
		secret["data"] = data
	}
}

func isAutoscaler(o *unstructured.Unstructured) bool {
	gvk := o.GroupVersionKind()
	return gvk.Group == "autoscaling" && gvk.Kind == "HorizontalPodAutoscaler"
}

// sortMetrics returns the metrics of a HorizontalPodAutoscaler in an order of our
// own and each once: the API server keeps those of resources apart from others and
// puts them together differently, which changes nothing.
func sortMetrics(metrics any) any {
	list, ok := metrics.([]any)
	if !ok {
		return metrics
	}
	type keyed struct {
		key  string
		item any
	}
	all := make([]keyed, 0, len(list))
	for _, item := range list {
		// Maps are encoded in order of their keys.
		key, err := json.Marshal(item)
		if err != nil {
			return metrics
		}
		all = append(all, keyed{string(key), item})
	}
	slices.SortFunc(all, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	all = slices.CompactFunc(all, func(a, b keyed) bool { return a.key == b.key })
	sorted := make([]any, 0, len(all))
	for _, k := range all {
		sorted = append(sorted, k.item)
	}
	return sorted
}
