// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"net/http"
	"strings"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/apitest"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// revisionOf is a stored revision of release shop in namespace prod.
func revisionOf(version int, status helmrelease.Status, manifest string) *helmrelease.Release {
	return &helmrelease.Release{
		Name: "shop", Namespace: "prod", Version: version, Manifest: manifest, Info: &helmrelease.Info{Status: status},
		Labels: map[string]string{},
	}
}

// keep stores revisions in a namespace.
func (w *world) keep(namespace string, all ...*helmrelease.Release) {
	w.t.Helper()
	for _, rls := range all {
		key := storage.Key("shop", rls.Version)
		secrets := fake.NewClientset().CoreV1().Secrets(namespace)
		if err := driver.NewSecrets(secrets).Create(key, rls); err != nil {
			w.t.Fatal(err)
		}
		secret, err := secrets.Get(w.t.Context(), key, metav1.GetOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		secret.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(secret)
		if err != nil {
			w.t.Fatal(err)
		}
		w.Put("/api/v1/namespaces/"+namespace+"/secrets/"+key, object)
	}
}

// TestNeverWorked: if no revision of a release ever worked, all its objects are checked, since it
// is not known which of them it created.
func TestNeverWorked(t *testing.T) {
	w := newWorld(t)
	w.Refuse = func(method, path string) int {
		if method == http.MethodPatch && path == twoPath {
			return http.StatusForbidden
		}
		return 0
	}
	fails := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", twoNotes("x")), "1.0.0", nil)
	if out := w.runner.Run(t.Context(), w.conn, fails); out.Err == nil || !out.Stored() {
		t.Fatalf("%v", out.Err)
	}
	w.Refuse = nil
	w.keep("prod", revisionOf(1, helmrelease.StatusDeployed, strings.Replace(oneYAML, "one", "two", 1)))
	w.Put(twoPath, apitest.Parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two, annotations: {meta.helm.sh/release-name: shop, meta.helm.sh/release-namespace: prod}}\n").Object)

	again := job(release.Upgrade{Timeout: time.Minute}, w.chart("1.0.1", twoNotes("x")), "1.0.1", nil)
	out := w.runner.Run(t.Context(), w.conn, again)
	if out.Err == nil || !strings.Contains(out.Err.Error(), "ConfigMap/prod/two is owned by Helm release prod/shop") || strings.Contains(out.Err.Error(), "prod/one") {
		t.Errorf("error %v", out.Err)
	}
	if len(out.Owners) != 1 || out.Stored() || len(w.stored()) != 1 {
		t.Errorf("owners %v, %d revisions", out.Owners, len(w.stored()))
	}
	helmRelease := job(release.Upgrade{Timeout: time.Minute}, again.Artifact, "1.0.1", nil)
	helmRelease.Spec.Upgrade = &helmv2.Upgrade{DisableTakeOwnership: true, DisableWait: true}
	if out = w.runner.Run(t.Context(), w.conn, helmRelease); out.Err == nil || len(out.Owners) != 1 {
		t.Errorf("it does not depend on what is to be taken: %v", out.Err)
	}
}
