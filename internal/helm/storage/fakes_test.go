// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// fakeSecrets is a secretAPI over a client in memory.
type fakeSecrets struct{ client corev1client.SecretInterface }

func (f fakeSecrets) get(ctx context.Context, name string) (*corev1.Secret, error) {
	return f.client.Get(ctx, name, metav1.GetOptions{})
}

func (f fakeSecrets) list(ctx context.Context, selector labels.Set) ([]record, string, error) {
	list, err := f.client.List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, "", err
	}
	var all []record
	for i := range list.Items {
		if rec, ok := recordOf(&list.Items[i]); ok {
			all = append(all, rec)
		}
	}
	return all, list.ResourceVersion, nil
}

func (f fakeSecrets) create(ctx context.Context, secret *corev1.Secret) (record, error) {
	return f.answer(f.client.Create(ctx, secret, metav1.CreateOptions{}))
}

func (f fakeSecrets) update(ctx context.Context, secret *corev1.Secret) (record, error) {
	return f.answer(f.client.Update(ctx, secret, metav1.UpdateOptions{}))
}

func (f fakeSecrets) merge(ctx context.Context, name string, patch []byte) (record, error) {
	return f.answer(f.client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}))
}

func (f fakeSecrets) delete(ctx context.Context, name string) error {
	return f.client.Delete(ctx, name, metav1.DeleteOptions{})
}

func (f fakeSecrets) answer(secret *corev1.Secret, err error) (record, error) {
	if err != nil {
		return record{}, err
	}
	rec, _ := recordOf(secret)
	return rec, nil
}

// accessTo returns the access to the release prod/app.
func accessTo(api secretAPI) access {
	return access{api: api, namespace: "prod", release: "app", cache: newReadCache()}
}
