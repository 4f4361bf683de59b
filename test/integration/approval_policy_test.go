// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	viewrequest "github.com/pintle-dev/pintle/internal/view/request"
)

// admissionPolicies returns the admission policies that are shipped, each with its binding: for approvals,
// for overrides, and for hooks that upgrades leave out.
func (w *world) admissionPolicies() (approvals, overrides, replacements, skips []client.Object) {
	w.t.Helper()
	raw, err := os.ReadFile("../../config/policy/approval.yaml")
	w.must(err)
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	pair := func() []client.Object {
		objects := []client.Object{&admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}}
		for _, object := range objects {
			w.must(documents.Decode(object))
		}
		return objects
	}
	approvals, overrides, replacements, skips = pair(), pair(), pair(), pair()
	if err := documents.Decode(&metav1.PartialObjectMetadata{}); !errors.Is(err, io.EOF) {
		w.t.Fatalf("the file has more documents: %v", err)
	}
	return approvals, overrides, replacements, skips
}

// installAdmission installs an admission policy, and waits until the API server refuses a plan.
func (w *world) installAdmission(objects []client.Object, refused v1alpha1.ReleasePlanSpec, text string) {
	w.t.Helper()
	for _, object := range objects {
		w.must(client.IgnoreAlreadyExists(suite.client.Create(w.t.Context(), object)))
	}
	untilTrue(w, "the API server to apply the policy", func() bool {
		probe := &v1alpha1.ReleasePlan{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}, Spec: refused}
		err := suite.client.Create(w.t.Context(), probe, client.DryRunAll)
		if err != nil {
			w.refuses(err, text)
		}
		return err != nil
	})
}

// installApprovalPolicy installs the admission policies for approvals and for hooks that upgrades leave out.
func (w *world) installApprovalPolicy() {
	w.t.Helper()
	approvals, _, _, skips := w.admissionPolicies()
	w.installAdmission(slices.Concat(skips, approvals), v1alpha1.ReleasePlanSpec{Approved: "sha256:0", ApprovedBy: "another"}, "spec.approvedBy must be")
}

// refuses checks that the API server has refused a request with a text.
func (w *world) refuses(err error, text string) {
	w.t.Helper()
	if err == nil || !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), text) {
		w.t.Errorf("the answer is %v, want a refusal with %q", err, text)
	}
}

// person returns the client of a user with some rights in the namespace.
func (w *world) person(name string, rules ...rbacv1.PolicyRule) client.Client {
	w.t.Helper()
	config := rest.CopyConfig(suite.config)
	config.Impersonate.UserName = name + "-" + w.namespace
	w.grant(name, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: config.Impersonate.UserName}, rules...)
	w.untilAllowed(config.Impersonate.UserName, rules[0]) // all are in one Role
	person, err := client.New(config, client.Options{Scheme: controller.Scheme()})
	w.must(err)
	return person
}

