// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// TestRefuseHooks: each policy must allow each hook by one of its events and by its name.
func TestRefuseHooks(t *testing.T) {
	t.Parallel()
	migrate := Hook{Name: "web-migrate", Events: []string{"pre-upgrade", "post-install"}}
	backup := Hook{Name: "backup", Events: []string{"pre-upgrade"}}
	rule := func(name string, allow, names []string) Policy {
		return Policy{Kind: "ReleasePolicy", Namespace: "apps", Name: name, Spec: v1alpha1.ReleasePolicySpec{
			Operations: &v1alpha1.OperationPolicy{Allow: allow, Names: names},
		}}
	}
	const events = "ReleasePolicy/a allows hooks of pre-rollback only, and hook web-migrate is of pre-upgrade, post-install (spec.operations.allow)"
	const names = "ReleasePolicy/b allows hooks named *-migrate, seed only, and not backup (spec.operations.names)"
	for name, tc := range map[string]struct {
		policies []Policy
		hooks    []Hook
		want     string
	}{
		"NoPolicy":       {nil, []Hook{migrate}, ""},
		"NoRule":         {[]Policy{rule("a", nil, nil)}, []Hook{migrate}, ""},
		"OneOfItsEvents": {[]Policy{rule("a", []string{"pre-upgrade"}, nil)}, []Hook{migrate}, ""},
		"OtherEvent":     {[]Policy{rule("a", []string{"pre-rollback"}, nil)}, []Hook{migrate}, events},
		"Name":           {[]Policy{rule("b", nil, []string{"*-migrate", "seed"})}, []Hook{migrate}, ""},
		"OtherName":      {[]Policy{rule("b", nil, []string{"*-migrate", "seed"})}, []Hook{migrate, backup}, names},
		"EachPolicy":     {[]Policy{rule("a", []string{"pre-upgrade"}, nil), rule("b", nil, []string{"*-migrate", "seed"})}, []Hook{backup}, names},
		"OtherRelease":   {[]Policy{func() Policy { p := rule("a", []string{"test"}, nil); p.Namespace = "other"; return p }()}, []Hook{migrate}, ""},
	} {
		if got := Select(tc.policies, web(), time.Time{}).RefuseHooks(tc.hooks); got != tc.want {
			t.Errorf("%s: refused as %q, want %q", name, got, tc.want)
		}
	}
}

// TestOperationApprover: one policy that demands approval is enough, and a value that is not known makes
// the policies unavailable.
func TestOperationApprover(t *testing.T) {
	t.Parallel()
	demanding := func(name string, approval v1alpha1.OperationApproval) Policy {
		return Policy{Kind: "ReleasePolicy", Namespace: "apps", Name: name, Spec: v1alpha1.ReleasePolicySpec{Operations: &v1alpha1.OperationPolicy{Approval: approval}}}
	}
	never, always, unknown := demanding("a", v1alpha1.OperationApprovalNever), demanding("b", v1alpha1.OperationApprovalAlways), demanding("c", "Sometimes")
	for want, policies := range map[string][]Policy{"": {never}, "ReleasePolicy/b": {never, always}} {
		if got := Select(policies, web(), time.Time{}).OperationApprover(); got != want {
			t.Errorf("%s demands approval, want %q", got, want)
		}
	}
	const want = `ReleasePolicy/c: spec.operations.approval "Sometimes" is not supported by this version`
	if d := Select([]Policy{unknown}, web(), time.Time{}); d.Unavailable != want {
		t.Errorf("unavailable as %q, want %q", d.Unavailable, want)
	}
}
