// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// ofNext makes an Operation run a hook of the next version.
func ofNext(op *opsv1alpha1.Operation) { op.Spec.Parameters.From = opsv1alpha1.FromNext }

// skippedBy makes an Operation let the upgrade leave out its hook.
func skippedBy(user string) func(*opsv1alpha1.Operation) {
	return func(op *opsv1alpha1.Operation) {
		ofNext(op)
		op.Spec.Parameters.SkipInUpgrade, op.Spec.Parameters.SkipApprovedBy = true, user
	}
}

// installSkipPolicy installs the admission policy, and waits until Operations are newer.
func (w *world) installSkipPolicy() {
	w.t.Helper()
	w.installApprovalPolicy()
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "hook-skip.pintle.dev"}}
	w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(binding), binding))
	untilTrue(w, "the second after the creation of the policy", func() bool {
		return time.Now().Truncate(time.Second).After(binding.CreationTimestamp.Time)
	})
}

// TestOperationOfNextVersion: a migration of version 2 runs while version 1 serves, and the upgrade leaves
// it out, once. The same hook runs as usual in the upgrade after it.
func TestOperationOfNextVersion(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	w.installSkipPolicy()
	w.publish("web", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("web", nil)
	w.untilReady(hr)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	w.publish("web", "2.0.0", hooked(t, "2.0.0", "pre-upgrade"))

	op := w.operate(hr, "next", skippedBy(w.approver()))
	job := w.theJob(op)
	plan := w.untilPlanned(hr, "any", func(p *v1alpha1.ReleasePlan) bool { return p.Status.Digest != "" })
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(op), op))
	if n := op.Status.Next; n == nil || n.Plan != plan.Status.Digest || n.Inputs != plan.Status.Inputs || n.Revision != 1 || n.SkipApprovedBy != w.approver() {
		t.Errorf("next is %+v, of plan %s", n, plan.Status.Digest)
	}
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(hr), hr))
	if newest(hr) != 1 {
		t.Errorf("revision %d was made", newest(hr))
	}
	// The release is no longer suspended while the Job runs, and the upgrade waits.
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
	w.untilSays(hr, helmv2.ConditionLocked, metav1.ConditionTrue, helmv2.ReasonOperationRunning, "Operation next")
	w.endPod(job, w.runPod(job), 0)
	w.tidy(op)
	// If Helm ran the hook, the upgrade would wait for its Job.
	w.untilReady(hr)
	if newest(hr) != 2 || op.Status.Phase != opsv1alpha1.PhaseSucceeded {
		t.Errorf("revision %d, Operation %+v", newest(hr), op.Status)
	}
	records := w.stored("web")
	if text := records[len(records)-1].Annotations[helmv2.AnnotationAttempt]; !strings.Contains(text, `"operation":"next"`) {
		t.Errorf("the record has %s", text)
	}

	w.publish("web", "3.0.0", hooked(t, "3.0.0", "pre-upgrade"))
	w.endJob(w.helmsJob("web-migrate"), true)
	w.until(hr, "revision 3", func(hr *helmv2.HelmRelease) bool { return newest(hr) == 3 })
}

// TestOperationOfNextVersionChanges: another plan, and a Secret that another client has written, run
// nothing.
func TestOperationOfNextVersionChanges(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	w.publish("web", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("web", nil)
	w.untilReady(hr)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	w.publish("web", "2.0.0", hooked(t, "2.0.0", "pre-upgrade"))
	jobs := w.countJobs()
	// It waits with its plan recorded.
	w.policy("ops", v1alpha1.ReleasePolicySpec{Operations: &v1alpha1.OperationPolicy{Approval: v1alpha1.OperationApprovalAlways}})
	op := w.operate(hr, "changed", ofNext)
	w.untilBlocked(op, opsv1alpha1.ReasonAwaitingApproval)
	w.publish("web", "2.1.0", hooked(t, "2.1.0", "pre-upgrade", "# another\n"))
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Annotations = map[string]string{v1alpha1.AnnotationPlan: "another"} })
	w.untilOperation(op, "PlanChanged", func(op *opsv1alpha1.Operation) bool {
		return op.Status.Phase == opsv1alpha1.PhaseFailed && operationReason(op, opsv1alpha1.ConditionFailed) == opsv1alpha1.ReasonPlanChanged
	})
	missing := w.operate(hr, "missing", func(op *opsv1alpha1.Operation) { ofNext(op); op.Spec.Parameters.HookName = "absent" })
	w.untilOperation(missing, "HookNotFound", func(op *opsv1alpha1.Operation) bool {
		return operationReason(op, opsv1alpha1.ConditionFailed) == opsv1alpha1.ReasonHookNotFound && len(op.Status.Hooks) == 1
	})
	if made, ran := jobs.counts(); made != 0 || ran != 0 {
		t.Errorf("%d Jobs were made, and %d ran", made, ran)
	}
}

