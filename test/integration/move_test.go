// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// volumeChart renders a ConfigMap and a PersistentVolumeClaim named after the release.
func volumeChart(t *testing.T, name, version string, more map[string]string) []byte {
	t.Helper()
	files := map[string]string{
		"templates/cm.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {message: {{ .Values.message | quote }}}\n",
		"templates/pvc.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: {{ .Release.Name }}}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n",
		"values.schema.json": `{"type":"object","properties":{"message":{"type":"string"}}}`,
	}
	for path, content := range more {
		files[path] = content
	}
	return pack(t, name, version, files)
}

// unbound disables waiting, since no controller binds claims.
func unbound(hr *helmv2.HelmRelease) { hr.Spec.Install = &helmv2.Install{DisableWait: true} }

// volume returns the claim of release app, which must exist.
func (w *world) volume() *corev1.PersistentVolumeClaim {
	w.t.Helper()
	pvc := &corev1.PersistentVolumeClaim{}
	w.must(suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "app"}, pvc))
	return pvc
}

// unprotect releases a claim when it is deleted, as the controller that protects claims does.
func (w *world) unprotect(pvc *corev1.PersistentVolumeClaim) {
	w.t.Helper()
	untilTrue(w, "the claim of the old release to go", func() bool {
		live := &corev1.PersistentVolumeClaim{}
		err := suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(pvc), live)
		if apierrors.IsNotFound(err) || err == nil && live.UID != pvc.UID {
			return true
		}
		if err == nil && !live.DeletionTimestamp.IsZero() && len(live.Finalizers) > 0 {
			before := live.DeepCopy()
			live.Finalizers = nil
			w.must(client.IgnoreNotFound(suite.client.Patch(w.t.Context(), live, client.MergeFrom(before))))
		}
		return false
	}, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pvc.Namespace, Name: pvc.Name}})
}

// space makes another namespace, in which the ServiceAccount tenant has rights to some
// resources.
func (w *world) space(name string, resources ...string) string {
	w.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + name}}
	w.must(client.IgnoreAlreadyExists(suite.client.Create(w.t.Context(), ns)))
	if len(resources) > 0 {
		w.letTenant(ns.Name, rule("", resources, []string{"*"}))
	}
	return ns.Name
}

// letTenant gives the ServiceAccount tenant a right in another namespace.
func (w *world) letTenant(namespace string, right rbacv1.PolicyRule) {
	w.t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "tenant"}
	w.must(suite.client.Create(w.t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{right}}))
	w.must(suite.client.Create(w.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "tenant"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "tenant"}},
	}))
}

