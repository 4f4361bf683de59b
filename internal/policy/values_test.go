// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// valuesPolicy returns a ClusterReleasePolicy about values.
func valuesPolicy(spec v1alpha1.ValuesPolicy) Policy {
	return Policy{Kind: v1alpha1.ClusterReleasePolicyKind, Name: "tenants", Spec: v1alpha1.ReleasePolicySpec{Values: &spec}}
}

// TestRefuseSources: values come from the places of the list only.
func TestRefuseSources(t *testing.T) {
	t.Parallel()
	inline := Place{Field: "spec.values", Kind: "HelmRelease", Namespace: "apps", Name: "web"}
	secret := Place{Field: "spec.valuesFrom[0]", Kind: "Secret", Namespace: "apps", Name: "web-db", Key: "values.yaml", Secret: true}
	config := Place{Field: "spec.valuesFrom[1]", Kind: "ConfigMap", Namespace: "apps", Name: "web-db", Key: "values.yaml"}
	git := Place{Field: "spec.valuesFrom[2]", Kind: "GitRepository", Namespace: "platform", Name: "config", Key: "envs/prod/*.yaml"}
	all := []Place{inline, secret, config, git}
	for name, tc := range map[string]struct {
		sources []string
		places  []Place
		refused string
	}{
		"Any":            {nil, all, ""},
		"NoValues":       {[]string{"Secret"}, nil, ""},
		"Kind":           {[]string{"Secret"}, []Place{secret}, ""},
		"OtherKind":      {[]string{"Secret"}, []Place{secret, config}, "spec.valuesFrom[1]"},
		"Inline":         {[]string{"HelmRelease"}, []Place{inline}, ""},
		"NotInline":      {[]string{"Secret"}, []Place{secret, inline}, "spec.values"},
		"Name":           {[]string{"Secret/web-db"}, []Place{secret}, ""},
		"Pattern":        {[]string{"Secret/web-*"}, []Place{secret}, ""},
		"OtherName":      {[]string{"Secret/api-*"}, []Place{secret}, "spec.valuesFrom[0]"},
		"OwnNamespace":   {[]string{"GitRepository/config"}, []Place{git}, "spec.valuesFrom[2]"},
		"Namespace":      {[]string{"GitRepository/platform/config"}, []Place{git}, ""},
		"OtherNamespace": {[]string{"GitRepository/apps/*"}, []Place{git}, "spec.valuesFrom[2]"},
		"AnyNamespace":   {[]string{"GitRepository/*/config"}, []Place{git}, ""},
		"NoPrefix":       {[]string{"Git"}, []Place{git}, "spec.valuesFrom[2]"},
		"Several":        {[]string{"HelmRelease", "Secret/web-*", "ConfigMap", "GitRepository/platform/*"}, all, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := RefuseSources([]Policy{valuesPolicy(v1alpha1.ValuesPolicy{Sources: tc.sources})}, Release{Namespace: "apps"}, tc.places)
			switch {
			case (got != nil) != (tc.refused != ""), got != nil && (got.Field != tc.refused || got.Policy != "ClusterReleasePolicy/tenants"):
				t.Errorf("%+v, want %q", got, tc.refused)
			case got != nil && !strings.Contains(got.Why, "(spec.values.sources)"):
				t.Errorf("%q", got.Why)
			}
		})
	}
	got := RefuseSources([]Policy{valuesPolicy(v1alpha1.ValuesPolicy{Sources: []string{"Secret", "HelmRelease"}})}, Release{Namespace: "apps"}, all)
	if want := "values may come from Secret, HelmRelease, and not from values.yaml of ConfigMap/apps/web-db (spec.values.sources)"; got == nil || got.Why != want {
		t.Errorf("%+v, want %q", got, want)
	}
}

