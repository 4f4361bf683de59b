// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// visitor is the user whose rights everyone has on the web page, which is on loopback.
const visitor = "demo-visitor"

// visitors returns a Role to read everything in the namespace of the demo, Secrets too, and its
// binding to the visitor.
func visitors() []runtime.Object {
	meta := metav1.ObjectMeta{Name: visitor}
	return []runtime.Object{
		&rbacv1.Role{
			TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: meta,
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}},
		},
		&rbacv1.RoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"}, ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: visitor},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: visitor}},
		},
	}
}

// admitVisitors lets visitors of the web page read the namespace of the demo. They have no other
// rights, since an existing cluster may have other objects.
func (d *demo) admitVisitors(ctx context.Context) error {
	for _, object := range visitors() {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return fmt.Errorf("rights of %s: %w", visitor, err)
		}
		if err := d.env.Apply(ctx, namespace, &unstructured.Unstructured{Object: raw}); err != nil {
			return err
		}
	}
	return nil
}
