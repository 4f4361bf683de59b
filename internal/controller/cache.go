// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
)

// AnnotationTrackingID is the annotation of objects that Argo CD has applied. It is the
// only annotation of ConfigMaps and Secrets that the cache keeps.
const AnnotationTrackingID = "argocd.argoproj.io/tracking-id"

// Cache configures the manager's cache: metadata only for ConfigMaps and Secrets that
// selector matches, Jobs and Pods of Operations, no managedFields. Those are larger than
// some specs, and a patch that is made from a cached object does not touch them.
func Cache(selector labels.Selector) cache.Options {
	selected := cache.ByObject{Label: selector, Transform: stripConfig}
	ofOperations := cache.ByObject{Label: operationLabel()}
	return cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: selected, &corev1.Secret{}: selected, &batchv1.Job{}: ofOperations, &corev1.Pod{}: ofOperations,
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
}

// operationLabel selects objects that are made for Operations.
func operationLabel() labels.Selector {
	exists, err := labels.NewRequirement(opsv1alpha1.LabelOperation, selection.Exists, nil)
	// It can only fail for an invalid label, which every start would show.
	utilruntime.Must(err)
	return labels.NewSelector().Add(*exists)
}

// stripConfig removes large and secret fields from a ConfigMap or Secret. Annotations
// repeat all the data where kubectl applied them. Data only arrive if a watch is not limited
// to metadata by mistake.
func stripConfig(obj any) (any, error) {
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		o.Data, o.BinaryData = nil, nil
	case *corev1.Secret:
		o.Data, o.StringData = nil, nil
	}
	if o, ok := obj.(metav1.Object); ok {
		o.SetAnnotations(onlyTracking(o.GetAnnotations()))
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// onlyTracking returns the annotation that names the Application which applies an object.
func onlyTracking(annotations map[string]string) map[string]string {
	id, ok := annotations[AnnotationTrackingID]
	if !ok {
		return nil
	}
	return map[string]string{AnnotationTrackingID: id}
}

// Client configures the manager's client. It reads ConfigMaps and Secrets past the cache: a
// first read through the cache would watch and keep all of them. It disables the check for
// unknown fields: warnings would not be shown, and the API server decodes each write once more for
// them.
func Client() client.Options {
	return client.Options{
		Cache:           &client.CacheOptions{DisableFor: []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}}},
		FieldValidation: metav1.FieldValidationIgnore,
	}
}
