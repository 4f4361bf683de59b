// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/internal/helmchart"
)

// packaged are charts that k3s itself installs and writes anew at each start. Those of RKE2 begin
// with rke2-.
func packaged() []string {
	return []string{"traefik", "traefik-crd", "coredns", "metrics-server", "local-path-provisioner", "local-storage"}
}

// helmCharts reports the releases that are made for HelmCharts of k3s: which of them k3s packages, and
// which ServiceAccounts the authors of HelmCharts can use.
func helmCharts(f Facts) []Finding {
	var own, accounts []string
	for i := range f.Releases {
		hr := &f.Releases[i]
		if !helmchart.IsMade(hr) {
			continue
		}
		if hr.Namespace == metav1.NamespaceSystem && (slices.Contains(packaged(), hr.Name) || strings.HasPrefix(hr.Name, "rke2-")) {
			own = append(own, nameOf(hr))
		}
		if name := hr.Spec.ServiceAccountName; name != "" {
			accounts = append(accounts, hr.Namespace+"/"+name)
		}
	}
	var all []Finding
	if len(own) > 0 {
		all = append(all, Finding{
			Level: Warning, Check: "HelmCharts", Objects: own, What: "Pintle manages " + count(len(own), "chart") + " that k3s packages",
			Meaning: "k3s writes their HelmCharts anew at each start, and the cluster needs them before it can run Pintle.",
			Do:      "Give them back: set their annotation helmcharts.cattle.io/managed-by to the name of k3s' controller (docs/from-k3s.md).",
		})
	}
	if len(accounts) > 0 {
		slices.Sort(accounts)
		all = append(all, Finding{
			Level: Note, Check: "HelmCharts", Objects: slices.Compact(accounts),
			What:    "releases of HelmCharts act as " + count(len(slices.Compact(accounts)), "ServiceAccount") + " helm-*",
			Meaning: "Users who may write HelmCharts in those namespaces have the rights of these accounts. k3s has bound them to cluster-admin.",
			Do:      "kubectl get clusterrolebindings helm-NAMESPACE-NAME shows the rights of one; docs/from-k3s.md restricts them.",
		})
	}
	return all
}
