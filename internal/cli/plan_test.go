// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

func planWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "plan.yaml")
	w.user = "alice"
	return w
}

func (w *world) plan(name string) v1alpha1.ReleasePlanSpec {
	w.t.Helper()
	plan := &v1alpha1.ReleasePlan{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "finance", Name: name}, plan); err != nil {
		w.t.Fatal(err)
	}
	return plan.Spec
}

func TestPlan(t *testing.T) {
	planWorld(t).golden("plan", "plan billing -n finance", "plan refused -n finance", "plan new -n finance", "plan missing -n finance", "plan billing -n finance -o yaml")
}

// TestApprove: an approval names the digest and the user, and a rejection takes precedence.
func TestApprove(t *testing.T) {
	w := planWorld(t)
	w.golden("approve", "approve billing -n finance")
	if got, want := w.plan("billing"), (v1alpha1.ReleasePlanSpec{Approved: "sha256:abcd", ApprovedBy: "alice"}); got != want {
		t.Errorf("after approving, the plan is %+v", got)
	}
	w.golden("reject", "reject billing -n finance")
	if got := w.plan("billing").Rejected; got != "sha256:abcd" {
		t.Errorf("after rejecting, %q is rejected", got)
	}
	w.run("approve", "billing", "-n", "finance")
	if got := w.plan("billing").Rejected; got != "" {
		t.Errorf("after approving again, %q is still rejected", got)
	}
}

// TestApproveErrors: nothing is approved that the user has not seen, or that cannot be applied.
func TestApproveErrors(t *testing.T) {
	w := planWorld(t)
	w.golden("approve-errors", "approve refused -n finance", "approve new -n finance", "approve missing -n finance",
		"approve billing -n finance --digest sha256:old", "reject billing -n finance --digest sha256:old", "reject new -n finance")
	w.patch = errors.New("the admission policy denies it")
	w.golden("approve-denied", "approve billing -n finance")
	for _, name := range []string{"billing", "refused", "new"} {
		if got := w.plan(name); got != (v1alpha1.ReleasePlanSpec{}) {
			t.Errorf("plan %s is changed: %+v", name, got)
		}
	}
}
