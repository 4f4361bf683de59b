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

// Normalize returns a copy of a desired object that can be compared and applied. A Secret's
// stringData becomes data, since live Secrets have no stringData. The status and the creation time
// are removed.
//
// Null values are removed from objects of built-in kinds. Applied, a null value would own the
// field, remove the values of other managers, and include the API server's default in the
// comparison. A chart with "replicas: null" intends none of these effects. Null stays in maps of
// strings, where the API server reads it as an empty string, and in custom resources, where null
// can be a value.
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

// dropNulls removes null values from maps. Unless all is set, it removes only null creation times,
// which templates of Pods often have. Items of lists stay, since their index matters.
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

// stringMap reports whether the map with the given name has keys that users choose.
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

// encodeStringData merges stringData into data as the API server does: stringData takes precedence.
// Values that are not strings stay, so that the API server rejects them.
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

// sortMetrics returns the metrics of a HorizontalPodAutoscaler sorted and without duplicates. The
// API server reorders metrics by type, which is no difference.
func sortMetrics(metrics any) any {
	list, ok := metrics.([]any)
	if !ok {
		return metrics
	}
	type keyedItem struct {
		key  string
		item any
	}
	all := make([]keyedItem, 0, len(list))
	for _, item := range list {
		// json.Marshal sorts the keys of maps.
		key, err := json.Marshal(item)
		if err != nil {
			return metrics
		}
		all = append(all, keyedItem{string(key), item})
	}
	slices.SortFunc(all, func(a, b keyedItem) int { return strings.Compare(a.key, b.key) })
	all = slices.CompactFunc(all, func(a, b keyedItem) bool { return a.key == b.key })
	sorted := make([]any, 0, len(all))
	for _, k := range all {
		sorted = append(sorted, k.item)
	}
	return sorted
}