// TestMoveKeepsWhatCannotBeInstalled: a release that cannot be installed at its new place stays,
// with its volume, and reports the reason. It moves when the reason is gone.
func TestMoveKeepsWhatCannotBeInstalled(t *testing.T) {
	t.Parallel()
	type edit = func(*helmv2.HelmRelease)
	cases := map[string]struct {
		reason string
		// arrange runs before the move, and fix takes the obstacle away.
		arrange func(w *world)
		move    func(w *world) edit
		says    []string
		with    string
		fix     func(w *world, hr *helmv2.HelmRelease)
	}{
		"NameTaken": {
			"another HelmRelease has the name",
			func(w *world) {
				w.untilReady(w.release("other", nil, unbound, func(hr *helmv2.HelmRelease) { hr.Spec.ReleaseName, hr.Spec.ChartRef.Name = "taken", "app" }))
			},
			func(*world) edit { return func(hr *helmv2.HelmRelease) { hr.Spec.ReleaseName = "taken" } },
			[]string{"is owned by HelmRelease", "/other'"},
			helmv2.ReasonContested,
			func(w *world, _ *helmv2.HelmRelease) {
				other := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "other"}}
				w.must(suite.client.Delete(w.t.Context(), other))
				taken := w.volume()
				taken.Name, taken.UID = "taken", "none"
				w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(taken), taken))
				w.unprotect(taken)
			},
		},
		"StorageForbidden": {
			"records may not be stored there", nil,
			func(w *world) edit {
				storage := w.space("-storage")
				return func(hr *helmv2.HelmRelease) { hr.Spec.StorageNamespace = storage }
			},
			[]string{"secrets is forbidden", "-storage"},
			helmv2.ReasonTargetUnavailable,
			func(w *world, _ *helmv2.HelmRelease) { w.space("-storage", "secrets") },
		},
		"StorageReadOnly": {
			"records may be read there, and not created",
			func(w *world) {
				storage, reads := w.space("-storage"), rule("", []string{"secrets"}, []string{"get", "list", "update", "delete"})
				w.letTenant(storage, reads)
				w.untilReviewed(storage, "system:serviceaccount:"+w.namespace+":tenant", reads, true)
			},
			func(w *world) edit {
				return func(hr *helmv2.HelmRelease) { hr.Spec.StorageNamespace = w.namespace + "-storage" }
			},
			[]string{"create Secret", "forbidden", "-storage"},
			helmv2.ReasonTargetUnavailable,
			func(w *world, _ *helmv2.HelmRelease) {
				role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace + "-storage", Name: "tenant"}}
				w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(role), role))
				role.Rules[0].Verbs = []string{"*"}
				w.must(suite.client.Update(w.t.Context(), role))
			},
		},
		"TargetForbidden": {
			"objects may not be made there", nil,
			func(w *world) edit {
				target := w.space("-target")
				return func(hr *helmv2.HelmRelease) { hr.Spec.TargetNamespace, hr.Spec.ReleaseName = target, "app" }
			},
			[]string{"forbidden", "-target"},
			helmv2.ReasonTargetUnavailable,
			func(w *world, _ *helmv2.HelmRelease) { w.space("-target", "configmaps", "persistentvolumeclaims") },
		},
		"TargetMissing": {
			"nothing creates the namespace", nil,
			func(w *world) edit {
				return func(hr *helmv2.HelmRelease) {
					hr.Spec.ServiceAccountName = ""
					hr.Spec.TargetNamespace, hr.Spec.ReleaseName = w.namespace+"-missing", "app"
				}
			},
			[]string{"-missing does not exist"},
			helmv2.ReasonTargetUnavailable,
			func(w *world, hr *helmv2.HelmRelease) {
				w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Install.CreateNamespace = true })
			},
		},
		"MayNotCreateNamespace": {
			"the identity may not create the namespace", nil,
			func(w *world) edit {
				return func(hr *helmv2.HelmRelease) {
					hr.Spec.TargetNamespace, hr.Spec.ReleaseName = w.namespace+"-missing", "app"
					hr.Spec.Install.CreateNamespace = true
				}
			},
			[]string{"create namespace", "forbidden"},
			helmv2.ReasonTargetUnavailable,
			func(w *world, hr *helmv2.HelmRelease) {
				w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.ServiceAccountName = "" })
			},
		},
		"ChartFails": {
			"the other chart does not render", nil,
			func(w *world) edit {
				w.publish("next", "1.0.0", volumeChart(w.t, "next", "1.0.0", map[string]string{"templates/bad.yaml": `{{ fail "not today" }}`}))
				return func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "next" }
			},
			[]string{"chart name changed from 'volume' to 'next'", "not today"},
			helmv2.ReasonTargetUnavailable,
			func(w *world, _ *helmv2.HelmRelease) {
				w.publish("next", "1.0.1", volumeChart(w.t, "next", "1.0.1", nil))
			},
		},
		"ValuesFail": {
			"the values do not fit the schema of the other chart", nil,
			func(w *world) edit {
				w.publish("next", "1.0.0", volumeChart(w.t, "next", "1.0.0", map[string]string{"values.schema.json": `{"required":["message"]}`}))
				return func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "next" }
			},
			[]string{"values do not fit the schema of chart"},
			helmv2.ReasonTargetUnavailable,
			func(w *world, hr *helmv2.HelmRelease) {
				w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(w.t, map[string]any{"message": "now"}) })
			},
		},
		"ObjectInvalid": {
			"the API server refuses an object of the other chart", nil,
			func(w *world) edit {
				w.publish("next", "1.0.0", volumeChart(w.t, "next", "1.0.0", map[string]string{
					"templates/pvc.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: {{ .Release.Name }}}\nspec: {accessModes: [Sometimes], resources: {requests: {storage: 1Gi}}}\n",
				}))
				return func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "next" }
			},
			[]string{"PersistentVolumeClaim/", "Sometimes"},
			helmv2.ReasonTargetUnavailable,
			func(w *world, _ *helmv2.HelmRelease) {
				w.publish("next", "1.0.1", volumeChart(w.t, "next", "1.0.1", nil))
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			// These two need the rights and the validation of the API server.
			if testing.Short() && name != "StorageReadOnly" && name != "ObjectInvalid" {
				t.Skip("long")
			}
			w := newWorld(t)
			w.account("tenant", "configmaps", "secrets", "persistentvolumeclaims")
			w.publish("app", "1.0.0", volumeChart(t, "volume", "1.0.0", nil))
			hr := w.release("app", nil, as("tenant"), unbound)
			w.untilReady(hr)
			old := w.volume()
			if tc.arrange != nil {
				tc.arrange(w)
			}
			w.edit(hr, tc.move(w))
			says := append(slices.Clone(tc.says), "the old release is kept")
			w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, tc.with, says...)
			w.quiet(hr)
			if live := w.volume(); live.UID != old.UID || !live.DeletionTimestamp.IsZero() || len(w.stored("app")) != 1 {
				t.Errorf("%s: the volume is %v, deleted %v, and %d revisions are stored", tc.reason, live.UID, live.DeletionTimestamp, len(w.stored("app")))
			}
			w.configMap("app")
			w.expectEvents(hr, tc.with, 1)

			tc.fix(w, hr)
			w.unprotect(old)
			w.untilReady(hr)
		})
	}
}

