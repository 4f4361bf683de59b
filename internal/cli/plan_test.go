// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
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

// TestPlanRequest: a plan is requested with a token of its own, and shown when it is computed for it.
func TestPlanRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := planWorld(t)
		w.objects = append(w.objects, newWorld(t, "cluster.yaml").objects...)
		w.start()
		reads, token := 0, ""
		w.react = func(hr *helmv2.HelmRelease) {
			if hr.Name != "billing" {
				return
			}
			reads++
			if token = hr.Annotations[v1alpha1.AnnotationPlan]; token == "" || reads < 4 {
				return
			}
			plan := &v1alpha1.ReleasePlan{}
			if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(hr), plan); err != nil {
				t.Fatal(err)
			}
			plan.Status.LastHandledPlanAt, plan.Status.Warnings = token, nil
			if err := w.client.Update(t.Context(), plan); err != nil {
				t.Fatal(err)
			}
		}
		w.golden("plan-request", "plan hr/billing -n finance --request")
		if reads != 4 || token != "2026-01-02T15:00:00Z" {
			t.Errorf("%d reads, token %q", reads, token)
		}
		w.react = nil
		w.golden("plan-unanswered", "plan reports -n finance", "plan reports -n finance --request --timeout 8s", "plan cart -n apps --request --timeout 8s")
		w.forbidden["ReleasePlan"] = true
		w.golden("plan-forbidden", "plan reports -n finance --request")
	})
}

// TestApprove: an approval names the digest and the user, and a rejection takes precedence.
func TestApprove(t *testing.T) {
	w := planWorld(t)
	w.in = "yes\n"
	w.golden("approve", "approve billing -n finance")
	if got, want := w.plan("billing"), (v1alpha1.ReleasePlanSpec{Approved: "sha256:abcd", ApprovedBy: "alice"}); !reflect.DeepEqual(got, want) {
		t.Errorf("after approving, the plan is %+v", got)
	}
	w.golden("reject", "reject billing -n finance --reason risky", "plan billing -n finance")
	if got := w.plan("billing"); got.Rejected != "sha256:abcd" || got.RejectedBy != "alice" || got.RejectionReason != "risky" {
		t.Errorf("after rejecting, the plan is %+v", got)
	}
	w.in = ""
	w.golden("approved", "approve billing -n finance --digest sha256:abcd")
	if got := w.plan("billing"); !reflect.DeepEqual(got, v1alpha1.ReleasePlanSpec{Approved: "sha256:abcd", ApprovedBy: "alice"}) {
		t.Errorf("after approving again, the plan is %+v", got)
	}
}

// TestApproveReplacement: an approval names objects that the API server would create and not change, and
// no others. It needs all of them, and an approval without names has none.
func TestApproveReplacement(t *testing.T) {
	w := planWorld(t)
	w.golden("approve-replace-errors", "plan immutable -n finance", "approve immutable -n finance --yes", "approve immutable -n finance --yes --replace StatefulSet/db",
		"approve immutable -n finance --yes --replace db", "approve immutable -n finance --yes --replace StatefulSet/other",
		"approve immutable -n finance --yes --replace ConfigMap/db", "approve immutable -n finance --yes --replace StatefulSet/kept",
		"approve immutable -n finance --yes --replace Job/migrate", "approve immutable -n finance --digest sha256:old --replace StatefulSet/db",
		"approve billing -n finance --digest sha256:abcd --replace Deployment/billing", "approve operation/a -n finance --replace Job/a")
	if got := w.plan("immutable"); !reflect.DeepEqual(got, v1alpha1.ReleasePlanSpec{}) {
		t.Errorf("the plan is changed: %+v", got)
	}
	w.golden("approve-replace", "approve immutable -n finance --digest sha256:2345 --replace statefulset/db --replace finance/Job/migrate --replace Job/finance/migrate",
		"approve immutable -n finance --digest sha256:2345 --replace statefulset/db --replace finance/Job/migrate --replace finance/job/migrate")
	want := &v1alpha1.PlanReplace{Digest: "sha256:2345", Objects: []v1alpha1.PlanObject{
		{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "finance", Name: "db"}, {APIVersion: "batch/v1", Kind: "Job", Namespace: "finance", Name: "migrate"},
	}}
	if got := w.plan("immutable"); got.Approved != "sha256:2345" || got.ApprovedBy != "alice" || !reflect.DeepEqual(got.Replace, want) {
		t.Errorf("the approval is %+v", got)
	}
}

