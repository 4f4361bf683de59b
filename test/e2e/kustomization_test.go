// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build reference

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// TestKustomization: a Git commit through kustomize-controller with `wait: true` becomes ready when the
// release is, and fails when it fails. While a plan waits for approval, the Kustomization is in
// progress, or ready with the health expression that is in the documents.
func TestKustomization(t *testing.T) {
	w := newWorld(t)
	w.startNeighbour("kustomize-controller")
	w.Publish(w.fickle("0.1.0"))
	w.artifact(sourcev1.OCIRepositoryRef{Tag: "0.1.0"})
	git := &kustomizations{world: w, source: w.clone()}
	git.commit(values{"podAnnotations": values{"simulate.pintle.dev/delay": "2s"}})
	w.Create(git.source)
	strict, lenient := git.kustomization("strict", nil), git.kustomization("lenient", git.documented())
	for _, k := range []*unstructured.Unstructured{strict, lenient} {
		git.inOrder(k)
	}

	git.commit(unready())
	for _, k := range []*unstructured.Unstructured{strict, lenient} {
		git.until(k, "Ready", no, "HealthCheckFailed", "HelmRelease/"+w.Namespace+"/"+k.GetName()+" status: 'Failed'")
	}

	w.Create(&v1alpha1.ReleasePolicy{ObjectMeta: w.Meta("all"), Spec: v1alpha1.ReleasePolicySpec{Approval: v1alpha1.ApprovalAlways}})
	git.commit(values{"replicas": 2})
	git.untilReady(lenient)
	for _, name := range []string{"strict", "lenient"} {
		hr := &helmv2.HelmRelease{ObjectMeta: w.Meta(name)}
		w.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonAwaitingApproval)
	}
	git.until(strict, "Healthy", metav1.ConditionUnknown, "Progressing", "Running health checks for revision "+git.revision)
	git.approve("strict")
	git.inOrder(strict)
	flux{w, neighbour(t, "flux")}.says("tree kustomization strict", "HelmRelease/"+w.Namespace+"/strict", "Deployment/"+w.Namespace+"/strict-fickle")
}

// kustomizations are Kustomizations of a repository in Git, each with a release.
type kustomizations struct {
	world

	source *sourcev1.GitRepository
	// revision is the newest commit.
	revision string
}

const gitRelease = `
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME}
spec:
  interval: 1h
  timeout: TIMEOUT
  chartRef: {kind: OCIRepository, name: fickle}
  values: `

// commit changes the values of all releases in Git. A release that never becomes ready fails soon.
func (k *kustomizations) commit(v values) {
	k.Helper()
	timeout := time.Hour
	if strings.Contains(fmt.Sprint(v), "never") {
		timeout = shortly
	}
	files := map[string]string{}
	for _, name := range []string{"strict", "lenient"} {
		text := strings.NewReplacer("NAME", name, "TIMEOUT", timeout.String()).Replace(gitRelease)
		files[name+"/release.yaml"] = text + string(k.Raw(v).Raw) + "\n"
	}
	revision, err := env.git.CommitFiles(k.Context(), k.Namespace, files)
	k.Must(err)
	k.revision = revision
	if k.source.UID != "" {
		k.requestReconciliation(k.source)
	}
}

// kustomization creates a Kustomization of the folder of its name.
func (k *kustomizations) kustomization(name string, healthCheckExprs []any) *unstructured.Unstructured {
	k.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
		"metadata": map[string]any{"namespace": k.Namespace, "name": name},
		"spec": map[string]any{
			"interval": "1h", "path": "./" + name, "prune": true, "wait": true, "targetNamespace": k.Namespace,
			"sourceRef": map[string]any{"kind": sourcev1.GitRepositoryKind, "name": k.source.Name},
		},
	}}
	if healthCheckExprs != nil {
		k.Must(unstructured.SetNestedSlice(o.Object, healthCheckExprs, "spec", "healthCheckExprs"))
	}
	k.Create(o)
	return o
}

// documented returns the health expression of docs/spec/policies.md.
func (k *kustomizations) documented() []any {
	k.Helper()
	page, err := os.ReadFile(filepath.FromSlash("../../docs/spec/policies.md"))
	k.Must(err)
	_, after, _ := strings.Cut(string(page), "With this entry, a Flux Kustomization")
	_, after, _ = strings.Cut(after, "```yaml\n")
	text, _, _ := strings.Cut(after, "```")
	var o struct {
		Spec struct{ HealthCheckExprs []any }
	}
	k.Must(yaml.Unmarshal([]byte(text), &o))
	if len(o.Spec.HealthCheckExprs) != 1 {
		k.Fatalf("docs/spec/policies.md has no health expression in\n%s", text)
	}
	return o.Spec.HealthCheckExprs
}

// until waits until a Kustomization has attempted the newest commit, and has a condition whose message
// has all parts. It returns that condition.
func (k *kustomizations) until(o *unstructured.Unstructured, condition string, status metav1.ConditionStatus, reason string, parts ...string) (c *metav1.Condition) {
	k.Helper()
	k.Must(env.Until(k.Context(), fmt.Sprintf("Kustomization %s to be %s=%s %s", o.GetName(), condition, status, reason), func() (string, bool) {
		if err := env.Client.Get(k.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error(), false
		}
		var got struct {
			Status struct {
				LastAttemptedRevision string             `json:"lastAttemptedRevision"`
				Conditions            []metav1.Condition `json:"conditions"`
			} `json:"status"`
		}
		k.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &got))
		c = apimeta.FindStatusCondition(got.Status.Conditions, condition)
		return fmt.Sprintf("%+v; the commit is %s", got.Status, k.revision), got.Status.LastAttemptedRevision == k.revision &&
			c != nil && c.Status == status && c.Reason == reason && fixture.ContainsAll(c.Message, parts...)
	}, o.DeepCopy()))
	return c
}

// untilReady waits until a Kustomization has applied the newest commit, and is ready.
func (k *kustomizations) untilReady(o *unstructured.Unstructured) *metav1.Condition {
	k.Helper()
	return k.until(o, "Ready", yes, "ReconciliationSucceeded", k.revision)
}

// inOrder waits until a Kustomization is ready, and checks that its release was so before.
func (k *kustomizations) inOrder(o *unstructured.Unstructured) {
	k.Helper()
	hr, theirs := &helmv2.HelmRelease{}, k.untilReady(o)
	k.Get(o.GetName(), hr)
	ours := harness.ReadyCondition(hr.Status.Conditions)
	if !harness.Ready(hr) || theirs.LastTransitionTime.Before(&ours.LastTransitionTime) {
		k.Errorf("the Kustomization is ready since %s; the release:\n%s\nsince %s", theirs.LastTransitionTime, harness.Summary(hr), ours.LastTransitionTime)
	}
}

// approve approves the plan of a release that awaits approval.
func (k *kustomizations) approve(name string) {
	k.Helper()
	plan := &v1alpha1.ReleasePlan{}
	k.Get(name, plan)
	before := plan.DeepCopy()
	plan.Spec = v1alpha1.ReleasePlanSpec{Approved: plan.Status.Digest, ApprovedBy: "admin"}
	k.Must(env.Client.Patch(k.Context(), plan, client.MergeFrom(before)))
}
