// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestOperationOfNextVersion: the hook comes from the plan that answers the Operation's own request, and
// only from a Secret that agrees with the digest in the status of the plan.
func TestOperationOfNextVersion(t *testing.T) {
	t.Parallel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t)
	op := b.operation()
	op.Spec.Parameters.From = opsv1alpha1.FromNext
	must(b.c.Update(t.Context(), op))
	blocked := func() string {
		if c := apimeta.FindStatusCondition(b.operation().Status.Conditions, opsv1alpha1.ConditionBlocked); c != nil {
			return c.Reason
		}
		return ""
	}
	hr := &helmv2.HelmRelease{}
	read := func() *helmv2.HelmRelease {
		must(b.c.Get(t.Context(), client.ObjectKey{Namespace: "apps", Name: "web"}, hr))
		return hr
	}
	plan := &v1alpha1.ReleasePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: "web", UID: "hr-1", Controller: new(true)},
	}}}
	plan.Status = v1alpha1.ReleasePlanStatus{LastHandledPlanAt: "earlier", Digest: "sha256:old", Action: v1alpha1.PlanUpgrade}
	must(b.c.Create(t.Context(), plan))
	b.planned = "sha256:old"
	b.reconcile()
	token := read().Annotations[v1alpha1.AnnotationPlan]
	if next := b.operation().Status.Next; next == nil || next.Request != token || token == "" || next.Plan != "" {
		t.Fatalf("the annotation is %q, next %+v", token, next)
	}
	b.reconcile()
	if blocked() != opsv1alpha1.ReasonAwaitingPlan {
		t.Errorf("without an answer, Blocked has reason %q", blocked())
	}
	read().Annotations[helmv2.AnnotationHandled] = handledPlan(hr.Annotations, token)
	must(b.c.Update(t.Context(), hr))
	plan.Status.LastHandledPlanAt, plan.Status.Digest, plan.Status.Inputs = token, "sha256:new", "sha256:inputs"
	must(b.c.Update(t.Context(), plan))
	b.reconcile()
	if next := b.operation().Status.Next; blocked() != opsv1alpha1.ReasonAwaitingPlan || next.Plan != "" {
		t.Errorf("with another text in the Secret, Blocked has reason %q, next is %+v", blocked(), next)
	}
	b.planned = "sha256:new"
	b.untilJob()
	if next := b.operation().Status.Next; next.Plan != "sha256:new" || next.Inputs != "sha256:inputs" || next.UID != "hr-1" || next.SkipApprovedBy != "" {
		t.Errorf("next is %+v", next)
	}
}

// TestSkipIsGuarded: no Operation lets an upgrade leave out a hook unless the admission policy was there
// before it.
func TestSkipIsGuarded(t *testing.T) {
	t.Parallel()
	guarded := func(at int, kind, action string) client.Object {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("admissionregistration.k8s.io/v1")
		o.SetKind(kind)
		o.SetName(controller.SkipGuard().Name)
		o.SetCreationTimestamp(metav1.NewTime(benchNow().Add(time.Duration(at) * time.Second)))
		o.Object["spec"] = map[string]any{
			"matchConstraints": map[string]any{}, "validations": []any{map[string]any{"expression": "true"}},
		}
		if kind != "ValidatingAdmissionPolicy" {
			o.Object["spec"] = map[string]any{"policyName": controller.SkipGuard().Name, "validationActions": []any{action}}
		}
		return o
	}
	guard := func(at int, kind string) client.Object { return guarded(at, kind, "Deny") }
	const policy, binding = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
	for name, c := range map[string]struct {
		objects []client.Object
		reason  string
	}{
		"Guarded":       {objects: []client.Object{guard(-1, policy), guard(-1, binding)}},
		"No policy":     {reason: opsv1alpha1.ReasonSkipNotGuarded},
		"No binding":    {objects: []client.Object{guard(-1, policy)}, reason: opsv1alpha1.ReasonSkipNotGuarded},
		"Only audited":  {objects: []client.Object{guard(-1, policy), guarded(-1, binding, "Audit")}, reason: opsv1alpha1.ReasonSkipNotGuarded},
		"Newer policy":  {objects: []client.Object{guard(0, policy), guard(-1, binding)}, reason: opsv1alpha1.ReasonSkipNotGuarded},
		"Newer binding": {objects: []client.Object{guard(-1, policy), guard(0, binding)}, reason: opsv1alpha1.ReasonSkipNotGuarded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.objects...)
			op := b.operation()
			p := op.Spec.Parameters
			p.From, p.SkipInUpgrade, p.SkipApprovedBy = opsv1alpha1.FromNext, true, "alice"
			if err := b.c.Update(t.Context(), op); err != nil {
				t.Fatal(err)
			}
			b.reconcile()
			var got string
			if failed := apimeta.FindStatusCondition(b.operation().Status.Conditions, opsv1alpha1.ConditionFailed); failed != nil {
				got = failed.Reason
			}
			if got != c.reason {
				t.Errorf("Failed has reason %q, want %q", got, c.reason)
			}
		})
	}
}

// handledPlan returns the annotations of requests with an answered request for a plan.
func handledPlan(annotations map[string]string, token string) string {
	return release.WithHandled(annotations, v1alpha1.AnnotationPlan, token)
}
