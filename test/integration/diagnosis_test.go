// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// happens simulates the controllers of a cluster: the Pods of an object, its status, and events
// about it.
type happens struct {
	// status is of the object, pod of a pod of it; empty for none.
	status, pod string
	// reason and message are those of a warning, about the Pod if there is one.
	reason, message string
}

func (w *world) happen(ctx context.Context, object client.Object, h happens) error {
	object.SetNamespace(w.namespace)
	object.SetName("app")
	if err := appears(ctx, object); err != nil {
		return err
	}
	about := object
	if h.pod != "" {
		pod, err := w.podOf(ctx, object, h.pod)
		if err != nil {
			return err
		}
		about = pod
	}
	if h.reason != "" {
		gvk := about.GetObjectKind().GroupVersionKind()
		e := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "e-"},
			InvolvedObject: corev1.ObjectReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: w.namespace, Name: about.GetName(), UID: about.GetUID()},
			Reason:         h.reason, Message: h.message, Type: corev1.EventTypeWarning, LastTimestamp: metav1.Now(),
		}
		if err := suite.client.Create(ctx, e); err != nil {
			return err
		}
	}
	if h.status == "" {
		return nil
	}
	before := object.DeepCopyObject().(client.Object)
	if err := yaml.Unmarshal([]byte("status: "+h.status), object); err != nil {
		return err
	}
	return suite.client.Status().Patch(ctx, object, client.MergeFrom(before))
}

// podOf makes a pod of the object with a status.
func (w *world) podOf(ctx context.Context, of client.Object, status string) (*corev1.Pod, error) {
	yes := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "app-1-x", Labels: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "none"}}},
	}
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "app-1", UID: "some", Controller: &yes}
	if job, ok := of.(*batchv1.Job); ok {
		pod.Labels = job.Spec.Selector.MatchLabels
		owner = metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: &yes}
	}
	pod.OwnerReferences = []metav1.OwnerReference{owner}
	if err := suite.client.Create(ctx, pod); err != nil {
		return nil, err
	}
	before := pod.DeepCopy()
	err := yaml.Unmarshal([]byte("status: "+status), pod)
	if err == nil {
		err = suite.client.Status().Patch(ctx, pod, client.MergeFrom(before))
	}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return pod, err
}

// TestWhyWithoutRights: without permission to read Pods, the release fails as usual, and the
// message names the missing permission.
func TestWhyWithoutRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("tenant", "secrets")
	w.grant("deploy", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "tenant"},
		rule("apps", []string{"deployments"}, []string{"*"}))
	w.publish("app", "1.0.0", pack(t, "note", "1.0.0", map[string]string{"templates/all.yaml": stageDeploy}))
	hr := w.release("app", nil, as("tenant"), func(hr *helmv2.HelmRelease) { hr.Spec.Timeout = &metav1.Duration{Duration: time.Second} })
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInstallFailed,
		"Deployment app was not ready within 1s: ", "timeout waiting for")
	w.until(hr, "an event with the resources that were not read", func(hr *helmv2.HelmRelease) bool {
		var events corev1.EventList
		w.must(suite.client.List(t.Context(), &events, client.InNamespace(hr.Namespace)))
		return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == helmv2.ReasonInstallFailed && containsAll(e.Annotations[helmv2.EventMetadataDetails], "not read: pods: pods is forbidden", "tenant")
		})
	})
}
