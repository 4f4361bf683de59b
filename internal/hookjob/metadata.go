// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package hookjob

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// strippedAnnotations returns the annotations with which Helm would take a clone for a hook or for
// an object of the release.
func strippedAnnotations() []string {
	return []string{
		"helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy", "helm.sh/hook-output-log-policy",
		helmv2.AnnotationHelmResourcePolicy, helmv2.AnnotationHelmReleaseName, helmv2.AnnotationHelmReleaseNamespace,
	}
}

// strippedLabels returns the labels of another Job and of the release.
func strippedLabels() []string {
	return []string{
		"controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name",
		helmv2.LabelName, helmv2.LabelNamespace,
	}
}

// section returns the map of a field of an object. A missing or invalid field is replaced by an
// empty map.
func section(object map[string]any, key string) map[string]any {
	m, ok := object[key].(map[string]any)
	if !ok || m == nil {
		m = map[string]any{}
		object[key] = m
	}
	return m
}

// texts returns the labels or annotations in metadata without values that are not strings.
func texts(meta map[string]any, key string) map[string]any {
	all := map[string]any{}
	m, _ := meta[key].(map[string]any)
	for k, v := range m {
		if s, ok := v.(string); ok {
			all[k] = s
		}
	}
	return all
}

// metadata returns the metadata of a clone: its name and owner, and the kept labels and annotations
// of the hook.
func metadata(in Input, h Hook, meta map[string]any, name string) map[string]any {
	annotations := keptAnnotations(meta)
	annotations[opsv1alpha1.AnnotationSourceHook] = h.Name
	annotations[opsv1alpha1.AnnotationRevision] = strconv.Itoa(in.Release.Revision)
	delete(annotations, opsv1alpha1.AnnotationOperation)
	made := map[string]any{
		"name":        name,
		"namespace":   in.Release.Namespace,
		"labels":      withOwnLabels(in, h, keptLabels(meta)),
		"annotations": annotations,
	}
	if in.elsewhere() {
		// With an owner reference to another namespace the garbage collector deletes the object.
		annotations[opsv1alpha1.AnnotationOperation] = in.Operation.Namespace + "/" + in.Operation.Name
		return made
	}
	made["ownerReferences"] = []any{map[string]any{
		"apiVersion":         opsv1alpha1.GroupVersion.String(),
		"kind":               opsv1alpha1.OperationKind,
		"name":               in.Operation.Name,
		"uid":                in.Operation.UID,
		"controller":         true,
		"blockOwnerDeletion": true,
	}}
	return made
}

func keptAnnotations(meta map[string]any) map[string]any {
	all := texts(meta, "annotations")
	for _, key := range strippedAnnotations() {
		delete(all, key)
	}
	return all
}

func keptLabels(meta map[string]any) map[string]any {
	all := texts(meta, "labels")
	for _, key := range strippedLabels() {
		delete(all, key)
	}
	if all[helmv2.LabelManagedBy] == helmv2.ManagedByHelm {
		// With this label Helm would adopt the object.
		all[helmv2.LabelManagedBy] = opsv1alpha1.ManagedBy
	}
	return all
}

// withOwnLabels adds the labels of the Operation.
func withOwnLabels(in Input, h Hook, all map[string]any) map[string]any {
	all[opsv1alpha1.LabelManagedBy] = opsv1alpha1.ManagedBy
	all[opsv1alpha1.LabelOperation] = in.Operation.UID
	// Labels of the chart must not name another hook or cluster.
	delete(all, opsv1alpha1.LabelSourceHook)
	delete(all, opsv1alpha1.LabelClusterID)
	if isLabelValue(h.Name) {
		all[opsv1alpha1.LabelSourceHook] = h.Name
	}
	if in.ClusterID != "" {
		all[opsv1alpha1.LabelClusterID] = in.ClusterID
	}
	return all
}

// clean removes metadata from the pods of a Job by which they would belong to the release.
func clean(in Input, h Hook, spec map[string]any, selectors []selector) {
	meta := section(section(spec, "template"), "metadata")
	// Neither has a meaning in a template.
	delete(meta, "name")
	delete(meta, "namespace")
	kept := keptLabels(meta)
	for _, s := range selectors {
		s.removeFrom(kept)
	}
	meta["labels"] = withOwnLabels(in, h, kept)
	annotations := keptAnnotations(meta)
	annotations[opsv1alpha1.AnnotationSourceHook] = h.Name
	meta["annotations"] = annotations
}

// selector is the pod selector of an object of the release.
type selector struct {
	selects labels.Selector
	keys    []string
}

// Selects reports whether objects of a kind select pods of their namespace. Autoscalers are not
// among them: they use the selector of their target.
func Selects(kind string) bool {
	switch kind {
	case "Service", "NetworkPolicy", "PodDisruptionBudget", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet":
		return true
	}
	return false
}

// selectorsOf returns the selectors that a pod can avoid. An empty selector selects all pods,
// whatever their labels.
func selectorsOf(objects []Object) []selector {
	var all []selector
	for _, o := range objects {
		s, ok := labelSelector(o)
		if !ok {
			continue
		}
		selects, err := metav1.LabelSelectorAsSelector(&s)
		if err != nil || selects.Empty() {
			continue
		}
		found := selector{selects: selects}
		for key := range s.MatchLabels {
			found.keys = append(found.keys, key)
		}
		for _, e := range s.MatchExpressions {
			if e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpExists {
				found.keys = append(found.keys, e.Key)
			}
		}
		all = append(all, found)
	}
	return all
}

// labelSelector returns the pod selector of an object; false without one.
func labelSelector(o Object) (s metav1.LabelSelector, ok bool) {
	object, err := parse(o.Manifest)
	if err != nil || !Selects(o.Kind) {
		return s, false
	}
	field := "selector"
	if o.Kind == "NetworkPolicy" {
		field = "podSelector"
	}
	raw := section(section(object, "spec"), field)
	if o.Kind == "Service" {
		raw = map[string]any{"matchLabels": raw}
	}
	return s, read(raw, &s) == nil
}

// removeFrom removes the labels by which a pod would be selected.
func (s selector) removeFrom(kept map[string]any) {
	set := labels.Set{}
	for k, v := range kept {
		set[k], _ = v.(string)
	}
	if !s.selects.Matches(set) {
		return
	}
	for _, key := range s.keys {
		delete(kept, key)
	}
}