// exhaust creates a quota without room for another object of a resource, and returns a function
// that raises it. The quota controller does not run, only admission.
func (w *world) exhaust(what string) (free func()) {
	w.t.Helper()
	one := corev1.ResourceList{corev1.ResourceName("count/" + what): resource.MustParse("1")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "full"}, Spec: corev1.ResourceQuotaSpec{Hard: one}}
	w.must(suite.client.Create(w.t.Context(), quota))
	quota.Status = corev1.ResourceQuotaStatus{Hard: one, Used: one}
	w.must(suite.client.Status().Update(w.t.Context(), quota))
	untilTrue(w, "the quota to be full", func() bool {
		more := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "more"}}
		err := suite.client.Create(w.t.Context(), more, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "exceeded quota")
	})
	return func() { w.must(suite.client.Delete(w.t.Context(), quota)) }
}

// TestMoveCountsTheOldAsGone: objects of the old release do not prevent the new install: immutable
// fields, a port, a full quota.
func TestMoveCountsTheOldAsGone(t *testing.T) {
	t.Parallel()
	chart := func(name, storage string) []byte {
		return pack(t, name, "1.0.0", map[string]string{
			"templates/pvc.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: app}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: " + storage + "}}}\n",
			"templates/cm.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n",
			"templates/svc.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Release.Name }}}\nspec: {type: NodePort, ports: [{port: 80, nodePort: 31817}]}\n",
		})
	}
	w := newWorld(t)
	w.publish("app", "1.0.0", chart("volume", "2Gi"))
	hr := w.release("app", nil, unbound)
	w.untilReady(hr)
	free := w.exhaust("configmaps")
	old := w.volume()
	w.publish("next", "1.0.0", chart("next", "1Gi"))
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name, hr.Spec.ReleaseName = "next", "renamed" })
	w.unprotect(old)
	free()
	w.untilReady(hr)
	if live := w.volume(); live.UID == old.UID || live.Spec.Resources.Requests.Storage().String() != "1Gi" {
		t.Errorf("the volume is %+v", live.Spec)
	}
}
