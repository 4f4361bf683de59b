// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

const account = "tenant"

// tenant creates a ServiceAccount with all permissions in the core group and in apps, and no
// others.
func (w world) tenant() {
	w.Helper()
	w.Create(
		&corev1.ServiceAccount{ObjectMeta: w.Meta(account)},
		&rbacv1.Role{ObjectMeta: w.Meta(account), Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"", "apps"}, Resources: []string{"*"}, Verbs: []string{"*"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: w.Meta(account),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: w.Namespace}},
		},
	)
}

func asTenant(spec *helmv2.HelmReleaseSpec) { spec.ServiceAccountName = account }

func impersonation(w world) {
	w.tenant()
	w.UntilRevision(w.play(nil, asTenant), 1)
}

func impersonationFail(w world) {
	w.tenant()
	hr := w.play(values{"autoscaling": true}, asTenant)
	w.Until(hr, "to fail", func(hr *helmv2.HelmRelease) bool {
		c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReleased)
		return c != nil && c.Status == no && strings.Contains(c.Message, "horizontalpodautoscalers") &&
			harness.ReadyCondition(hr.Status.Conditions).Status == no
	})
	err := env.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "play-fickle"},
		&autoscalingv2.HorizontalPodAutoscaler{})
	if !apierrors.IsNotFound(err) {
		w.Errorf("there is an autoscaler (error %v)", err)
	}
}

// deleteNamespace: objects that the uninstall needs are deleted together with the release, and do
// not block the namespace.
func deleteNamespace(w world) {
	w.tenant()
	w.UntilRevision(w.play(nil, asTenant), 1)
	w.leave()
}

// leave deletes the namespace and waits until it is gone.
func (w world) leave() {
	w.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	w.Must(env.Client.Delete(w.Context(), ns))
	ctx := w.Context()
	w.Must(env.Until(ctx, "namespace "+w.Namespace+" to be gone", func() (string, bool) {
		err := env.Client.Get(ctx, client.ObjectKeyFromObject(ns), ns)
		var why []string
		for _, c := range ns.Status.Conditions {
			if c.Status == corev1.ConditionTrue {
				why = append(why, c.Message)
			}
		}
		return strings.Join(why, "; "), apierrors.IsNotFound(err)
	}, ns.DeepCopy()))
}

// Two versions of a kind.
const (
	older = "v2beta1"
	newer = "v2beta2"
)

// group is this world's own: definitions belong to no namespace.
func (w world) group() string { return w.Namespace + ".example.com" }

// withKinds adds definitions of kinds to a chart, each with its versions.
func (w world) withKinds(c *helmchart.Chart, kinds map[string][]string) *helmchart.Chart {
	w.Helper()
	for kind, versions := range kinds {
		names := apiextensionsv1.CustomResourceDefinitionNames{
			Kind: kind, ListKind: kind + "List", Singular: strings.ToLower(kind), Plural: strings.ToLower(kind) + "s",
		}
		crd := &apiextensionsv1.CustomResourceDefinition{
			TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
			ObjectMeta: metav1.ObjectMeta{Name: names.Plural + "." + w.group()},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: w.group(), Names: names, Scope: apiextensionsv1.NamespaceScoped,
			},
		}
		for i, version := range versions {
			crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
				Name: version, Served: true, Storage: i == 0,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr(true),
				}},
			})
		}
		content, err := yaml.Marshal(crd)
		w.Must(err)
		c.Files = append(c.Files, &helmchart.File{Name: "crds/" + names.Plural + ".yaml", Data: content})
	}
	return c
}

// withThings adds one object of each kind to a chart, in the given versions. The objects do not
// depend on the values of the release, which would also change the previous chart.
func (w world) withThings(c *helmchart.Chart, versions map[string]string) *helmchart.Chart {
	w.Helper()
	var list []any
	for kind, version := range versions {
		list = append(list, values{"kind": kind, "version": version})
	}
	c.Values["things"] = values{"group": w.group(), "list": list}
	content, err := yaml.Marshal(c.Values)
	w.Must(err)
	for _, file := range c.Raw {
		if file.Name == chartutil.ValuesfileName {
			file.Data = content
		}
	}
	return c
}

// served returns the versions in which a kind is served, or none.
func (w world) served(kind string) (versions []string) {
	w.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := env.Client.Get(w.Context(), client.ObjectKey{Name: strings.ToLower(kind) + "s." + w.group()}, crd)
	if !apierrors.IsNotFound(err) {
		w.Must(err)
	}
	for _, v := range crd.Spec.Versions {
		versions = append(versions, v.Name)
	}
	return versions
}

