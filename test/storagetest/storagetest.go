// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package storagetest stores release records on the API server of package apitest, for tests.
package storagetest

import (
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/test/apitest"
)

// Revision returns a stored revision of release shop in namespace prod.
func Revision(version int, status helmrelease.Status, manifest string) *helmrelease.Release {
	return &helmrelease.Release{
		Name: "shop", Namespace: "prod", Version: version, Manifest: manifest, Info: &helmrelease.Info{Status: status},
		Labels: map[string]string{},
	}
}

// Store adds the release records of revisions to a namespace of the server.
func Store(t testing.TB, s *apitest.Server, namespace string, all ...*helmrelease.Release) {
	t.Helper()
	for _, rls := range all {
		key := storage.Key(rls.Name, rls.Version)
		secrets := fake.NewClientset().CoreV1().Secrets(namespace)
		if err := driver.NewSecrets(secrets).Create(key, rls); err != nil {
			t.Fatal(err)
		}
		secret, err := secrets.Get(t.Context(), key, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		secret.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(secret)
		if err != nil {
			t.Fatal(err)
		}
		s.Put("/api/v1/namespaces/"+namespace+"/secrets/"+key, object)
	}
}