// TestOverride: an override names the digest, the user, the reason and the time. An approval keeps it.
func TestOverride(t *testing.T) {
	w := planWorld(t)
	w.in = "yes\n"
	w.golden("override", "override billing -n finance --reason incident")
	want := v1alpha1.PlanOverride{Digest: "sha256:abcd", By: "alice", Reason: "incident", At: &metav1.Time{Time: time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)}}
	check := func() {
		t.Helper()
		if got := w.plan("billing").Override; got == nil || got.Digest != want.Digest || got.By != want.By || got.Reason != want.Reason || !got.At.Equal(want.At) {
			t.Errorf("the override is %+v", got)
		}
	}
	check()
	w.in = ""
	w.run("approve", "billing", "-n", "finance", "--digest", "sha256:abcd")
	check()
	w.golden("override-errors", "override billing -n finance", "override billing -n finance --reason incident", "override billing -n finance --reason incident --digest sha256:old",
		"override refused -n finance --reason incident --yes", "override new -n finance --reason incident", "override missing -n finance --reason incident")
	w.patch = errors.New("the admission policy denies it")
	w.golden("override-denied", "override billing -n finance --reason incident --digest sha256:abcd")
}

// TestApproveErrors: nothing is approved that the user has not seen, or that cannot be applied.
func TestApproveErrors(t *testing.T) {
	w := planWorld(t)
	for _, w.in = range []string{"", "no\n", "y\n"} {
		if code := w.run("approve", "billing", "-n", "finance"); code != 1 || !strings.Contains(w.err.String(), "error: nothing was changed: type yes, or set --yes or --digest sha256:abcd") {
			t.Errorf("after %q: exit code %d, %s", w.in, code, w.err.String())
		}
	}
	w.golden("approve-errors", "approve refused -n finance", "approve new -n finance", "approve missing -n finance",
		"approve billing -n finance --digest sha256:old", "reject billing -n finance --digest sha256:old", "reject new -n finance")
	w.patch = errors.New("the admission policy denies it")
	w.golden("approve-denied", "approve billing -n finance --digest sha256:abcd")
	for _, name := range []string{"billing", "refused", "new"} {
		if got := w.plan(name); !reflect.DeepEqual(got, v1alpha1.ReleasePlanSpec{}) {
			t.Errorf("plan %s is changed: %+v", name, got)
		}
	}
}

// TestApproveOperation: an approval of an Operation names the digest of its hooks and the user, and
// counts only for what the user has seen.
func TestApproveOperation(t *testing.T) {
	w := newWorld(t, "approval.yaml")
	w.user = "alice"
	approved := func() opsv1alpha1.OperationSpec {
		op := &opsv1alpha1.Operation{}
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "finance", Name: "migrate"}, op); err != nil {
			t.Fatal(err)
		}
		return op.Spec
	}
	w.in = "no\n"
	w.golden("approve-operation-errors", "approve operation/migrate -n finance", "approve operation/migrate -n finance --digest sha256:other",
		"approve operation/done -n finance", "approve operation/missing -n finance", "reject operation/migrate -n finance")
	if got := approved(); got.Approved != "" {
		t.Errorf("approved without a yes: %+v", got)
	}
	w.in = "yes\n"
	w.golden("approve-operation", "approve operation/migrate -n finance", "approve op/migrate -n finance --digest sha256:hooks", "approve op/migrate -n finance --yes")
	if got := approved(); got.Approved != "sha256:hooks" || got.ApprovedBy != "alice" {
		t.Errorf("approved as %+v", got)
	}
}

// TestApproveShowsAll: a plan is shown with all fields before it is approved.
func TestApproveShowsAll(t *testing.T) {
	w := planWorld(t)
	w.start()
	plan := &v1alpha1.ReleasePlan{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "finance", Name: "billing"}, plan); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		plan.Status.Changes[1].Fields = append(plan.Status.Changes[1].Fields, v1alpha1.PlanField{Path: fmt.Sprintf(".metadata.labels.l%d", i), To: "x"})
	}
	if err := w.client.Update(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if w.run("approve", "billing", "-n", "finance"); !strings.Contains(w.out.String(), ".metadata.labels.l29: ") {
		t.Errorf("the plan is shown as\n%s", w.out.String())
	}
}

// TestApproveIsWhatWasShown: a plan that another one has replaced since it was shown is not approved.
func TestApproveIsWhatWasShown(t *testing.T) {
	w := planWorld(t)
	w.start()
	reads := 0
	w.unread = func() error {
		if reads++; reads != 2 {
			return nil
		}
		plan := &v1alpha1.ReleasePlan{}
		w.unread = nil
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "finance", Name: "billing"}, plan); err != nil {
			return err
		}
		plan.Status.Digest = "sha256:other"
		return w.client.Update(t.Context(), plan)
	}
	code := w.run("approve", "billing", "-n", "finance", "--yes")
	if code != 1 || !strings.Contains(w.out.String(), "Digest: sha256:abcd") || !strings.Contains(w.err.String(), "is another one by now, with digest sha256:other") {
		t.Errorf("exit code %d\n%s%s", code, w.out.String(), w.err.String())
	}
	if got := w.plan("billing"); !reflect.DeepEqual(got, v1alpha1.ReleasePlanSpec{}) {
		t.Errorf("the plan is changed: %+v", got)
	}
}
