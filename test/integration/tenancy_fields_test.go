// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// sources: the controller reads sources without impersonation, and only in the release's namespace
// if it is configured so.
func (y *tenancy) sources(t *testing.T) {
	w := y.a
	y.b.publish("private", "1.0.0", configMapChart(t, "1.0.0"))
	before := y.inventory()
	edit := func(hr *helmv2.HelmRelease) { as(deployer)(hr); hr.Spec.ChartRef.Namespace = "tenant-b" }
	ref := w.release("private", nil, y.strict, edit)
	template := w.release("template", nil, y.strict, as(deployer), templated("tenant-b"))
	y.refused(ref, helmv2.ReasonAccessDenied, "cannot access OCIRepository tenant-b/private")
	y.refused(template, helmv2.ReasonAccessDenied, "cannot access HelmChart "+inputs.TemplateKey(template).String())
	y.othersGoOn()
	y.unharmed(before)

	open := func(hr *helmv2.HelmRelease) { hr.Labels = nil }
	w.edit(ref, open)
	w.untilReady(ref)
	w.edit(template, open)
	w.until(template, "its HelmChart", func(hr *helmv2.HelmRelease) bool { return hr.Status.HelmChart != "" })
	if _, found := w.helmChart(inputs.TemplateKey(template)); !found {
		t.Error("no HelmChart was made in tenant-b, where it may be")
	}
	for _, hr := range []*helmv2.HelmRelease{ref, template} {
		w.must(suite.client.Delete(t.Context(), hr))
		w.untilGone(hr)
	}
}

// references: names are names, and lead nowhere else.
func (y *tenancy) references(t *testing.T) {
	w := y.a
	before := y.inventory()
	w.publish("references", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("references", nil, as(deployer), from(helmv2.ValuesReference{Kind: helmv2.KindSecret, Name: "treasure"}))
	y.refused(hr, helmv2.ReasonValuesError, "could not resolve Secret chart values reference 'tenant-a/treasure'", "the object does not exist")
	y.othersGoOn()
	for _, edit := range []func(*helmv2.HelmRelease){
		from(helmv2.ValuesReference{Kind: helmv2.KindSecret, Name: "../../tenant-b/secrets/treasure"}),
		func(hr *helmv2.HelmRelease) { hr.Spec.ValuesFrom = nil; in("../../tenant-b/secrets/treasure")(hr) },
		func(hr *helmv2.HelmRelease) { hr.Spec.KubeConfig, hr.Spec.StorageNamespace = nil, "x/../tenant-b" },
		func(hr *helmv2.HelmRelease) {
			hr.Spec.StorageNamespace, hr.Spec.ReleaseName, hr.Spec.TargetNamespace = "", "references", "../namespaces/tenant-b"
		},
	} {
		w.edit(hr, edit)
		w.until(hr, "that it is no name", func(hr *helmv2.HelmRelease) bool {
			ready := condition(hr, helmv2.ConditionReady)
			return ready.ObservedGeneration == hr.Generation && ready.Status == metav1.ConditionFalse &&
				(strings.Contains(ready.Message, "may not contain") || strings.Contains(ready.Message, "invalid"))
		})
		t.Log(condition(hr, helmv2.ConditionReady).Message)
	}
	y.unharmed(before)

	w.secret("treasure", map[string][]byte{"values.yaml": []byte("message: glass beads")}, nil)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.TargetNamespace, hr.Spec.ReleaseName = "", "" })
	w.edit(hr, from(helmv2.ValuesReference{Kind: helmv2.KindSecret, Name: "treasure"}))
	w.untilReady(hr)
	w.wantData("references", "glass beads", "none")
}

// dependencies may be in any namespace. Only their readiness is used.
func (y *tenancy) dependencies(t *testing.T) {
	w := y.a
	// The chart has no source, so the dependency never becomes ready.
	dep := y.b.release("dependency", values("password", "rubies"), as(deployer))
	y.b.untilSays(dep, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed)
	before := y.inventory()
	w.publish("dependent", "1.0.0", configMapChart(t, "1.0.0"))
	ref := helmv2.DependencyReference{Namespace: "tenant-b", Name: "dependency"}
	guess := ref
	guess.ReadyExpr = "dep.spec.values.password == 'rubies'"
	hr := w.release("dependent", nil, y.strict, as(deployer), needs(guess))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonDependencyNotReady, "'tenant-b/dependency' is not ready according to readyExpr", "may use only")
	w.edit(hr, needs(ref))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonDependencyNotReady, "'tenant-b/dependency' is not ready: its latest generation has not been reconciled")
	if message := condition(hr, helmv2.ConditionReady).Message; strings.Contains(message, "Source") {
		t.Errorf("the expression read the status of a neighbour: %s", message)
	}
	y.othersGoOn()
	y.unharmed(before)
	if len(w.stored("dependent")) > 0 {
		t.Error("it was installed")
	}
	ref.ReadyExpr = "dep.status.conditions.exists(c, c.reason == 'ArtifactFailed')"
	w.edit(hr, needs(ref))
	w.untilReady(hr)
}

