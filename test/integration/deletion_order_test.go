// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// guard is a finalizer that only an operator takes off.
const guard = "example.com/operator"

func guardedChart(t *testing.T) []byte {
	t.Helper()
	return pack(t, "resource", "1.0.0", map[string]string{
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n" +
			"  labels: {operator: {{ .Values.operator }}}\n  finalizers: [" + guard + "]\n",
	})
}

// TestDeletionInOrder: an operator and its custom resources are deleted together. The resources are
// deleted first, since only the operator removes their finalizers.
func TestDeletionInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("operator", "1.0.0", configMapChart(t, "1.0.0"))
	w.publish("resource", "1.0.0", guardedChart(t))
	from := func(source string) func(*helmv2.HelmRelease) {
		return func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = source }
	}
	pair := func(i int) client.MatchingLabels { return client.MatchingLabels{"pair": fmt.Sprint(i)} }
	// pairs is how often an operator and its custom resource are deleted together.
	pairs := 50
	if testing.Short() {
		pairs = 4
	}
	var operators, resources []*helmv2.HelmRelease
	for i := range pairs {
		// Both are deleted by one request, in the order of their names.
		name, resource := fmt.Sprintf("operator-%d", i), fmt.Sprintf("resource-%d", i)
		if i%2 == 1 {
			resource = fmt.Sprintf("custom-%d", i)
		}
		labelled := func(hr *helmv2.HelmRelease) { hr.Labels = pair(i) }
		operators = append(operators, w.release(name, nil, from("operator"), labelled))
		resources = append(resources, w.release(resource, map[string]any{"operator": name}, from("resource"), labelled, func(hr *helmv2.HelmRelease) {
			hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: name}}
			hr.Spec.Timeout = &metav1.Duration{Duration: patience}
		}))
	}
	for i := range pairs {
		w.untilReady(operators[i])
		w.untilReady(resources[i])
	}
	for i := range pairs {
		w.must(suite.client.DeleteAllOf(t.Context(), &helmv2.HelmRelease{}, client.InNamespace(w.namespace), pair(i)))
	}
	w.takeOff()
	for i := range pairs {
		w.untilGone(resources[i])
		w.untilGone(operators[i])
	}
}

// takeOff removes finalizers from ConfigMaps that are being deleted, like their operator, as long
// as the operator exists.
func (w *world) takeOff() {
	w.t.Helper()
	untilTrue(w, "the custom resources to go", func() bool {
		var all corev1.ConfigMapList
		w.must(suite.client.List(w.t.Context(), &all, client.InNamespace(w.namespace)))
		alive, guarded := map[string]bool{}, 0
		for i := range all.Items {
			alive[all.Items[i].Name] = all.Items[i].DeletionTimestamp.IsZero()
		}
		for i := range all.Items {
			cm := &all.Items[i]
			if len(cm.Finalizers) == 0 {
				continue
			}
			guarded++
			operator := cm.Labels["operator"]
			if !alive[operator] {
				w.t.Fatalf("%s is gone, and ConfigMap %s is left with its finalizer", operator, cm.Name)
			}
			if !cm.DeletionTimestamp.IsZero() {
				before := cm.DeepCopy()
				cm.Finalizers = nil
				w.must(client.IgnoreNotFound(suite.client.Patch(w.t.Context(), cm, client.MergeFrom(before))))
			}
		}
		return guarded == 0
	}, w.allConfigMaps())
}

// TestDeletionOfACycle: a cycle of dependencies does not delay deletions, and an event names it.
func TestDeletionOfACycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("base", "1.0.0", configMapChart(t, "1.0.0"))
	one, two := w.release("base", nil), w.release("two", nil, func(hr *helmv2.HelmRelease) {
		hr.Spec.ChartRef.Name, hr.Spec.DependsOn = "base", []helmv2.DependencyReference{{Name: "base"}}
	})
	w.untilReady(one)
	w.untilReady(two)
	w.edit(one, func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "two"}} })
	w.must(suite.client.DeleteAllOf(t.Context(), &helmv2.HelmRelease{}, client.InNamespace(w.namespace)))
	w.untilGone(one)
	w.untilGone(two)
	w.warned(one, helmv2.EventReasonDependentsLeft, "cycle "+w.namespace+"/base -> "+w.namespace+"/two -> "+w.namespace+"/base")
}

// TestOrphanWhileDeleting: an uninstall that cannot end is given up by annotation.
func TestOrphanWhileDeleting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("stuck", "1.0.0", guardedChart(t))
	hr := w.release("stuck", map[string]any{"operator": "none"}, func(hr *helmv2.HelmRelease) {
		hr.Spec.Timeout = &metav1.Duration{Duration: time.Hour}
	})
	w.untilReady(hr)
	w.must(suite.client.Delete(t.Context(), hr))
	w.until(hr, "uninstalls", func(hr *helmv2.HelmRelease) bool {
		return strings.Contains(condition(hr, helmv2.ConditionReconciling).Message, "uninstall")
	})
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Annotations = map[string]string{helmv2.AnnotationOrphan: ""} })
	w.untilGone(hr)
	cm := w.configMap("stuck")
	cm.Finalizers = nil
	w.must(client.IgnoreNotFound(suite.client.Update(t.Context(), cm)))
}

// warned waits for a warning about an object that may no longer exist.
func (w *world) warned(hr *helmv2.HelmRelease, reason string, texts ...string) {
	w.t.Helper()
	untilTrue(w, "event "+reason, func() bool { return w.hasEvent(hr, corev1.EventTypeWarning, reason, texts...) }, w.allEvents())
}