// definitions installs the first version of the chart, from Git.
func (w world) definitions(policy helmv2.CRDsPolicy) *helmv2.HelmRelease {
	w.Helper()
	first := map[string][]string{"A": {older}, "B": {older}, "D": {older}}
	w.Must(env.git.Commit(w.Context(), w.Namespace, w.withKinds(w.fickle("0.1.0"), first)))
	hr := w.Draft("play", w.chartOf(sourcev1.GitRepositoryKind, "git", "./charts/fickle"), nil)
	hr.Spec.Upgrade = &helmv2.Upgrade{CRDs: policy}
	w.Create(w.clone(), hr)
	w.UntilRevision(hr, 1)
	return hr
}

// redefine publishes the second version, in which B has another version, C is new and D is gone,
// with the given objects. It waits until it is installed.
func (w world) redefine(hr *helmv2.HelmRelease, versions map[string]string) {
	w.Helper()
	second := map[string][]string{"A": {older}, "B": {older, newer}, "C": {newer}}
	c := w.withThings(w.withKinds(w.fickle("0.2.0"), second), versions)
	w.Must(env.git.Commit(w.Context(), w.Namespace, c))
	source := &sourcev1.GitRepository{}
	w.Get("git", source)
	w.requestReconciliation(source)
	w.Until(hr, "to be upgraded", func(hr *helmv2.HelmRelease) bool {
		return harness.Ready(hr) && hr.Status.History[0].ChartVersion == "0.2.0"
	})
}

func crdsInit(w world) {
	w.definitions("")
	for kind, want := range map[string][]string{"A": {older}, "B": {older}, "C": nil, "D": {older}} {
		w.equal("versions of "+kind, w.served(kind), want)
	}
}

func crdsCreate(w world) {
	hr := w.definitions(helmv2.CRDsCreate)
	w.redefine(hr, map[string]string{"A": older, "B": older, "C": newer, "D": older})
	for kind, want := range map[string][]string{"A": {older}, "B": {older}, "C": {newer}, "D": {older}} {
		w.equal("versions of "+kind, w.served(kind), want)
	}
}

func crdsCreateReplace(w world) {
	hr := w.definitions(helmv2.CRDsCreateReplace)
	w.redefine(hr, map[string]string{"A": older, "B": newer, "C": newer, "D": older})
	for kind, want := range map[string][]string{"A": {older}, "B": {older, newer}, "C": {newer}, "D": {older}} {
		w.equal("versions of "+kind, w.served(kind), want)
	}
}

// rename installs chart fickle from an HTTP repository, then has chart renamed
// from Git take its place.
func (w world) rename(strategy helmv2.ChartNameChangeStrategy) *helmv2.HelmRelease {
	w.Helper()
	c := w.fickle("0.1.0")
	archive, err := harness.Pack(c)
	w.Must(err)
	w.Must(env.charts.Add(w.Namespace, archive))
	c.Metadata.Name = "renamed"
	w.Must(env.git.Commit(w.Context(), w.Namespace, c))
	hr := w.Draft("play", w.chartOf(sourcev1.HelmRepositoryKind, "charts", "fickle"), nil)
	if strategy != "" {
		hr.Spec.Upgrade = &helmv2.Upgrade{ChartNameChangeStrategy: strategy}
	}
	w.Create(w.repository(), w.clone(), hr)
	w.UntilRevision(hr, 1)

	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Chart = w.chartOf(sourcev1.GitRepositoryKind, "git", "./charts/renamed").Chart
	})
	w.Until(hr, "to be of chart renamed", func(hr *helmv2.HelmRelease) bool {
		return harness.Ready(hr) && hr.Status.History[0].ChartName == "renamed"
	})
	w.deployment("play-renamed")
	return hr
}

func chartNameChangeDefault(w world) {
	hr := w.rename("")
	w.newest(hr, 1, helmrelease.StatusDeployed)
}

func chartNameChangeReinstall(w world) {
	hr := w.rename(helmv2.ChartNameChangeReinstall)
	w.newest(hr, 1, helmrelease.StatusDeployed)
}

func chartNameChangeInPlace(w world) {
	hr := w.rename(helmv2.ChartNameChangeInPlaceUpdate)
	w.newest(hr, 2, helmrelease.StatusDeployed)
}
