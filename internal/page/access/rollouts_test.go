// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestRollouts: the user sees the waves of the policies, and the releases in them, that the user may get.
func TestRollouts(t *testing.T) {
	web, vault := newRelease("apps", "web"), newRelease("bank", "vault")
	for _, hr := range []*helmv2.HelmRelease{web, vault} {
		hr.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindHelmChart, Name: "web"}
		hr.Status.LastAttemptedRevision = "1.0.0"
		hr.Status.History = helmv2.Snapshots{{Version: 1, ChartName: "web", ChartVersion: "1.0.0", Status: helmv2.StatusDeployed}}
	}
	fleet := &v1alpha1.ClusterReleasePolicy{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}}
	fleet.Spec.Rollout = &v1alpha1.Rollout{}
	bank := &v1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "bank"}}
	bank.Spec.Rollout = &v1alpha1.Rollout{}
	for name, tc := range map[string]struct {
		rights []string
		want   string
		unread string
	}{
		"All":        {[]string{"get helmreleases", "get releasepolicies", "get clusterreleasepolicies"}, "ClusterReleasePolicy/fleet: apps/web bank/vault; ReleasePolicy/bank: bank/vault", ""},
		"Namespace":  {[]string{"get helmreleases apps", "get releasepolicies apps", "get clusterreleasepolicies"}, "ClusterReleasePolicy/fleet: apps/web", ""},
		"NoPolicies": {[]string{"get helmreleases"}, "", "you need the right to get clusterreleasepolicies.pintle.dev"},
		"NoReleases": {[]string{"get releasepolicies", "get clusterreleasepolicies"}, "", ""},
	} {
		v, _ := newViewer(t, tc.rights, web.DeepCopy(), vault.DeepCopy(), fleet.DeepCopy(), bank.DeepCopy())
		v.Live = v.Kept
		all, unread, err := v.Rollouts(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, wave := range all {
			text := wave.Policy + ":"
			for _, r := range wave.Releases {
				text += " " + r.Namespace + "/" + r.Name
			}
			got = append(got, text)
		}
		if text := strings.Join(got, "; "); text != tc.want {
			t.Errorf("%s: %q, want %q", name, text, tc.want)
		}
		if text := strings.Join(unread, "; "); (tc.unread == "") != (text == "") || !strings.Contains(text, tc.unread) {
			t.Errorf("%s: unread %q", name, text)
		}
	}
}
