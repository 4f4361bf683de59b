// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// protection returns a protection of PersistentVolumeClaims.
func protection(by string, deny bool, operations ...v1alpha1.ProtectedOperation) Protection {
	return Protection{Policy: by, Protection: v1alpha1.Protection{
		Kinds: []string{"Namespace", "PersistentVolumeClaim"}, Operations: operations, Deny: deny,
	}}
}

func change(kind v1alpha1.ChangeKind, object string) v1alpha1.PlanChange {
	return v1alpha1.PlanChange{Kind: object, Name: "data", Change: kind, Destructive: kind == v1alpha1.ChangeDelete}
}

// TestAssess: each protection and each approval that is about a change counts, and no other.
func TestAssess(t *testing.T) {
	const pvc = "PersistentVolumeClaim"
	remove, replace := change(v1alpha1.ChangeDelete, pvc), change(v1alpha1.ChangeReplace, pvc)
	update, other := change(v1alpha1.ChangeUpdate, pvc), change(v1alpha1.ChangeDelete, "ConfigMap")
	always, destructive := Approval{"a", v1alpha1.ApprovalAlways}, Approval{"b", v1alpha1.ApprovalDestructive}
	for name, tc := range map[string]struct {
		demands Demands
		action  v1alpha1.PlanAction
		changes []v1alpha1.PlanChange
		hidden  bool
		want    Assessment
	}{
		"Nothing":           {demands: Demands{}, changes: []v1alpha1.PlanChange{remove}},
		"Always":            {demands: Demands{Approvals: []Approval{always, destructive}}, want: Assessment{Needs: "a demands approval of all changes"}},
		"Destructive":       {demands: Demands{Approvals: []Approval{destructive}}, changes: []v1alpha1.PlanChange{update, other}, want: Assessment{Needs: "b demands approval of destructive changes, such as that of ConfigMap/data"}},
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
		"Hidden":            {demands: Demands{Protections: []Protection{protection("p", false, v1alpha1.ProtectDelete)}}, hidden: true, want: Assessment{Needs: "p protects objects, and the plan removes more objects than it lists"}},
		"HiddenDenied":      {demands: Demands{Protections: []Protection{protection("p", true, v1alpha1.ProtectDelete)}}, hidden: true, want: Assessment{Needs: "p protects objects, and the plan removes more objects than it lists", Denied: "p denies removals, and the plan removes more objects than it lists"}},
		"HiddenUnprotected": {demands: Demands{Approvals: []Approval{destructive}}, hidden: true, changes: []v1alpha1.PlanChange{update}},
	} {
		if got := tc.demands.Assess(tc.action, tc.changes, tc.hidden); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
}
