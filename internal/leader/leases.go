// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

// LeaseLister returns a function that lists the Leases of a name in all namespaces, as the API
// server has them.
func LeaseLister(client coordinationclient.LeasesGetter, name string) func(context.Context) ([]Lease, error) {
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	return func(ctx context.Context) ([]Lease, error) {
		list, err := client.Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: selector})
		if err != nil {
			return nil, err
		}
		var all []Lease
		for i := range list.Items {
			all = append(all, contentOf(&list.Items[i]))
		}
		return all, nil
	}
}

func contentOf(lease *coordinationv1.Lease) Lease {
	return Lease{
		Namespace: lease.Namespace,
		Holder:    ptr.Deref(lease.Spec.HolderIdentity, ""),
		Acquired:  ptr.Deref(lease.Spec.AcquireTime, metav1.MicroTime{}).UTC(),
		Renewed:   ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).UTC(),
		Duration:  time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second,
	}
}
