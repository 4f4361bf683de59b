// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func TestConfigKeys(t *testing.T) {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "x"}}
	hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "ConfigMap", Name: "a"}, {Kind: "Secret", Name: "b"}, {Kind: "ConfigMap", Name: "c"}}
	if got := configKeys(helmv2.KindConfigMap)(hr); !slices.Equal(got, []string{"n/a", "n/c"}) {
		t.Errorf("ConfigMaps are %v", got)
	}
	if got := configKeys(helmv2.KindSecret)(hr); !slices.Equal(got, []string{"n/b"}) {
		t.Errorf("Secrets are %v", got)
	}
	hr.Spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: "k"}}
	if got := configKeys(helmv2.KindSecret)(hr); !slices.Equal(got, []string{"n/b", "n/k"}) {
		t.Errorf("Secrets are %v, the kubeconfig's included", got)
	}
	if got := configKeys(helmv2.KindConfigMap)(hr); !slices.Equal(got, []string{"n/a", "n/c"}) {
		t.Errorf("a kubeconfig is no ConfigMap: %v", got)
	}
	if got := configKeys(helmv2.KindSecret)(&sourcev1.OCIRepository{}); got != nil {
		t.Errorf("something else takes values from %v", got)
	}
}
