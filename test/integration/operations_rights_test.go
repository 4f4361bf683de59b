// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/test/harness"
)

// grant grants permissions in the test's namespace.
func (w *world) grant(name string, subject rbacv1.Subject, rules ...rbacv1.PolicyRule) {
	w.t.Helper()
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: name}
	w.must(suite.client.Create(w.t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}))
	w.must(suite.client.Create(w.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}, Subjects: []rbacv1.Subject{subject},
	}))
}

func rule(group string, resources, verbs []string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// strong is a hook whose role has a permission that the release's identity does not have.
const strong = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: strong, annotations: {helm.sh/hook: pre-rollback}}
rules: [{apiGroups: [""], resources: [pods], verbs: ["delete"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: strong, annotations: {helm.sh/hook: pre-rollback}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: strong}
subjects: [{kind: ServiceAccount, name: strong}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: strong, annotations: {helm.sh/hook: pre-rollback}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: strong, annotations: {helm.sh/hook: pre-rollback}}
spec: {template: {spec: {restartPolicy: Never, serviceAccountName: strong, containers: [{name: a, image: example.com/a:1}]}}}
`

// TestOperationRights: a user that may create Operations gains no permissions beyond those of the
// release's identity.
func TestOperationRights(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	w.account("tenant", "configmaps", "secrets")
	w.publish("web", "1.0.0", hooked(t, "1.0.0", "pre-rollback", strong))
	hr := w.release("web", nil, as("tenant"))
	w.untilReady(hr)
	// A user that may write Operations only.
	config := rest.CopyConfig(suite.config)
	config.Impersonate.UserName = "operator-" + w.namespace
	w.grant("operator", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: config.Impersonate.UserName},
		rule(opsv1alpha1.Group, []string{"operations"}, []string{"create", "get"}))
	person, err := client.New(config, client.Options{Scheme: controller.Scheme()})
	w.must(err)
	draft := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "x"}}
	if err := person.Create(t.Context(), draft); !apierrors.IsForbidden(err) {
		t.Fatalf("they may do more than they should: %v", err)
	}
	w.untilAllowed(config.Impersonate.UserName, rule(opsv1alpha1.Group, []string{"operations"}, []string{"create"}))
	operate := func(name, hook string) *opsv1alpha1.Operation {
		op := &opsv1alpha1.Operation{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
			Spec: opsv1alpha1.OperationSpec{
				TargetRef: opsv1alpha1.TargetReference{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: hr.Name},
				Type:      opsv1alpha1.TypeMigration, Engine: opsv1alpha1.EngineHelmHookJob, Parameters: &opsv1alpha1.Parameters{HookName: hook},
			},
		}
		w.must(person.Create(t.Context(), op))
		t.Cleanup(func() { _ = suite.client.Delete(context.WithoutCancel(t.Context()), op) })
		return op
	}
	op, other := operate("first", "web-migrate"), operate("strong", "strong")

	user := "system:serviceaccount:" + w.namespace + ":tenant"
	w.untilBlocked(op, opsv1alpha1.ReasonAccessDenied, user, "jobs")
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "tenant"}
	w.grant("look", account, rule("batch", []string{"jobs"}, []string{"get"}))
	w.untilBlocked(op, opsv1alpha1.ReasonJobRefused, user, "cannot create resource \"jobs\"")
	if jobs := w.jobs(op); len(jobs) > 0 {
		t.Fatalf("a Job was created: %+v", jobs[0].ObjectMeta)
	}
	w.grant("work", account, rule("batch", []string{"jobs"}, []string{"create", "patch", "delete"}))
	w.succeed(op)
	w.tidy(op)
	if op.Status.Phase != opsv1alpha1.PhaseSucceeded {
		t.Errorf("status is %+v", op.Status)
	}

	// The API server rejects a role with permissions that its creator does not have.
	w.grant("roles", account, rule("", []string{"serviceaccounts"}, []string{"get", "create", "delete"}),
		rule(rbacv1.GroupName, []string{"roles", "rolebindings"}, []string{"get", "create", "delete"}))
	w.untilBlocked(other, opsv1alpha1.ReasonJobRefused, "Role strong", user, "not currently held")
	err = suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "strong"}, &corev1.ServiceAccount{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("something was brought along: %v", err)
	}
}

// TestOperationsComeLater: without their definition, releases are installed, and
// with it Operations are served.
func TestOperationsComeLater(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	// Not parallel: it replaces the API server of the suite.
	operationsServed(t)
	crds := harness.CRDs("")
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{
			filepath.Join(crds, "helm.toolkit.fluxcd.io_helmreleases.yaml"), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "source-crds"),
		},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience,
		CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: patience},
	}
	elsewhere, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	before := suite
	end, err := useServer(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		suite = before
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	stop, err := startController(config{settings: inputs.Settings{ExternalArtifacts: true}, withoutOperations: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	w := newWorld(t)
	w.publish("web", "1.0.0", hooked(t, "1.0.0", "pre-rollback"))
	hr := w.release("web", nil)
	w.untilReady(hr)
	// A lock with an invalid holder has no effect.
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{opsv1alpha1.AnnotationHolder: "unknown"}
		hr.Spec.Values = rawValues(t, map[string]any{"message": "again"})
	})
	w.untilReady(hr)
	if newest(hr) != 2 {
		t.Errorf("revision %d", newest(hr))
	}
	_, err = envtest.InstallCRDs(elsewhere, envtest.CRDInstallOptions{MaxTime: patience, Paths: []string{filepath.Join(crds, "ops.vworkspace.io_operations.yaml")}})
	w.must(err)
	op := w.operate(hr, "late")
	w.succeed(op)
	w.untilPhase(op, opsv1alpha1.PhaseSucceeded)
	w.tidy(op)
}
