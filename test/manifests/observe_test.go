// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"io"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pintle-dev/pintle/internal/options"
)

// reads and others are the rights of a role.
func rights(role *rbacv1.ClusterRole) (reads, others map[string]bool) {
	reads, others = map[string]bool{}, map[string]bool{}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if slices.Contains([]string{"get", "list", "watch"}, verb) {
						reads[verb+" "+group+"/"+resource] = true
					} else {
						others[verb+" "+resource] = true
					}
				}
			}
		}
	}
	return reads, others
}

// TestObserve: a process that only observes has its own name and ServiceAccount, the rights to read
// of the controller, and no rights to write but for its report.
func TestObserve(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "flux-system")
	all := kustomize(t, "observe")
	d := into[appsv1.Deployment](t, all, "Deployment/pintle-observe")
	labels := d.Spec.Template.Labels["app"]
	if d.Spec.Template.Spec.ServiceAccountName != "pintle-observe" || labels != "pintle-observe" || d.Spec.Selector.MatchLabels["app"] != labels {
		t.Errorf("the Deployment has ServiceAccount %s, and selects %v of %s", d.Spec.Template.Spec.ServiceAccountName, d.Spec.Selector.MatchLabels, labels)
	}
	o, err := options.Parse(d.Spec.Template.Spec.Containers[0].Args, io.Discard)
	if err != nil || !o.Observe {
		t.Errorf("the arguments %q do not observe: %v", d.Spec.Template.Spec.Containers[0].Args, err)
	}
	binding := into[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding/pintle-observe")
	if len(all) != 4 || len(binding.Subjects) != 1 || binding.Subjects[0].Namespace != d.Namespace {
		t.Errorf("there are %d objects, and the role is for %v", len(all), binding.Subjects)
	}
	reads, others := rights(into[rbacv1.ClusterRole](t, all, "ClusterRole/pintle-observe"))
	if want := []string{"create events", "impersonate serviceaccounts", "patch events"}; !slices.Equal(sorted(others), want) {
		t.Errorf("beside reading it may %q, want %q", sorted(others), want)
	}
	needed, _ := rights(into[rbacv1.ClusterRole](t, kustomize(t, "default"), "ClusterRole/helm-manager-role"))
	// An observer looks for no other controller, and runs no Operations.
	for _, right := range []string{"list coordination.k8s.io/leases", "list rbac.authorization.k8s.io/roles", "list rbac.authorization.k8s.io/rolebindings"} {
		if !needed[right] {
			t.Errorf("the controller may not %s", right)
		}
		delete(needed, right)
	}
	if got, want := sorted(reads), sorted(needed); !slices.Equal(got, want) {
		t.Errorf("it may read %q, want %q", got, want)
	}
}
