// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pintle-dev/pintle/internal/options"
)

// TestHelmChartsAreConfig: the chart has the role of config/helmchart, behind a value, and the gate.
func TestHelmChartsAreConfig(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "helm-system")
	for _, dir := range []string{"default", "cluster-admin"} {
		want := withComponent(t, dir, "helm-system", "helmchart")
		v := values{"helmChartAPI": values{"enabled": true}, "rbac": values{"clusterAdmin": dir == "cluster-admin"}}
		if diff := cmp.Diff(want, mustRender(t, v)); diff != "" {
			t.Errorf("config/%s with config/helmchart and the chart (-config +chart):\n%s", dir, diff)
		}
		o, err := options.Parse(into[appsv1.Deployment](t, want, "Deployment/helm-controller").Spec.Template.Spec.Containers[0].Args, io.Discard)
		if err != nil || !o.Gates.HelmChartAPI {
			t.Errorf("config/%s: %v", dir, err)
		}
	}
}

// TestNoRightsWithoutHelmCharts: other overlays grant no right for HelmCharts, and install no CRD of
// theirs.
func TestNoRightsWithoutHelmCharts(t *testing.T) {
	for _, dir := range []string{"default", "cluster-admin"} {
		all := kustomize(t, dir)
		for key := range all {
			if strings.Contains(key, "cattle.io") || strings.Contains(key, "helmchart-role") {
				t.Errorf("config/%s has %s", dir, key)
			}
			if !strings.HasPrefix(key, "ClusterRole/") {
				continue
			}
			for _, rule := range into[rbacv1.ClusterRole](t, all, key).Rules {
				if slices.Contains(rule.APIGroups, "helm.cattle.io") {
					t.Errorf("config/%s: %s has %v", dir, key, rule)
				}
			}
		}
	}
}