// accounts: only the named ServiceAccount is used, with any name, and whether it exists or not.
func (y *tenancy) accounts(t *testing.T) {
	w := y.a
	before := y.inventory()
	for name, account := range map[string]string{
		"missing": "unknown", "other": "tenant-b:" + deployer, "path": "../../tenant-b/serviceaccounts/" + deployer, "none": "default",
	} {
		w.publish(name, "1.0.0", configMapChart(t, "1.0.0"))
		hr := w.release(name, nil, as(account), func(hr *helmv2.HelmRelease) { hr.Spec.StorageNamespace = "tenant-b" })
		y.refused(hr, helmv2.ReasonStateError, "acts as tenant-a/"+account+" (spec.serviceAccountName)", "may not read Secrets in tenant-b")
	}
	y.unharmed(before)

	// Without a name the default ServiceAccount is used.
	w.publish("default", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("default", nil, y.strict, func(hr *helmv2.HelmRelease) { hr.Spec.StorageNamespace = "tenant-b" })
	y.refused(hr, helmv2.ReasonStateError, "(--default-service-account)", "may not read Secrets in tenant-b")
	y.othersGoOn()
	y.unharmed(before)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.StorageNamespace = "" })
	w.untilReady(hr)
}

// drifts: drift that one identity has found is not corrected with another one.
func (y *tenancy) drifts(t *testing.T) {
	w := y.a
	w.must(suite.client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "viewer"}}))
	w.grant("viewer", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "tenant-a", Name: "viewer"}, rule("", []string{"configmaps", "secrets"}, []string{"get", "list"}))
	w.publish("drifts", "1.0.0", configMapChart(t, "1.0.0"))
	for name, fresh := range map[string]bool{"kept": false, "fresh": true} {
		hr := w.release(name, nil, as(deployer), detecting(helmv2.DriftDetectionWarn), func(hr *helmv2.HelmRelease) {
			hr.Spec.ChartRef.Name, hr.Spec.PersistentClient = "drifts", new(!fresh)
		})
		w.untilReady(hr)
		changeAs(w, "editor", w.configMap(name), func(o *corev1.ConfigMap) { o.Data["message"] = "changed" })
		w.untilSays(hr, helmv2.ConditionDrifted, metav1.ConditionTrue, helmv2.ReasonDriftDetected)
		w.edit(hr, func(hr *helmv2.HelmRelease) {
			hr.Spec.ServiceAccountName, hr.Spec.DriftDetection.Mode = "viewer", helmv2.DriftDetectionEnabled
		})
		w.until(hr, "that the viewer may not", func(hr *helmv2.HelmRelease) bool {
			return containsAll(condition(hr, helmv2.ConditionDrifted).Message, `User "system:serviceaccount:tenant-a:viewer" cannot patch resource "configmaps"`, `"`+name+`"`)
		})
		t.Log(condition(hr, helmv2.ConditionDrifted).Message)
		if got := w.configMap(name).Data["message"]; got != "changed" {
			t.Errorf("another identity corrected it: the message is %q", got)
		}
		w.edit(hr, as(deployer))
		untilTrue(w, "a correction", func() bool { return w.configMap(name).Data["message"] == "default" }, w.allConfigMaps())
	}
}

// uninstalls: if the identity lost its permissions, both the release and the HelmRelease stay.
func (y *tenancy) uninstalls(t *testing.T) {
	w := y.a
	withdraw := y.permit("tenant-b", configMaps("*")...)
	w.publish("uninstalls", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("uninstalls", nil, as(deployer), func(hr *helmv2.HelmRelease) { hr.Spec.ReleaseName, hr.Spec.TargetNamespace = hr.Name, "tenant-b" })
	w.untilReady(hr)
	withdraw()
	w.untilDenied(deployer, "configmaps", "tenant-b")
	before := y.inventory()
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "again"}) })
	y.said(hr, helmv2.ReasonUpgradeFailed, `User "`+tenantUser+`" cannot patch resource "configmaps"`, `in the namespace "tenant-b"`, "uninstalls")
	w.must(suite.client.Delete(t.Context(), hr))
	y.said(hr, helmv2.ReasonUninstallFailed, `User "`+tenantUser+`" cannot get resource "configmaps"`, `in the namespace "tenant-b"`, "ConfigMap/tenant-b/uninstalls is not deleted")
	y.othersGoOn()
	y.unharmed(before)
	withdraw = y.permit("tenant-b", configMaps("*")...)
	w.untilGone(hr)
	withdraw()
	if err := suite.client.Get(t.Context(), client.ObjectKeyFromObject(inTenantB("uninstalls")), &corev1.ConfigMap{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("it was not uninstalled: %v", err)
	}
}

// orphans: a deleted ServiceAccount is not replaced by another identity.
func (y *tenancy) orphans(t *testing.T) {
	w := y.a
	account := w.account("mortal", "configmaps", "secrets")
	w.publish("orphan", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("orphan", nil, as("mortal"))
	w.untilReady(hr)
	w.must(suite.client.Delete(t.Context(), account))
	w.must(suite.client.Delete(t.Context(), hr))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonUninstallFailed, "ServiceAccount 'tenant-a/mortal'", "not found")
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Annotations = map[string]string{helmv2.AnnotationOrphan: "true"} })
	w.untilGone(hr)
	w.configMap("orphan")
	if len(w.stored("orphan")) != 1 {
		t.Error("its record is gone")
	}
	untilTrue(w, "an event that says why it stays", func() bool {
		return w.hasEvent(hr, corev1.EventTypeWarning, "ReleaseOrphaned", helmv2.AnnotationOrphan)
	}, w.allEvents())
}