// TestApprovalPolicy: where the admission policy is installed, users approve plans only with the verb
// approve, and only in their own name.
func TestApprovalPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installApprovalPolicy()
	write := rule(v1alpha1.Group, []string{"releaseplans"}, []string{"get", "create", "update", "patch"})
	edit := rule(helmv2.GroupVersion.Group, []string{"helmreleases"}, []string{"get", "create", "update", "patch"})
	approve := rule(v1alpha1.Group, []string{"releaseplans"}, []string{v1alpha1.VerbApprove})
	approve.ResourceNames = []string{"web"}
	developer, lead := w.person("developer", write, edit), w.person("lead", write, edit, approve)
	plan := func(name string) *v1alpha1.ReleasePlan {
		return &v1alpha1.ReleasePlan{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	}
	w.must(developer.Create(t.Context(), plan("web")))
	w.must(developer.Create(t.Context(), plan("other")))
	change := func(as client.Client, name string, spec v1alpha1.ReleasePlanSpec) error {
		p := plan(name)
		w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(p), p))
		p.Spec = spec
		return as.Update(t.Context(), p)
	}
	by := func(name string) v1alpha1.ReleasePlanSpec {
		return v1alpha1.ReleasePlanSpec{Approved: "sha256:1", ApprovedBy: name + "-" + w.namespace}
	}

	const noVerb = "the verb approve on releaseplans is required"
	created := plan("new")
	created.Spec = by("developer")
	w.refuses(developer.Create(t.Context(), created), noVerb)
	w.refuses(change(developer, "web", by("developer")), noVerb)
	w.refuses(change(lead, "other", by("lead")), noVerb)
	w.refuses(change(lead, "web", by("developer")), "spec.approvedBy must be lead-")
	w.refuses(change(lead, "web", v1alpha1.ReleasePlanSpec{Approved: "sha256:1"}), "spec.approvedBy must be lead-")
	w.must(change(lead, "web", by("lead")))
	w.refuses(change(developer, "web", v1alpha1.ReleasePlanSpec{}), noVerb)
	w.refuses(change(developer, "web", by("developer")), noVerb)

	rejected := by("lead")
	rejected.Rejected, rejected.RejectedBy = "sha256:1", "lead-"+w.namespace
	w.refuses(change(developer, "web", rejected), "spec.rejectedBy must be developer-")
	rejected.RejectedBy = "developer-" + w.namespace
	w.must(change(developer, "web", rejected))
	w.refuses(change(developer, "web", by("lead")), noVerb)
	renewed := rejected
	renewed.Rejected = ""
	w.must(change(lead, "web", renewed))
	renewed.Rejected = "sha256:2"
	w.refuses(change(lead, "web", renewed), "spec.rejectedBy must be lead-")
	w.must(change(lead, "web", by("lead")))
	w.must(change(lead, "web", v1alpha1.ReleasePlanSpec{}))

	operations := rule(opsv1alpha1.Group, []string{"operations"}, []string{"get", "create", "update", "patch"})
	approveOperations := rule(opsv1alpha1.Group, []string{"operations"}, []string{v1alpha1.VerbApprove})
	author, approver := w.person("author", operations), w.person("approver", operations, approveOperations)
	operation := func(approvedBy string) *opsv1alpha1.Operation {
		op := viewrequest.Hook(w.namespace, "absent", "pre-upgrade", time.Now())
		op.Name = "op"
		if approvedBy != "" {
			op.Spec.Approved, op.Spec.ApprovedBy = "sha256:1", approvedBy+"-"+w.namespace
		}
		return op
	}
	const noVerbOnOperations = "the verb approve on operations is required"
	w.refuses(author.Create(t.Context(), operation("author")), noVerbOnOperations)
	w.must(author.Create(t.Context(), operation("")))
	t.Cleanup(func() {
		w.must(client.IgnoreNotFound(suite.client.Delete(context.WithoutCancel(t.Context()), operation(""))))
	})
	decide := func(as client.Client, approvedBy string) error {
		op := operation("")
		before := op.DeepCopy()
		op.Spec = operation(approvedBy).Spec
		return as.Patch(t.Context(), op, client.MergeFrom(before))
	}
	w.refuses(decide(author, "author"), noVerbOnOperations)
	w.refuses(decide(author, "approver"), noVerbOnOperations)
	w.refuses(decide(approver, "author"), "spec.approvedBy must be approver-")
	w.must(decide(approver, "approver"))

	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}
	hr.Spec = helmv2.HelmReleaseSpec{ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "absent"}, Interval: metav1.Duration{Duration: time.Hour}, Suspend: true}
	w.must(developer.Create(t.Context(), hr))
	t.Cleanup(func() { w.remove(hr) })
	annotate := func(as client.Client, digest string) error {
		before := hr.DeepCopy()
		hr.Annotations = map[string]string{v1alpha1.AnnotationApprove: digest}
		return as.Patch(t.Context(), hr.DeepCopy(), client.MergeFrom(before))
	}
	w.refuses(annotate(developer, "sha256:1"), noVerb)
	hr.Annotations = nil
	w.must(annotate(lead, "sha256:1"))
	hr.Annotations = map[string]string{v1alpha1.AnnotationApprove: "sha256:1"}
	w.refuses(annotate(developer, "sha256:2"), noVerb)
	hr.Annotations = nil
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Interval.Duration = 2 * time.Hour })
}
