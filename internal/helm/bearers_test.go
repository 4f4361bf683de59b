// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/apitest"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// revisionOf is a stored revision of release shop in namespace prod, or in another.
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

// TestBearers: what a release has is what the newest revision says, unless it is
// uninstalled, and the deployed one, wherever they are stored. What cannot be read
// is said, but not where others keep their records.
func TestBearers(t *testing.T) {
	const nothing = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: else}\n"
	const gone = "apiVersion: gone.example.com/v1\nkind: Gone\nmetadata: {name: one}\n"
	marks := release.OwnershipMetadata{Name: "shop", Namespace: "prod"}
	namesake := revisionOf(1, helmrelease.StatusDeployed, oneYAML)
	namesake.Namespace = "test"
	vault := []release.OwnerCandidate{{Namespace: "prod", Name: "shop", StorageNamespaces: []string{"vault"}}}
	for name, tc := range map[string]struct {
		reason    string
		stored    []*helmrelease.Release
		vault     []*helmrelease.Release
		claimants []release.OwnerCandidate
		fails     error
		refuse    string
		spoil     bool
		want      release.Owner
		says      string
	}{
		"Nothing":     {reason: "nothing is left of it"},
		"Deployed":    {reason: "it has the object", stored: []*helmrelease.Release{revisionOf(1, helmrelease.StatusDeployed, oneYAML)}, want: release.Owner{Stored: true, HasObject: true}},
		"Dropped":     {reason: "it had the object", stored: []*helmrelease.Release{revisionOf(1, helmrelease.StatusSuperseded, oneYAML), revisionOf(2, helmrelease.StatusDeployed, nothing)}, want: release.Owner{Stored: true}},
		"Dropping":    {reason: "an upgrade that drops it has not ended", stored: []*helmrelease.Release{revisionOf(1, helmrelease.StatusDeployed, oneYAML), revisionOf(2, helmrelease.StatusPendingUpgrade, nothing)}, want: release.Owner{Stored: true, HasObject: true}},
		"Adding":      {reason: "an upgrade that adds it has not ended", stored: []*helmrelease.Release{revisionOf(1, helmrelease.StatusDeployed, nothing), revisionOf(2, helmrelease.StatusFailed, oneYAML)}, want: release.Owner{Stored: true, HasObject: true}},
		"Uninstalled": {reason: "its history was kept", stored: []*helmrelease.Release{revisionOf(1, helmrelease.StatusSuperseded, oneYAML), revisionOf(2, helmrelease.StatusUninstalled, oneYAML)}},
		"AllGone":     {reason: "its history was kept", stored: []*helmrelease.Release{revisionOf(1, helmrelease.StatusUninstalled, oneYAML)}},
		"Namesake":    {reason: "the records are of a release of another namespace", stored: []*helmrelease.Release{namesake}},
		"Claimed":     {reason: "a HelmRelease asks for it", claimants: vault, want: release.Owner{Requested: true}},
		"Vault":       {reason: "a HelmRelease stores it elsewhere", vault: []*helmrelease.Release{revisionOf(1, helmrelease.StatusDeployed, oneYAML)}, claimants: vault, want: release.Owner{Stored: true, HasObject: true, Requested: true}},
		"NotVault":    {reason: "nobody tells of another place", vault: []*helmrelease.Release{revisionOf(1, helmrelease.StatusDeployed, oneYAML)}},
		"KindGone":    {reason: "a kind that is gone is that of no object", stored: []*helmrelease.Release{revisionOf(1, helmrelease.StatusDeployed, gone)}, want: release.Owner{Stored: true}},
		"Forbidden":   {reason: "the records may not be listed", refuse: "/api/v1/namespaces/prod/secrets", want: release.Owner{Unread: true}, says: "refused by the test"},
		"Secret":      {reason: "where others store is not said", claimants: vault, refuse: "/api/v1/namespaces/vault/secrets", want: release.Owner{Requested: true, Unread: true}, says: "whether it is there, and what it has, cannot be read"},
		"Spoilt":      {reason: "a record cannot be read", stored: []*helmrelease.Release{revisionOf(1, helmrelease.StatusDeployed, nothing)}, spoil: true, want: release.Owner{Unread: true}, says: "Secret prod/sh.helm.release.v1.shop.v1"},
		"Unlisted":    {reason: "the HelmReleases are not known", fails: errors.New("broken"), want: release.Owner{Unread: true}, says: "whether a HelmRelease asks for it cannot be found out"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.keep("prod", tc.stored...)
			w.keep("vault", tc.vault...)
			if tc.spoil {
				secret := w.Object("/api/v1/namespaces/prod/secrets/" + storage.Key("shop", 1)).Object
				secret["data"] = map[string]any{"release": "bm9uc2Vuc2U="}
				w.Put("/api/v1/namespaces/prod/secrets/"+storage.Key("shop", 1), secret)
			}
			w.Refuse = func(_, path string) int {
				if tc.refuse != "" && path == tc.refuse {
					return http.StatusForbidden
				}
				return 0
			}
			s := &bearers{getter: w.conn}
			claimants := func(context.Context, release.OwnershipMetadata) ([]release.OwnerCandidate, error) {
				return tc.claimants, tc.fails
			}
			b := s.of(t.Context(), marks, claimants)
			one := objectKey{kind: corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), namespace: "prod", name: "one"}
			if got := b.found(one); got != tc.want {
				t.Errorf("%s: %+v, want %+v", tc.reason, got, tc.want)
			}
			if !strings.Contains(b.unread, tc.says) || strings.Contains(b.unread, "vault") {
				t.Errorf("%s: says %q", tc.reason, b.unread)
			}
			w.TakeReads()
			if s.of(t.Context(), marks, claimants); len(w.TakeReads()) != 0 {
				t.Errorf("%s: it is asked for again", tc.reason)
			}
		})
	}
}

// TestNeverWorked: of a release that never worked it is not known which of the
// objects that its revision names it had made.
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
