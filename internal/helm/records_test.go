// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"math/rand/v2"
	"strconv"
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/kubernetes"

	"github.com/pintle-dev/pintle/internal/helm/storage"
)

// key is the name of the Secret of a revision of prod/app, without its number.
const key = "sh.helm.release.v1.app.v"

// writeSecret replaces a stored revision with Helm's own driver.
func writeSecret(t *testing.T, w *world, rls *helmrelease.Release) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(w.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := driver.NewSecrets(clients.CoreV1().Secrets("prod")).Update(key+strconv.Itoa(rls.Version), rls); err != nil {
		t.Fatal(err)
	}
}

// emptyIndex returns a synced index without records.
func emptyIndex(t *testing.T, w *world, at string) *storage.Index {
	t.Helper()
	index, err := storage.NewIndex(w.Config(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := index.Replace(nil, at); err != nil {
		t.Fatal(err)
	}
	return index
}

// blob returns n bytes that do not compress. They depend on the seed.
func blob(n int, seed byte) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
	return data
}
