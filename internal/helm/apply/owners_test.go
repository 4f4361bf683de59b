// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/helm/kinds"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/storagetest"
)

// TestOwners: a release has the objects of the newest revision, unless that is uninstalled, and of
// the deployed one, in all storage namespaces. Errors do not name the storage namespaces of others.
func TestOwners(t *testing.T) {
	const nothing = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: else}\n"
	const gone = "apiVersion: gone.example.com/v1\nkind: Gone\nmetadata: {name: one}\n"
	metadata := release.OwnershipMetadata{Name: "shop", Namespace: "prod"}
	namesake := storagetest.Revision(1, helmrelease.StatusDeployed, oneYAML)
	namesake.Namespace = "test"
	vault := []release.OwnerCandidate{{Namespace: "prod", Name: "shop", Near: true, StorageNamespaces: []string{"vault"}}}
	far := []release.OwnerCandidate{{Namespace: "prod", Name: "shop", StorageNamespaces: []string{"vault"}}}
	for name, tc := range map[string]struct {
		reason     string
		stored     []*helmrelease.Release
		vault      []*helmrelease.Release
		candidates []release.OwnerCandidate
		fails      error
		refuse     string
		spoil      bool
		want       release.Owner
		says       string
	}{
		"Nothing":     {reason: "nothing is left of it"},
		"Deployed":    {reason: "it has the object", stored: []*helmrelease.Release{storagetest.Revision(1, helmrelease.StatusDeployed, oneYAML)}, want: release.Owner{Stored: true, HasObject: true}},
		"Dropped":     {reason: "it had the object", stored: []*helmrelease.Release{storagetest.Revision(1, helmrelease.StatusSuperseded, oneYAML), storagetest.Revision(2, helmrelease.StatusDeployed, nothing)}, want: release.Owner{Stored: true}},
		"Dropping":    {reason: "an upgrade that drops it has not ended", stored: []*helmrelease.Release{storagetest.Revision(1, helmrelease.StatusDeployed, oneYAML), storagetest.Revision(2, helmrelease.StatusPendingUpgrade, nothing)}, want: release.Owner{Stored: true, HasObject: true}},
		"Adding":      {reason: "an upgrade that adds it has not ended", stored: []*helmrelease.Release{storagetest.Revision(1, helmrelease.StatusDeployed, nothing), storagetest.Revision(2, helmrelease.StatusFailed, oneYAML)}, want: release.Owner{Stored: true, HasObject: true}},
		"Uninstalled": {reason: "its history was kept", stored: []*helmrelease.Release{storagetest.Revision(1, helmrelease.StatusSuperseded, oneYAML), storagetest.Revision(2, helmrelease.StatusUninstalled, oneYAML)}},
		"AllGone":     {reason: "its history was kept", stored: []*helmrelease.Release{storagetest.Revision(1, helmrelease.StatusUninstalled, oneYAML)}},
		"Namesake":    {reason: "the records are of a release of another namespace", stored: []*helmrelease.Release{namesake}},
		"Claimed":     {reason: "a HelmRelease asks for it", candidates: vault, want: release.Owner{Requested: true}},
		"Vault":       {reason: "a HelmRelease stores it elsewhere", vault: []*helmrelease.Release{storagetest.Revision(1, helmrelease.StatusDeployed, oneYAML)}, candidates: vault, want: release.Owner{Stored: true, HasObject: true, Requested: true}},
		"Far":         {reason: "a HelmRelease of another namespace keeps no objects without a record", candidates: far},
		"FarStored":   {reason: "its records count", vault: []*helmrelease.Release{storagetest.Revision(1, helmrelease.StatusDeployed, oneYAML)}, candidates: far, want: release.Owner{Stored: true, HasObject: true}},
		"FarUnread":   {reason: "and may be there if they cannot be read", candidates: far, refuse: "/api/v1/namespaces/vault/secrets", want: release.Owner{Unread: true}, says: "whether it is there, and what it has, cannot be read"},
		"NotVault":    {reason: "no HelmRelease names the other namespace", vault: []*helmrelease.Release{storagetest.Revision(1, helmrelease.StatusDeployed, oneYAML)}},
		"KindGone":    {reason: "a kind that is gone is that of no object", stored: []*helmrelease.Release{storagetest.Revision(1, helmrelease.StatusDeployed, gone)}, want: release.Owner{Stored: true}},
		"Forbidden":   {reason: "the records may not be listed", refuse: "/api/v1/namespaces/prod/secrets", want: release.Owner{Unread: true}, says: "refused by the test"},
		"Secret":      {reason: "where others store is not said", candidates: vault, refuse: "/api/v1/namespaces/vault/secrets", want: release.Owner{Requested: true, Unread: true}, says: "whether it is there, and what it has, cannot be read"},
		"Spoilt":      {reason: "a record cannot be read", stored: []*helmrelease.Release{storagetest.Revision(1, helmrelease.StatusDeployed, nothing)}, spoil: true, want: release.Owner{Unread: true}, says: "Secret prod/sh.helm.release.v1.shop.v1"},
		"Unlisted":    {reason: "the HelmReleases are not known", fails: errors.New("broken"), want: release.Owner{Unread: true}, says: "whether a HelmRelease asks for it cannot be found out"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			storagetest.Store(t, w.Server, "prod", tc.stored...)
			storagetest.Store(t, w.Server, "vault", tc.vault...)
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
			candidates := func(context.Context, release.OwnershipMetadata) ([]release.OwnerCandidate, error) {
				return tc.candidates, tc.fails
			}
			s := &owners{getter: w.conn, kinds: kinds.New(t.Context(), w.conn, nil), candidates: candidates}
			o := s.get(t.Context(), metadata)
			one := objectKey{kind: corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), namespace: "prod", name: "one"}
			if got := o.facts(one); got != tc.want {
				t.Errorf("%s: %+v, want %+v", tc.reason, got, tc.want)
			}
			if !strings.Contains(o.unread, tc.says) || strings.Contains(o.unread, "vault") {
				t.Errorf("%s: says %q", tc.reason, o.unread)
			}
			w.TakeReads()
			if s.get(t.Context(), metadata); len(w.TakeReads()) != 0 {
				t.Errorf("%s: it is asked for again", tc.reason)
			}
		})
	}
}

