// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestMonitoring: what config/monitoring installs finds the controller's pods and
// their port, and Grafana's sidecar the dashboard. What is in it is tested in
// test/monitoring.
func TestMonitoring(t *testing.T) {
	all := kustomize(t, "monitoring")
	pods := into[appsv1.Deployment](t, kustomize(t, "default"), "Deployment/helm-controller").Spec.Template
	monitor := all["PodMonitor/helm-controller"]
	if monitor == nil || all["PrometheusRule/helm-controller"] == nil || len(all) != 3 {
		t.Fatalf("there are %d objects", len(all))
	}
	if app := at(monitor, "spec", "selector", "matchLabels", "app"); app != pods.Labels["app"] || app == "" {
		t.Errorf("it looks for pods of %v, which have %v", app, pods.Labels)
	}
	endpoint := at(monitor, "spec", "podMetricsEndpoints", 0)
	if port := at(endpoint, "port"); port != pods.Spec.Containers[0].Ports[0].Name || at(endpoint, "honorLabels") != true {
		t.Errorf("it reads metrics by %v, and may rename their labels", endpoint)
	}
	// A PodMonitor finds Pods of its own namespace.
	for _, o := range kustomize(t, "flux/monitoring") {
		if at(o, "metadata", "namespace") != "flux-system" {
			t.Errorf("config/flux/monitoring has %v", at(o, "metadata"))
		}
	}
	dashboard := all["ConfigMap/pintle-dashboard"]
	if dashboard == nil || at(dashboard, "metadata", "labels", "grafana_dashboard") != "1" || at(dashboard, "data", "dashboard.json") == nil {
		t.Errorf("there is no dashboard: %v", dashboard)
	}
}