// operationReason returns the reason of a condition of an Operation that is True.
func operationReason(op *opsv1alpha1.Operation, kind string) string {
	for _, c := range op.Status.Conditions {
		if c.Type == kind && c.Status == metav1.ConditionTrue {
			return c.Reason
		}
	}
	return ""
}

// TestSkipPolicy: only users with the verb approve on the plan let an upgrade leave out a hook, in their
// own name, and another hook needs another decision.
func TestSkipPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installSkipPolicy()
	operations := rule(opsv1alpha1.Group, []string{"operations"}, []string{"get", "create", "update", "patch"})
	approve := rule(v1alpha1.Group, []string{"releaseplans"}, []string{v1alpha1.VerbApprove})
	approve.ResourceNames = []string{"absent"}
	author, lead := w.person("author", operations), w.person("lead", operations, approve)
	made := func(name, by string) *opsv1alpha1.Operation {
		op := &opsv1alpha1.Operation{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
			Spec: opsv1alpha1.OperationSpec{
				TargetRef: opsv1alpha1.TargetReference{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: "absent"},
				Engine:    opsv1alpha1.EngineHelmHookJob, Parameters: &opsv1alpha1.Parameters{HookName: "migrate"},
			},
		}
		if by != "" {
			skippedBy(by + "-" + w.namespace)(op)
		}
		return op
	}
	const noVerb = "the verb approve on releaseplans is required"
	w.refuses(author.Create(t.Context(), made("a", "author")), noVerb)
	w.refuses(author.Create(t.Context(), made("a", "lead")), noVerb)
	w.refuses(lead.Create(t.Context(), made("a", "author")), "spec.parameters.skipApprovedBy must be lead-")
	other := made("a", "lead")
	other.Spec.TargetRef.Name = "other"
	w.refuses(lead.Create(t.Context(), other), noVerb)
	w.must(author.Create(t.Context(), made("later", "")))
	w.must(lead.Create(t.Context(), made("b", "lead")))
	change := func(as client.Client, name string, edit func(*opsv1alpha1.Operation)) error {
		// The controller writes them meanwhile.
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			op := made(name, "")
			w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(op), op))
			edit(op)
			return as.Update(t.Context(), op)
		})
	}
	w.refuses(change(author, "later", skippedBy("lead-"+w.namespace)), noVerb)
	w.refuses(change(author, "b", func(op *opsv1alpha1.Operation) { op.Spec.Parameters.HookName = "another" }), noVerb)
	w.must(change(author, "b", func(op *opsv1alpha1.Operation) { op.Spec.Cancel = true }))
	for _, edit := range []func(*opsv1alpha1.Operation){
		func(op *opsv1alpha1.Operation) { op.Spec.Parameters.SkipApprovedBy = "" },
		func(op *opsv1alpha1.Operation) { op.Spec.Parameters.From = "" },
		func(op *opsv1alpha1.Operation) { op.Spec.TargetRef.Kind = "Application" },
		func(op *opsv1alpha1.Operation) { op.Spec.Parameters.Revision = 1 },
		func(op *opsv1alpha1.Operation) {
			op.Spec.Parameters.HookName, op.Spec.Parameters.Event = "", "pre-upgrade"
		},
	} {
		op := made("invalid", "lead")
		edit(op)
		w.refuses(suite.client.Create(t.Context(), op), "from: Next")
	}
}
