// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestTenancy: a release acts as its ServiceAccount, with any spec.
func TestTenancy(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	// Not parallel: it replaces the API server of the suite.
	y := newTenancy(t)
	for _, w := range []*world{y.a, y.b} {
		w.publish(neighbour, "1.0.0", configMapChart(t, "1.0.0"))
		w.untilReady(w.release(neighbour, nil, as(deployer)))
	}
	y.b.must(suite.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: y.b.namespace, Name: "treasure"}, StringData: map[string]string{"values.yaml": "message: rubies"},
	}))
	for _, trespass := range trespasses() {
		t.Run(trespass.name, func(t *testing.T) {
			y.in(t)
			y.try(trespass)
		})
	}
	for _, one := range []struct {
		name string
		test func(*testing.T)
	}{
		{"sources", y.sources},
		{"references", y.references},
		{"dependencies", y.dependencies},
		{"accounts", y.accounts},
		{"drifts", y.drifts},
		{"uninstalls", y.uninstalls},
		{"orphans", y.orphans},
		{"who-asks", y.ownRequests},
	} {
		t.Run(one.name, func(t *testing.T) {
			y.in(t)
			one.test(t)
		})
	}
}

// trespass is a release of tenant-a that accesses objects outside of its namespace.
type trespass struct {
	// name is that of the release too.
	name string
	// files of the chart; nil is a chart with a ConfigMap.
	files map[string]string
	edit  func(*helmv2.HelmRelease)
	// reason and words are of the condition.
	reason string
	words  []string
	// where is the namespace of the missing permission, what the permission.
	where string
	what  []rbacv1.PolicyRule
	// done is the object that exists once the permission is granted.
	done client.Object
}

const configMapIn = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  namespace: tenant-b\n"

func configMaps(verbs ...string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{rule("", []string{"configmaps"}, verbs)}
}

func inTenantB(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-b", Name: name}}
}

