// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/plan"
)

// protection returns a protection of PersistentVolumeClaims.
func protection(by string, deny bool, operations ...v1alpha1.ProtectedOperation) Protection {
	return Protection{Policy: by, Protection: v1alpha1.Protection{
		Kinds: []string{"Namespace", "PersistentVolumeClaim"}, Operations: operations, Deny: deny,
	}}
}

func change(kind v1alpha1.ChangeKind, object string) v1alpha1.PlanChange {
	return v1alpha1.PlanChange{APIVersion: "v1", Kind: object, Name: "data", Change: kind, Destructive: kind == v1alpha1.ChangeDelete}
}

// TestAssess: each protection and each approval that is about a change counts, and no other.
func TestAssess(t *testing.T) {
	const pvc = "PersistentVolumeClaim"
	remove, replace := change(v1alpha1.ChangeDelete, pvc), change(v1alpha1.ChangeReplace, pvc)
	update, other := change(v1alpha1.ChangeUpdate, pvc), change(v1alpha1.ChangeDelete, "ConfigMap")
	hooked := replace
	hooked.Destructive = true
	cluster := v1alpha1.PlanChange{APIVersion: "postgresql.cnpg.io/v1", Kind: "Cluster", Name: "db", Change: v1alpha1.ChangeDelete, Destructive: true}
	named := func(kind string) Protection {
		return Protection{Policy: "p", Protection: v1alpha1.Protection{Kinds: []string{kind}, Operations: []v1alpha1.ProtectedOperation{v1alpha1.ProtectDelete}}}
	}
	always, destructive := Approval{Policy: "a", Of: v1alpha1.ApprovalAlways}, Approval{Policy: "b", Of: v1alpha1.ApprovalDestructive}
	class := Approval{Policy: "c", Of: v1alpha1.ApprovalNever, Classes: []v1alpha1.DangerClass{v1alpha1.DataLoss, v1alpha1.Access}}
	both := Approval{Policy: "d", Of: v1alpha1.ApprovalDestructive, Classes: class.Classes}
	dangers := []v1alpha1.PlanDanger{
		{Class: v1alpha1.Outage, Kind: "Deployment", Name: "web", Reason: "it is scaled to zero"},
		{Class: v1alpha1.Access, Kind: "Role", Name: "r", Reason: "it newly grants get on secrets"},
	}
	for name, tc := range map[string]struct {
		demands Demands
		action  v1alpha1.PlanAction
		changes []v1alpha1.PlanChange
		dropped []apischema.GroupKind
		dangers []v1alpha1.PlanDanger
		want    Assessment
	}{
		"Nothing":           {demands: Demands{}, changes: []v1alpha1.PlanChange{remove}},
		"Always":            {demands: Demands{Approvals: []Approval{always, destructive}}, want: Assessment{Needs: "a: all changes"}},
		"Destructive":       {demands: Demands{Approvals: []Approval{destructive}}, changes: []v1alpha1.PlanChange{update, other}, want: Assessment{Needs: "b: destructive changes, such as that of ConfigMap/data"}},
		"NotDestructive":    {demands: Demands{Approvals: []Approval{destructive}}, changes: []v1alpha1.PlanChange{update, replace}},
		"Delete":            {demands: Demands{Protections: []Protection{protection("p", false, v1alpha1.ProtectDelete)}}, changes: []v1alpha1.PlanChange{other, remove}, want: Assessment{Needs: "p protects PersistentVolumeClaim/data"}},
		"OtherKind":         {demands: Demands{Protections: []Protection{protection("p", true, v1alpha1.ProtectDelete)}}, changes: []v1alpha1.PlanChange{other}},
		"OtherOperation":    {demands: Demands{Protections: []Protection{protection("p", true, v1alpha1.ProtectReplace, v1alpha1.ProtectReinstall)}}, changes: []v1alpha1.PlanChange{remove, update}},
		"Replace":           {demands: Demands{Protections: []Protection{protection("p", true, v1alpha1.ProtectReplace)}}, changes: []v1alpha1.PlanChange{replace}, want: Assessment{Needs: "p protects PersistentVolumeClaim/data", Denied: "p denies the replacement of PersistentVolumeClaim/data"}},
		"Deny":              {demands: Demands{Protections: []Protection{protection("p", false, v1alpha1.ProtectDelete), protection("q", true, v1alpha1.ProtectDelete)}}, changes: []v1alpha1.PlanChange{remove}, want: Assessment{Needs: "p protects PersistentVolumeClaim/data", Denied: "q denies the deletion of PersistentVolumeClaim/data"}},
		"Reinstall":         {demands: Demands{Protections: []Protection{protection("p", true, v1alpha1.ProtectReinstall)}}, action: v1alpha1.PlanReinstall, changes: []v1alpha1.PlanChange{remove}, want: Assessment{Needs: "p protects PersistentVolumeClaim/data", Denied: "p denies the reinstall of PersistentVolumeClaim/data"}},
		"ReinstallDeletes":  {demands: Demands{Protections: []Protection{protection("p", false, v1alpha1.ProtectDelete)}}, action: v1alpha1.PlanReinstall, changes: []v1alpha1.PlanChange{remove}, want: Assessment{Needs: "p protects PersistentVolumeClaim/data"}},
		"ReinstallCreates":  {demands: Demands{Protections: []Protection{protection("p", false, v1alpha1.ProtectReinstall)}}, action: v1alpha1.PlanReinstall, changes: []v1alpha1.PlanChange{change(v1alpha1.ChangeCreate, pvc)}},
		"ReinstallReplaces": {demands: Demands{Protections: []Protection{protection("p", false, v1alpha1.ProtectReplace)}}, action: v1alpha1.PlanReinstall, changes: []v1alpha1.PlanChange{remove}},
		"HookReplaces":      {demands: Demands{Protections: []Protection{protection("p", true, v1alpha1.ProtectDelete)}}, changes: []v1alpha1.PlanChange{hooked}, want: Assessment{Needs: "p protects PersistentVolumeClaim/data", Denied: "p denies the replacement of PersistentVolumeClaim/data"}},
		"HookIsDestructive": {demands: Demands{Approvals: []Approval{destructive}}, changes: []v1alpha1.PlanChange{hooked}, want: Assessment{Needs: "b: destructive changes, such as that of PersistentVolumeClaim/data"}},
		"Group":             {demands: Demands{Protections: []Protection{named("Cluster.postgresql.cnpg.io")}}, changes: []v1alpha1.PlanChange{cluster}, want: Assessment{Needs: "p protects Cluster/db"}},
		"AnyGroup":          {demands: Demands{Protections: []Protection{named("Cluster")}}, changes: []v1alpha1.PlanChange{cluster}, want: Assessment{Needs: "p protects Cluster/db"}},
		"OtherGroup":        {demands: Demands{Protections: []Protection{named("Cluster.cluster.x-k8s.io")}}, changes: []v1alpha1.PlanChange{cluster}},
		"CoreGroup":         {demands: Demands{Protections: []Protection{named("PersistentVolumeClaim.")}}, changes: []v1alpha1.PlanChange{remove}, want: Assessment{Needs: "p protects PersistentVolumeClaim/data"}},
		"CRD":               {demands: Demands{Protections: []Protection{named("Cluster.postgresql.cnpg.io")}}, dropped: []apischema.GroupKind{{Group: "postgresql.cnpg.io", Kind: "Cluster"}}, want: Assessment{Needs: "p protects Cluster/*"}},
		"Rollback":          {demands: Demands{Protections: []Protection{protection("p", true, v1alpha1.ProtectDelete)}}, action: v1alpha1.PlanRollback, changes: []v1alpha1.PlanChange{remove}},
		"RollbackApproved":  {demands: Demands{Approvals: []Approval{always}}, action: v1alpha1.PlanRollback, changes: []v1alpha1.PlanChange{remove}, want: Assessment{Needs: "a: all changes"}},
		"Class":             {demands: Demands{Approvals: []Approval{class}}, dangers: dangers, want: Assessment{Needs: "c: Access, Role/r: it newly grants get on secrets"}},
		"OtherClass":        {demands: Demands{Approvals: []Approval{class}}, changes: []v1alpha1.PlanChange{remove}, dangers: dangers[:1]},
		"ClassBesides":      {demands: Demands{Approvals: []Approval{both}}, changes: []v1alpha1.PlanChange{remove}, want: Assessment{Needs: "d: destructive changes, such as that of PersistentVolumeClaim/data"}},
		"NoDanger":          {demands: Demands{Approvals: []Approval{class}}, changes: []v1alpha1.PlanChange{remove}},
	} {
		if got := tc.demands.Assess(tc.action, plan.Removals(tc.changes, tc.dropped), tc.dangers); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
}

// FuzzSecret: no secret changes what the policies decide about a plan, neither by redaction nor by the
// limits of the plan.
func FuzzSecret(f *testing.F) {
	f.Add("PersistentVolumeClaim", uint16(1), uint16(0), true)
	f.Add("Volume", uint16(300), uint16(7), false)
	f.Add("v1", uint16(2), uint16(1), true)
	f.Add("data", uint16(900), uint16(500), true)
	f.Fuzz(func(t *testing.T, secret string, n, at uint16, deny bool) {
		kinds := []string{"ConfigMap", "Secret", "Widget", "PersistentVolume"}
		facts := plan.Facts{Action: v1alpha1.PlanUpgrade}
		for i := range min(n, 1000) {
			kind := kinds[int(i)%len(kinds)]
			if i == at {
				kind = "PersistentVolumeClaim"
			}
			facts.Objects = append(facts.Objects, v1alpha1.PlanChange{
				APIVersion: "v1", Kind: kind, Name: strings.Repeat("data-", int(i%50)) + secret, Change: v1alpha1.ChangeDelete, Destructive: true,
			})
		}
		demands := Demands{Protections: []Protection{protection("p", deny, v1alpha1.ProtectDelete)}, Approvals: []Approval{{Policy: "a", Of: v1alpha1.ApprovalDestructive}}}
		verdict := func(redact func(string) string) (denied, needs bool) {
			facts.Redact = redact
			s := plan.Build(facts).Status
			a := demands.Assess(s.Action, s.Removals, s.Dangers)
			return a.Denied != "", a.Needs != ""
		}
		denied, needs := verdict(nil)
		if want := at < min(n, 1000); denied != (want && deny) || needs != (n > 0) {
			t.Fatalf("denied %t and needs approval %t, of %d changes with the claim at %d", denied, needs, n, at)
		}
		masked, awaits := verdict(func(s string) string {
			if secret == "" {
				return s
			}
			return strings.ReplaceAll(s, secret, "***")
		})
		if masked != denied || awaits != needs {
			t.Errorf("with the secret %q: denied %t, want %t; needs approval %t, want %t", secret, masked, denied, awaits, needs)
		}
	})
}

// TestProtector: a rollback keeps what a policy protects, and everything while policies are not known.
func TestProtector(t *testing.T) {
	d := Demands{Protections: []Protection{protection("p", false, v1alpha1.ProtectDelete)}}
	claim := v1alpha1.PlanRemoval{Kind: "PersistentVolumeClaim", Change: v1alpha1.ChangeDelete, Destructive: true}
	other := v1alpha1.PlanRemoval{Kind: "ConfigMap", Change: v1alpha1.ChangeDelete, Destructive: true}
	if by := d.Protector(claim); by != "p" {
		t.Errorf("the claim is protected by %q", by)
	}
	if by := d.Protector(other); by != "" {
		t.Errorf("the ConfigMap is protected by %q", by)
	}
	d.Unavailable = "the API server does not answer"
	if by := d.Protector(other); by == "" {
		t.Error("nothing is protected while the policies are not known")
	}
}
