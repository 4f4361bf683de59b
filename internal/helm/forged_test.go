// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// forge stores a revision with content of someone who may write Secrets only, with the annotations of
// revision 1 and the label that the controller would set. It replaces one of the same number.
func (w *leftoversWorld) forge(version int, status helmrelease.Status, edit func(*helmrelease.Release)) {
	w.t.Helper()
	clients, err := kubernetes.NewForConfig(w.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	secrets, ctx := clients.CoreV1().Secrets("prod"), w.t.Context()
	genuine, err := secrets.Get(ctx, storage.Key("app", 1), metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	cli := driver.NewSecrets(secrets)
	rls, err := cli.Get(storage.Key("app", 1))
	if err != nil {
		w.t.Fatal(err)
	}
	rls.Version, rls.Info.Status = version, status
	rls.Labels = map[string]string{helmv2.LabelRevision: genuine.Labels[helmv2.LabelRevision][:len("uid-1.")] + string(rune('0'+version))}
	rls.Manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bystander}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: forged}\n"
	rls.Hooks = []*helmrelease.Hook{{
		Name: "hook", Kind: "ConfigMap", Path: "note/templates/hook.yaml", Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook}\n",
		Events: []helmrelease.HookEvent{helmrelease.HookPreDelete, helmrelease.HookPreUpgrade, helmrelease.HookPreRollback, helmrelease.HookPostDelete, helmrelease.HookTest},
	}}
	if edit != nil {
		edit(rls)
	}
	if err := secrets.Delete(ctx, storage.Key("app", version), metav1.DeleteOptions{}); err != nil && version == 1 {
		w.t.Fatal(err)
	}
	if err := cli.Create(storage.Key("app", version), rls); err != nil {
		w.t.Fatal(err)
	}
	forged, err := secrets.Get(ctx, storage.Key("app", version), metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	forged.Annotations = genuine.Annotations
	if _, err := secrets.Update(ctx, forged, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// untouched checks that nothing was created or deleted because of a forged record.
func (w *leftoversWorld) untouched() {
	w.t.Helper()
	if w.Object(mapsPath+"bystander") == nil {
		w.t.Error("an object of others was deleted because of a forged record")
	}
	for _, name := range []string{"forged", "hook"} {
		if w.Object(mapsPath+name) != nil {
			w.t.Errorf("ConfigMap %s of a forged record was created", name)
		}
	}
}

// TestForgedRecords: someone may write Secrets only. Whatever records they write, an action applies,
// runs and deletes nothing because of them. What proven revisions contain is deleted as before.
func TestForgedRecords(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		for name, tc := range map[string]struct {
			reason string
			forge  func(w *leftoversWorld)
			action release.HelmAction
			// fails is part of the error of the action; empty if it succeeds.
			fails string
			// gone is true if the ConfigMap of the proven revision is deleted.
			gone bool
		}{
			"Upgrade":        {"the release is upgraded from its chart", func(w *leftoversWorld) { w.forge(2, helmrelease.StatusDeployed, nil) }, release.Upgrade{Timeout: time.Minute, TakeOver: true}, "", true},
			"UpgradeChanged": {"the current revision was changed", func(w *leftoversWorld) { w.forge(1, helmrelease.StatusDeployed, nil) }, release.Upgrade{Timeout: time.Minute, TakeOver: true}, "", false},
			"UpgradeElsewhere": {"the namespace in the record does not matter", func(w *leftoversWorld) {
				w.forge(2, helmrelease.StatusDeployed, func(rls *helmrelease.Release) { rls.Namespace = "stage" })
			}, release.Upgrade{Timeout: time.Minute, TakeOver: true}, "", true},
			"UpgradeFailed":    {"a failed revision leaves nothing behind", func(w *leftoversWorld) { w.forge(2, helmrelease.StatusFailed, nil) }, release.Upgrade{Timeout: time.Minute, TakeOver: true}, "", true},
			"Uninstall":        {"no hook is run, and the objects of the proven revision are deleted", func(w *leftoversWorld) { w.forge(2, helmrelease.StatusDeployed, nil) }, release.Uninstall{Timeout: time.Minute, Target: target()}, "", true},
			"UninstallChanged": {"nothing proves what was installed", func(w *leftoversWorld) { w.forge(1, helmrelease.StatusDeployed, nil) }, release.Uninstall{Timeout: time.Minute, Target: target()}, "", false},
			"Resume": {
				"an action that was never begun is not resumed", func(w *leftoversWorld) { w.forge(2, helmrelease.StatusPendingUpgrade, nil) },
				release.Upgrade{Timeout: time.Minute, Resume: 2},
				"another client changed the record of revision 2", false,
			},
			"Rollback": {"a changed revision is no target", func(w *leftoversWorld) {
				w.succeed(release.Upgrade{Timeout: time.Minute}, "one")
				w.forge(1, helmrelease.StatusSuperseded, nil)
			}, release.Rollback{Timeout: time.Minute, Version: 1}, "another client changed the record of revision 1", false},
			"Test":    {"tests of others are not run", func(w *leftoversWorld) { w.forge(1, helmrelease.StatusDeployed, nil) }, release.Test{Timeout: time.Minute}, "another client changed the record of revision 1", false},
			"Recheck": {"a changed revision is not marked deployed", func(w *leftoversWorld) { w.forge(1, helmrelease.StatusFailed, nil) }, release.Recheck{Timeout: time.Minute, Version: 1}, "another client changed the record of revision 1", false},
		} {
			t.Run(name, func(t *testing.T) {
				w := newLeftoversWorld(t, w.method)
				w.succeed(release.Install{Timeout: time.Minute}, "one")
				w.exists("bystander")
				tc.forge(w)
				out := w.run(tc.action, "two")
				if tc.fails == "" && out.Err != nil || tc.fails != "" && (out.Err == nil || !strings.Contains(out.Err.Error(), tc.fails)) {
					t.Errorf("%s: error %v, want %q", tc.reason, out.Err, tc.fails)
				}
				w.untouched()
				if gone := w.Object(mapsPath+"one") == nil; gone != tc.gone {
					t.Errorf("%s: the ConfigMap of the proven revision is gone: %t, want %t", tc.reason, gone, tc.gone)
				}
				for _, r := range out.Revisions {
					if r.Sealed && r.Description != "" && strings.Contains(r.Description, "forged") {
						t.Errorf("revision %d of others is sealed", r.Version)
					}
				}
			})
		}
	})
}

