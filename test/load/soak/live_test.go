// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func deploymentsOf(meta metav1.ObjectMeta, message string) map[string]*appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: meta}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Name: "MESSAGE", Value: message}}}}
	return map[string]*appsv1.Deployment{meta.Name: d}
}

func servicesOf(meta metav1.ObjectMeta, port int32) map[string]*corev1.Service {
	s := &corev1.Service{ObjectMeta: meta}
	s.Spec.Ports = []corev1.ServicePort{{Port: port}}
	return map[string]*corev1.Service{meta.Name: s}
}

func ingressesOf(meta metav1.ObjectMeta, host string) map[string]*networkingv1.Ingress {
	i := &networkingv1.Ingress{ObjectMeta: meta}
	i.Spec.Rules = []networkingv1.IngressRule{{Host: host}}
	return map[string]*networkingv1.Ingress{meta.Name: i}
}