// TestReservations: of two actions that find an object free, one may create it. Between namespaces
// only a proof counts that the action may write the object.
func TestReservations(t *testing.T) {
	object := &resource.Info{Namespace: "prod", Name: "one", Mapping: &meta.RESTMapping{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap")}}
	list := kube.ResourceList{object}
	proven := map[bool]func(*resource.Info) bool{true: func(*resource.Info) bool { return true }, false: func(*resource.Info) bool { return false }}
	action := func(uid, namespace string) reserver {
		return reserver{host: "https://h", uid: uid, namespace: namespace, target: release.Target{Name: uid}}
	}
	near, other, far := action("near", "prod"), action("other", "prod"), action("far", "team-b")
	type step struct {
		by reserver
		// does is "claims", "proves" or "ends". conflict is the release that has the object.
		does, conflict string
	}
	for name, tc := range map[string]struct {
		reason string
		steps  []step
	}{
		"Near":      {"in one namespace the first claim counts", []step{{near, "claims", ""}, {other, "claims", "near"}, {other, "proves", "near"}, {near, "proves", ""}}},
		"NearEnded": {"until it ends", []step{{near, "proves", ""}, {near, "ends", ""}, {other, "claims", ""}}},
		"Far":       {"a claim without proof does not count elsewhere", []step{{far, "claims", ""}, {near, "claims", ""}, {near, "proves", ""}}},
		"FarProven": {"a proof counts", []step{{far, "proves", ""}, {near, "claims", "far"}}},
		"Overtaken": {"also for an earlier claim", []step{{far, "claims", ""}, {near, "claims", ""}, {near, "proves", ""}, {far, "proves", "near"}, {far, "claims", "near"}}},
		"Late":      {"and after its action, since what is known of the object is out of date", []step{{far, "claims", ""}, {near, "claims", ""}, {near, "proves", ""}, {near, "ends", ""}, {far, "proves", "near"}, {far, "ends", ""}, {far, "claims", ""}}},
		"Unproven":  {"an action without proof leaves nothing behind", []step{{far, "claims", ""}, {near, "claims", ""}, {far, "ends", ""}, {near, "proves", ""}}},
		"Host":      {"in another cluster it is another object", []step{{near, "proves", ""}, {reserver{host: "https://other", uid: "far"}, "proves", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reservations{}
			for i, s := range tc.steps {
				if s.does == "ends" {
					r.release(s.by)
					continue
				}
				if got := r.reserve(s.by, list, proven[s.does == "proves"])[object].Name; got != s.conflict {
					t.Errorf("%s: step %d: %s %s and meets %q, want %q", tc.reason, i, s.by.uid, s.does, got, s.conflict)
				}
			}
			for _, by := range []reserver{near, other, far, {host: "https://other", uid: "far"}} {
				r.release(by)
			}
			if len(r.by) > 0 {
				t.Errorf("%s: left are %v", tc.reason, r.by)
			}
		})
	}
}

// TestDryRunsProve: an action keeps an object from those of other namespaces once its dry run has
// shown that it may write the object.
func TestDryRunsProve(t *testing.T) {
	for forbidden, want := range map[bool]string{false: "ConfigMap/prod/one is about to be made or adopted by another release", true: ""} {
		w := newWorld(t)
		reservations := &Reservations{}
		action := func(uid, namespace string) *Client {
			c := w.client(t.Context(), func(o *Options) {
				o.UID, o.Origin.Namespace, o.Reservations, o.Target.Name = uid, namespace, reservations, uid
			})
			if _, err := c.Build(strings.NewReader(oneYAML), false); err != nil {
				t.Fatal(err)
			}
			c.Begin(Method{ServerSide: true})
			return c
		}
		far, near := action("far", "team-b"), action("near", "prod")
		w.Refuse = func(method, _ string) int {
			if forbidden && method == http.MethodPatch {
				return http.StatusForbidden
			}
			return 0
		}
		err := far.Preflight.DryRuns(&helmrelease.Release{}, helmrelease.HookPreInstall, false, false)
		if (err != nil) != forbidden {
			t.Fatal(err)
		}
		if err := far.Preflight.Ownership(true); err != nil {
			t.Fatal(err)
		}
		if err := near.Preflight.Ownership(true); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("forbidden %t: %v", forbidden, err)
		}
	}
}