// partial is the metadata of an object whose type is not in the client's scheme.
func partial(apiVersion, kind, name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func trespasses() []trespass {
	write := []string{"get", "create", "patch", "delete"}
	cannot := func(verb, resource, where string) []string {
		return []string{`User "` + tenantUser + `" cannot ` + verb + ` resource "` + resource + `"`, where}
	}
	const there, anywhere = `in the namespace "tenant-b"`, "at the cluster scope"
	return []trespass{
		{
			name: "target-namespace", edit: func(hr *helmv2.HelmRelease) { hr.Spec.ReleaseName, hr.Spec.TargetNamespace = hr.Name, "tenant-b" },
			reason: helmv2.ReasonInstallFailed, words: append(cannot("patch", "configmaps", there), "ConfigMap/tenant-b/target-namespace"),
			where: "tenant-b", what: configMaps(write...), done: inTenantB("target-namespace"),
		},
		{
			name: "target-namespace-unchecked", edit: func(hr *helmv2.HelmRelease) {
				hr.Spec.ReleaseName, hr.Spec.TargetNamespace = hr.Name, "tenant-b"
				hr.Spec.Install = &helmv2.Install{DisableOpenAPIValidation: true}
			},
			reason: helmv2.ReasonInstallFailed, words: append(cannot("get", "configmaps", there), `"target-namespace-unchecked"`),
			where: "tenant-b", what: configMaps(write...), done: inTenantB("target-namespace-unchecked"),
		},
		{
			name: "target-namespace-client-side", edit: func(hr *helmv2.HelmRelease) {
				hr.Spec.ReleaseName, hr.Spec.TargetNamespace = hr.Name, "tenant-b"
				hr.Spec.Install = &helmv2.Install{ServerSideApply: new(false)}
			},
			reason: helmv2.ReasonInstallFailed, words: append(cannot("get", "configmaps", there), `"target-namespace-client-side"`),
			where: "tenant-b", what: configMaps(write...), done: inTenantB("target-namespace-client-side"),
		},
		{
			name: "new-namespace", edit: func(hr *helmv2.HelmRelease) {
				hr.Spec.TargetNamespace, hr.Spec.Install = "tenant-c", &helmv2.Install{CreateNamespace: true}
			},
			reason: helmv2.ReasonInstallFailed, words: append(cannot("create", "namespaces", anywhere), "namespace tenant-c"),
			what: []rbacv1.PolicyRule{rule("", []string{"namespaces"}, []string{"create"}), rule("", []string{"configmaps"}, write)},
			done: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant-c"}},
		},
		{
			name: "storage-namespace", edit: func(hr *helmv2.HelmRelease) { hr.Spec.StorageNamespace = "tenant-b" },
			reason: helmv2.ReasonStateError, words: []string{"may not read Secrets in tenant-b"},
			where: "tenant-b", what: []rbacv1.PolicyRule{rule("", []string{"secrets"}, append(write, "list", "update"))},
			done: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-b", Name: "sh.helm.release.v1.storage-namespace.v1"}},
		},
		{
			name: "manifest", files: map[string]string{"templates/cm.yaml": configMapIn},
			reason: helmv2.ReasonInstallFailed, words: append(cannot("patch", "configmaps", there), "ConfigMap/tenant-b/manifest"),
			where: "tenant-b", what: configMaps(write...), done: inTenantB("manifest"),
		},
		{
			name: "post-renderer", edit: func(hr *helmv2.HelmRelease) {
				hr.Spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []helmv2.Patch{{
					Target: &helmv2.Selector{Kind: "ConfigMap"}, Patch: `[{"op": "add", "path": "/metadata/namespace", "value": "tenant-b"}]`,
				}}}}}
			},
			reason: helmv2.ReasonInstallFailed, words: append(cannot("patch", "configmaps", there), "ConfigMap/tenant-b/post-renderer"),
			where: "tenant-b", what: configMaps(write...), done: inTenantB("post-renderer"),
		},
		{
			name:   "hook",
			files:  map[string]string{"templates/cm.yaml": configMapIn + "  annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}\n"},
			reason: helmv2.ReasonInstallFailed, words: append(cannot("get", "configmaps", there), "ConfigMap/tenant-b/hook"),
			where: "tenant-b", what: configMaps(write...), done: inTenantB("hook"),
		},
		{
			name:   "lookup",
			files:  map[string]string{"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: lookup\ndata: {{ (lookup \"v1\" \"Secret\" \"tenant-b\" \"treasure\").data | toJson }}\n"},
			reason: helmv2.ReasonInstallFailed, words: append(cannot("get", "secrets", there), `"treasure"`),
			where: "tenant-b", what: []rbacv1.PolicyRule{rule("", []string{"secrets"}, []string{"get"})},
			done: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "lookup"}},
		},
		{
			name:   "lookup-all",
			files:  map[string]string{"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: lookup-all\ndata: {n: \"{{ len (lookup \"v1\" \"Secret\" \"\" \"\").items }}\"}\n"},
			reason: helmv2.ReasonInstallFailed, words: cannot("list", "secrets", anywhere),
			what: []rbacv1.PolicyRule{rule("", []string{"secrets"}, []string{"list"})},
			done: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "lookup-all"}},
		},
		{
			name:   "definitions",
			files:  map[string]string{"crds/thing.yaml": definition("tenancy.example.com", "v1")},
			reason: helmv2.ReasonInstallFailed, words: append(cannot("create", "customresourcedefinitions", anywhere), "CustomResourceDefinition things.tenancy.example.com"),
			what: []rbacv1.PolicyRule{rule("apiextensions.k8s.io", []string{"customresourcedefinitions"}, []string{"create", "get"})},
			done: partial("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.tenancy.example.com"),
		},
		{
			name:   "cluster-scoped",
			files:  map[string]string{"templates/pc.yaml": "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: cluster-scoped}\nvalue: 1\n"},
			reason: helmv2.ReasonInstallFailed, words: append(cannot("patch", "priorityclasses", anywhere), "PriorityClass//cluster-scoped"),
			what: []rbacv1.PolicyRule{rule("scheduling.k8s.io", []string{"priorityclasses"}, write)},
			done: &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "cluster-scoped"}},
		},
	}
}

// try expects that a trespass is denied, grants the missing permission, and expects success.
func (y *tenancy) try(x trespass) {
	w := y.a
	w.t.Helper()
	chart := configMapChart(w.t, "1.0.0")
	if x.files != nil {
		chart = pack(w.t, "note", "1.0.0", x.files)
	}
	w.publish(x.name, "1.0.0", chart)
	before := y.inventory()
	hr := w.release(x.name, nil, as(deployer), func(hr *helmv2.HelmRelease) {
		if x.edit != nil {
			x.edit(hr)
		}
	})
	y.refused(hr, x.reason, x.words...)
	y.othersGoOn()
	y.unharmed(before)

	withdraw := y.permit(x.where, x.what...)
	w.ask(hr, "permitted", helmv2.AnnotationResetRequest)
	w.untilReady(hr)
	w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(x.done), x.done))
	w.must(suite.client.Delete(w.t.Context(), hr))
	w.untilGone(hr)
	withdraw()
}
