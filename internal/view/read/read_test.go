// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestControllerOf: arguments are parsed as the container gets them.
func TestControllerOf(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system"}}
	if _, ok := controllerOf(d); ok {
		t.Error("a Deployment without containers is a controller")
	}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "proxy"}, {
		Name: "manager", Args: []string{"--watch-label-selector=$(KEY)=one", "--events-addr=http://n.$(RUNTIME_NAMESPACE)./", "--default-service-account=default"},
		Env: []corev1.EnvVar{
			{Name: "KEY", Value: "shard"},
			{Name: "RUNTIME_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
		},
	}}
	c, ok := controllerOf(d)
	if !ok || c.Refused != "" || !c.Parsed || c.Selector != "shard=one" || c.EventsAddr != "http://n.flux-system./" || c.DefaultServiceAccount != "default" || !c.AllNamespaces || c.Replicas != 1 {
		t.Errorf("%t, %+v", ok, c)
	}
}

func TestIsCalled(t *testing.T) {
	for name, want := range map[string]bool{
		"ghcr.io/fluxcd/helm-controller:v1.6.0": true, "registry:5000/helm-controller@sha256:ab": true, "example.com/helm-controller-tests:1": false, "helm-controller": true, "other": false,
	} {
		d := &appsv1.Deployment{}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Image: name}}
		if got := isCalled(d, "helm-controller"); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestRightTexts(t *testing.T) {
	right := func(verb, group, resource, namespace string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Namespace: namespace}
	}
	got := strings.Join(rightTexts([]authorizationv1.ResourceAttributes{
		right("patch", "apps", "deployments", "web"), right("get", "apps", "deployments", "web"), right("update", "", "secrets", "web"),
		right("list", "", "secrets", "web"), right("delete", "", "secrets", "web"), right("get", "rbac.authorization.k8s.io", "clusterroles", ""),
	}), "; ")
	want := "delete, list or update secrets in web; get clusterroles.rbac.authorization.k8s.io in the cluster; get or patch deployments.apps in web"
	if got != want {
		t.Errorf("the texts are %s", got)
	}
}
