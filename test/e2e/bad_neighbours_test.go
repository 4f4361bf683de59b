// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	helmchart "helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// TestBadNeighbours: obstacles around a release are reported, their removal suffices for recovery,
// and other releases stay ready.
func TestBadNeighbours(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	w.push("0.1.0")
	source := w.source("hello", env.Registry.Address)
	steady := w.release("steady", source.Name, nil)
	w.UntilRevision(steady, 1)

	t.Run("all", func(t *testing.T) {
		for name, test := range map[string]func(world){
			"NotAChart":           notAChart,
			"ValuesFailSchema":    valuesFailSchema,
			"MissingSource":       missingSource,
			"UnreachableRegistry": unreachableRegistry,
			"ClusterWithoutGate":  clusterWithoutGate,
			"NamespaceGoes":       namespaceGoes,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(newWorld(t))
			})
		}
	})

	w.Until(steady, "to be ready still", harness.Ready)
	if got := steady.Status.History[0]; got.Version != 1 || steady.Status.Failures != 0 {
		t.Errorf("the steady release changed:\n%s", harness.Summary(steady))
	}
}

func notAChart(w world) {
	noise := &helmchart.Metadata{APIVersion: "v2", Name: "hello", Version: "0.1.0"}
	w.Must(env.Registry.Push(w.Context(), w.Namespace+"/hello", "0.1.0", noise, []byte("no chart at all")))
	source := w.source("noise", env.Registry.Address)
	hr := w.release("hello", source.Name, nil)
	w.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed,
		"Could not load chart", w.Namespace+"/noise", "cannot be read")
	w.push("0.1.1")
	w.requestReconciliation(source)
	w.UntilRevision(hr, 1)
}

func valuesFailSchema(w world) {
	w.push("0.1.0")
	hr := w.release("hello", w.source("hello", env.Registry.Address).Name, values{"message": 7})
	w.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInstallFailed,
		w.Namespace+"/hello", "message", "got number, want string")
	w.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = w.Raw(values{"message": "seven"}) })
	w.UntilRevision(hr, 1)

	w.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = w.Raw(values{"replicas": -1}) })
	w.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonUpgradeFailed, w.Namespace+"/hello", "replicas")
	w.message("hello", "seven")
	w.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = w.Raw(values{"replicas": 2}) })
	w.UntilRevision(hr, 2)
}

func missingSource(w world) {
	w.push("0.1.0")
	hr := w.release("hello", "nowhere", nil)
	w.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed,
		helmv2.KindOCIRepository, w.Namespace+"/nowhere", "not found")
	w.source("nowhere", env.Registry.Address)
	w.UntilRevision(hr, 1)
}

func unreachableRegistry(w world) {
	reserved, err := harness.Reserve()
	w.Must(err)
	source := w.source("away", reserved.Address)
	hr := w.release("hello", source.Name, nil)
	w.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady,
		helmv2.KindOCIRepository, w.Namespace+"/away", reserved.Address, "connection refused")

	listener, err := reserved.Listen()
	w.Must(err)
	registry := harness.ServeRegistry(listener)
	defer func() { _ = registry.Close() }()
	archive, err := harness.HelloChart("0.1.0")
	w.Must(err)
	w.Must(registry.PushChart(w.Context(), w.Namespace, archive))
	w.requestReconciliation(source)
	w.UntilRevision(hr, 1)
}

func clusterWithoutGate(w world) {
	w.push("0.1.0")
	hr := w.release("hello", w.source("hello", env.Registry.Address).Name, nil)
	w.UntilRevision(hr, 1)
	w.Create(&corev1.ConfigMap{ObjectMeta: w.Meta("elsewhere"), Data: map[string]string{"provider": "generic", "address": "https://127.0.0.1:1", "serviceAccountName": "tenant"}})
	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.KubeConfig = &helmv2.KubeConfigReference{ConfigMapRef: &helmv2.LocalObjectReference{Name: "elsewhere"}}
	})
	w.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRESTClientError, "ConfigMap '"+w.Namespace+"/elsewhere': provider generic", "ObjectLevelWorkloadIdentity")
	w.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.KubeConfig = nil })
	w.UntilRevision(hr, 1)
}

// namespaceGoes: a release does not block the deletion of its namespace, although objects that its
// uninstall needs are deleted at the same time.
func namespaceGoes(w world) {
	w.push("0.1.0")
	w.UntilRevision(w.release("hello", w.source("hello", env.Registry.Address).Name, nil), 1)
	w.leave()
}
