// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"io"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/options"
	"github.com/pintle-dev/pintle/test/harness"
)

// withPage returns what an overlay makes of a folder of config and the component config/page.
func withPage(t *testing.T, dir, namespace string) objects {
	t.Helper()
	return withComponent(t, dir, namespace, "page")
}

// withComponent returns what an overlay makes of a folder of config and a component.
func withComponent(t *testing.T, dir, namespace, name string) objects {
	t.Helper()
	folder := overlay(t, dir, namespace)
	component, err := filepath.Rel(folder, filepath.Join(harness.Root(), "config", name))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "kustomization.yaml")
	write(t, file, string(read(t, file))+"components: ["+component+"]\n")
	return kustomizeAt(t, folder)
}

// TestPageIsConfig: the chart has the page of config/page, behind a value.
func TestPageIsConfig(t *testing.T) {
	for _, dir := range []string{"default", "cluster-admin"} {
		v := webPage(values{"tls": values{"secretName": "pintle-page-tls"}})
		v["rbac"] = values{"clusterAdmin": dir == "cluster-admin"}
		if diff := cmp.Diff(withPage(t, dir, "helm-system"), mustRender(t, v)); diff != "" {
			t.Errorf("config/%s with config/page and the chart (-config +chart):\n%s", dir, diff)
		}
	}
}

// TestPage: the controller serves the page at the port of the Service, with the files of the Secret.
func TestPage(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "elsewhere")
	all := withPage(t, "default", "elsewhere")
	d := into[appsv1.Deployment](t, all, "Deployment/helm-controller")
	pod := d.Spec.Template.Spec
	o, err := options.Parse(pod.Containers[0].Args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]string{}
	for _, p := range pod.Containers[0].Ports {
		ports[p.Name] = ":" + itoa(p.ContainerPort)
	}
	service := into[corev1.Service](t, all, "Service/helm-controller-page")
	if target := service.Spec.Ports[0].TargetPort.StrVal; o.UI.Address == "" || ports[target] != o.UI.Address {
		t.Errorf("the page is at %q, and the Service leads to %s of %v", o.UI.Address, target, ports)
	}
	if !cmp.Equal(service.Spec.Selector, d.Spec.Selector.MatchLabels) || service.Namespace != d.Namespace {
		t.Errorf("the Service in %s selects %v", service.Namespace, service.Spec.Selector)
	}
	mount := slices.IndexFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.MountPath == path.Dir(o.UI.CertFile) && m.MountPath == path.Dir(o.UI.KeyFile)
	})
	if mount < 0 || path.Base(o.UI.CertFile) != corev1.TLSCertKey || path.Base(o.UI.KeyFile) != corev1.TLSPrivateKeyKey {
		t.Fatalf("certificate and key are %s and %s", o.UI.CertFile, o.UI.KeyFile)
	}
	name := pod.Containers[0].VolumeMounts[mount].Name
	if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
		return v.Name == name && v.Secret != nil && v.Secret.SecretName == "pintle-page-tls"
	}) {
		t.Errorf("there is no Secret of volume %s", name)
	}
}

// TestPageRights: the rights of the page are those of its role, which the controller has only with
// the page.
func TestPageRights(t *testing.T) {
	without, all := kustomize(t, "default"), withPage(t, "default", "elsewhere")
	var more []string
	for key := range all {
		if without[key] == nil {
			more = append(more, key)
		}
	}
	slices.Sort(more)
	want := []string{"ClusterRole/helm-page-role", "ClusterRoleBinding/helm-page-rolebinding", "NetworkPolicy/helm-controller-page", "Service/helm-controller-page"}
	if !slices.Equal(more, want) {
		t.Errorf("the page adds %v, want %v", more, want)
	}
	reads, others := rights(into[rbacv1.ClusterRole](t, all, "ClusterRole/helm-page-role"))
	if len(reads) > 0 {
		t.Errorf("the page may read %q beside what the controller may", sorted(reads))
	}
	if want := []string{"create subjectaccessreviews", "create tokenreviews"}; !slices.Equal(sorted(others), want) {
		t.Errorf("beside reading, the page may %q, want %q", sorted(others), want)
	}
	d := into[appsv1.Deployment](t, all, "Deployment/helm-controller")
	binding := into[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding/helm-page-rolebinding")
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: d.Namespace, Name: d.Spec.Template.Spec.ServiceAccountName}}
	if !cmp.Equal(binding.Subjects, subjects) || binding.RoleRef.Name != "helm-page-role" {
		t.Errorf("%s is bound to %v, want %v", binding.RoleRef.Name, binding.Subjects, subjects)
	}
}

// TestPageIsReachedByPeersOnly: a NetworkPolicy permits requests to the page, and no other policy
// does.
func TestPageIsReachedByPeersOnly(t *testing.T) {
	all := withPage(t, "default", "helm-system")
	for key := range all {
		if all[key]["kind"] != "NetworkPolicy" {
			continue
		}
		p := into[networkingv1.NetworkPolicy](t, all, key)
		for _, rule := range p.Spec.Ingress {
			forPage := len(rule.Ports) == 1 && rule.Ports[0].Port.StrVal == "page"
			limited := len(rule.From) == 1 && rule.From[0].NamespaceSelector != nil && len(rule.From[0].NamespaceSelector.MatchLabels) > 0
			if len(rule.Ports) == 0 || forPage != (key == "NetworkPolicy/helm-controller-page") || forPage && !limited {
				t.Errorf("%s permits %+v", key, rule)
			}
		}
	}
	if at(all["NetworkPolicy/helm-controller-page"], "spec", "ingress", 0) == nil {
		t.Error("there is no rule for the page")
	}
}

// TestViewers: who has the ClusterRole view may read the kinds that releases are made of, and no
// Secrets.
func TestViewers(t *testing.T) {
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(read(t, filepath.Join(harness.Root(), "config", "rbac", "viewer_role.yaml")), role); err != nil {
		t.Fatal(err)
	}
	if role.Labels["rbac.authorization.k8s.io/aggregate-to-view"] != "true" {
		t.Errorf("its labels are %v", role.Labels)
	}
	reads, others := rights(role)
	if len(others) > 0 || reads["get /secrets"] {
		t.Errorf("it permits to %q and %q", sorted(reads), sorted(others))
	}
	for _, right := range []string{
		"list helm.toolkit.fluxcd.io/helmreleases", "list ops.vworkspace.io/operations", "get pintle.dev/releaseplans",
		"list source.toolkit.fluxcd.io/ocirepositories", "get /pods/log",
	} {
		if !reads[right] {
			t.Errorf("it does not permit to %s", right)
		}
	}
}