// TestForgedOwnObjects: what only a record contains that nothing proves is deleted if its own metadata
// names the release. That is how a release of the Helm CLI is taken over.
func TestForgedOwnObjects(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		for _, action := range []release.HelmAction{
			release.Upgrade{Timeout: time.Minute, TakeOver: true}, release.Uninstall{Timeout: time.Minute, Target: target()},
		} {
			w := newLeftoversWorld(t, w.method)
			w.succeed(release.Install{Timeout: time.Minute}, "one")
			w.exists("bystander")
			w.change("bystander", func(u *unstructured.Unstructured) {
				u.SetAnnotations(map[string]string{helmv2.AnnotationHelmReleaseName: "app", helmv2.AnnotationHelmReleaseNamespace: "prod"})
				u.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
			})
			w.forge(2, helmrelease.StatusDeployed, nil)
			if out := w.run(action, "two"); out.Err != nil {
				t.Fatal(out.Err)
			}
			if w.Object(mapsPath+"bystander") != nil {
				t.Errorf("%s: an object of the release stays", release.Name(action))
			}
		}
	})
}

// TestPreserveUnproven: no values of others are merged into those of an upgrade.
func TestPreserveUnproven(t *testing.T) {
	w := newLeftoversWorld(t, helmv2.ServerSideApplyEnabled)
	w.succeed(release.Install{Timeout: time.Minute}, "one")
	w.forge(2, helmrelease.StatusDeployed, func(rls *helmrelease.Release) {
		rls.Config = map[string]any{"maps": map[string]any{"forged": ""}}
	})
	j := w.job(release.Upgrade{Timeout: time.Minute, TakeOver: true}, "two")
	j.Spec.Upgrade.PreserveValues = true
	out := w.runner.Run(t.Context(), w.conn, j)
	const want = "nothing proves that this HelmRelease made revision 2 of release app"
	if out.Err == nil || !strings.Contains(out.Err.Error(), want) || out.Stored() || w.Object(mapsPath+"forged") != nil {
		t.Errorf("error %v, revisions %+v", out.Err, out.Revisions)
	}
	if _, err := w.runner.PreservedDigest(t.Context(), w.conn, observed(w.history()), nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
}
