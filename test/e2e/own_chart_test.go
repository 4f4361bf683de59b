// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"slices"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// TestOwnChart: the controller installs, upgrades and uninstalls the chart that
// installs it, as any other.
func TestOwnChart(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	c, err := loader.LoadDir(filepath.Join(harness.Root(), "charts", "pintle"))
	w.Must(err)
	w.Publish(c)
	w.Source("pintle", env.Registry.Address, "pintle", sourcev1.OCIRepositoryRef{Tag: c.Metadata.Version})
	hr := w.Draft("pintle", fixture.ChartRef(helmv2.KindOCIRepository, "pintle"), nil)
	w.Create(hr)
	w.UntilRevision(hr, 1)
	w.runs(1, "--default-service-account=helm-release")
	for _, o := range w.around() {
		w.Must(env.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	}
	admin := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "helm-reconciler-rolebinding"}}
	if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(admin), admin); !apierrors.IsNotFound(err) {
		t.Errorf("it has all rights without having been given them: %v", err)
	}

	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = w.Raw(values{
			"replicas": 2, "networkPolicy": values{"enabled": false}, "rbac": values{"clusterAdmin": true}, "extraArgs": []string{"--concurrent=9"},
		})
	})
	w.UntilRevision(hr, 2)
	w.runs(2, "--concurrent=9")
	w.Must(env.Client.Get(t.Context(), client.ObjectKeyFromObject(admin), admin))
	if s := admin.Subjects; len(s) != 1 || s[0].Namespace != w.Namespace || s[0].Name != "helm-controller" {
		t.Errorf("all rights are given to %v", s)
	}
	policy := w.around()[0]
	if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(policy), policy); !apierrors.IsNotFound(err) {
		t.Errorf("the NetworkPolicy is left: %v", err)
	}

	w.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = w.Raw(values{"replicaCount": 3}) })
	w.UntilCondition(hr, helmv2.ConditionReady, no, helmv2.ReasonUpgradeFailed, "replicaCount")

	w.Must(env.Client.Delete(t.Context(), hr))
	for _, o := range append(w.around(), hr, admin, &appsv1.Deployment{ObjectMeta: w.Meta("helm-controller")}) {
		w.UntilGone(o)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	w.Must(env.Client.Get(t.Context(), client.ObjectKey{Name: "helmreleases.helm.toolkit.fluxcd.io"}, crd))
	if crd.DeletionTimestamp != nil {
		t.Error("the definition of HelmRelease, and with it every HelmRelease, goes with the chart")
	}
}

// runs waits until a number of controllers is ready, and checks their last argument.
func (w world) runs(replicas int32, last string) {
	w.Helper()
	d := w.deployment("helm-controller")
	if d.Status.ReadyReplicas != replicas {
		w.Errorf("%d replicas are ready, want %d", d.Status.ReadyReplicas, replicas)
	}
	if args := d.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args[len(args)-1:], last) {
		w.Errorf("the arguments are %q, want %s at the end", args, last)
	}
}

// around are the further objects of the chart besides the Deployment, the NetworkPolicy first.
func (w world) around() []client.Object {
	return []client.Object{
		&networkingv1.NetworkPolicy{ObjectMeta: w.Meta("helm-controller")},
		&policyv1.PodDisruptionBudget{ObjectMeta: w.Meta("helm-controller")},
		&rbacv1.Role{ObjectMeta: w.Meta("helm-leader-election-role")},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "helm-manager-role"}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "helm-impersonator-rolebinding"}},
	}
}