// TestRefuseValues: credentials outside of Secrets are refused by key and place, and the message does
// not have them.
func TestRefuseValues(t *testing.T) {
	t.Parallel()
	deny := v1alpha1.ValuesPolicy{PlaintextSecrets: v1alpha1.PlaintextSecretsDeny}
	allow := func(keys ...string) v1alpha1.ValuesPolicy {
		return v1alpha1.ValuesPolicy{PlaintextSecrets: v1alpha1.PlaintextSecretsDeny, Allow: keys}
	}
	tree := func() map[string]any {
		return map[string]any{"auth": map[string]any{"password": "hunter2", "x.y": map[string]any{"token": "hunter3"}}, "port": 80.0}
	}
	inline := Place{Field: "spec.values", Kind: "HelmRelease", Namespace: "apps", Name: "web", Values: tree()}
	config := Place{Field: "spec.valuesFrom[0]", Kind: "ConfigMap", Namespace: "apps", Name: "web", Key: "values.yaml", Values: tree()}
	file := Place{Field: "spec.valuesFrom[1]", Kind: "GitRepository", Namespace: "apps", Name: "config", Key: "a/b.yaml", Values: tree()}
	secret := Place{Field: "spec.valuesFrom[2]", Kind: "Secret", Namespace: "apps", Name: "web", Key: "values.yaml", Secret: true, Values: tree()}
	const first, second = `auth.password looks like a credential by its name`, `auth.x\.y.token looks like a credential by its name`
	for name, tc := range map[string]struct {
		rule   v1alpha1.ValuesPolicy
		places []Place
		field  string
		whys   []string
	}{
		"Absent":     {v1alpha1.ValuesPolicy{}, []Place{inline}, "", nil},
		"Allowed":    {v1alpha1.ValuesPolicy{PlaintextSecrets: v1alpha1.PlaintextSecretsAllow}, []Place{inline}, "", nil},
		"Inline":     {deny, []Place{inline}, "spec.values", []string{first + ", " + second, "move it to a Secret"}},
		"ConfigMap":  {deny, []Place{config}, "spec.valuesFrom[0]", []string{"in values.yaml of ConfigMap/apps/web, " + first}},
		"File":       {deny, []Place{secret, file}, "spec.valuesFrom[1]", []string{"in a/b.yaml of GitRepository/apps/config, " + first}},
		"Secret":     {deny, []Place{secret}, "", nil},
		"NoValues":   {deny, []Place{{Kind: "ConfigMap"}}, "", nil},
		"AllowOne":   {allow("auth.password"), []Place{inline}, "spec.values", []string{second}},
		"AllowBoth":  {allow("auth.password", `auth.x\.y.token`), []Place{inline}, "", nil},
		"AllowMany":  {allow("auth.*"), []Place{inline}, "", nil},
		"AllowEnds":  {allow("*.token", "*password"), []Place{inline}, "", nil},
		"AllowOther": {allow("password", "auth"), []Place{inline}, "spec.values", []string{first}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policies := []Policy{valuesPolicy(tc.rule)}
			got := RefuseValues(policies, Release{Namespace: "apps"}, tc.places)
			if (got != nil) != (tc.field != "") || got != nil && got.Field != tc.field {
				t.Fatalf("%+v, want %q", got, tc.field)
			}
			if is := JudgesValues(policies, Release{Namespace: "apps"}); is != (tc.rule.PlaintextSecrets == v1alpha1.PlaintextSecretsDeny) {
				t.Errorf("judged: %v", is)
			}
			for _, why := range tc.whys {
				if !strings.Contains(got.Why, why) || strings.Contains(got.Why, "hunter") {
					t.Errorf("%q does not contain %q", got.Why, why)
				}
			}
		})
	}
}

// TestRefusedKeysAreBrief: a refusal names few keys, cuts long ones, and has them on one line. A pattern
// allows no longer key.
func TestRefusedKeysAreBrief(t *testing.T) {
	t.Parallel()
	tree := map[string]any{}
	for i := range 50 {
		tree[fmt.Sprintf("%02d\n%s_password", i, strings.Repeat("x", 10_000))] = "hunter2"
	}
	policies := []Policy{valuesPolicy(v1alpha1.ValuesPolicy{PlaintextSecrets: v1alpha1.PlaintextSecretsDeny, Allow: []string{"*"}})}
	got := RefuseValues(policies, Release{}, []Place{{Field: "spec.values", Kind: "HelmRelease", Values: tree}})
	if got == nil || !strings.Contains(got.Why, "and 47 more") || strings.Contains(got.Why, "\n") || len(got.Why) > 1500 {
		t.Errorf("%+v", got)
	}
}
