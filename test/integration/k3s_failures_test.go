// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// brokenHook is a hook that fails after the objects are applied, unless the value works is true.
	brokenHook = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-x, annotations: {helm.sh/hook: 'post-install,post-upgrade'}}\n" +
		"binaryData: {{ if .Values.works }}{}{{ else }}{a: '%%%'}{{ end }}\n"
	plainObject = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n"
	claimObject = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: {{ .Release.Name }}}\n" +
		"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	setObject = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: {{ .Release.Name }}}\n" +
		"spec: {serviceName: a, replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}\n"
)

// templates adds templates of claims to a StatefulSet in the form of setObject.
func templates(set string) string {
	return set[:len(set)-len("}\n")] + ", volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}\n"
}

// failing creates a HelmChart whose chart has an object and a hook that fails unless works is set.
func (w *world) failing(name, spec, object string) (*cattlev1.HelmChart, *helmv2.HelmRelease) {
	w.t.Helper()
	w.account("helm-"+name, "configmaps", "secrets", "persistentvolumeclaims")
	w.must(suite.client.Create(w.t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name + "-apps"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"statefulsets"}, Verbs: []string{"*"}}},
	}))
	w.must(suite.client.Create(w.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name + "-apps"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name + "-apps"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "helm-" + name}},
	}))
	c := w.k3sChart(name, "chart: oci://registry.example/note\n"+spec)
	hr := w.madeFor(c)
	w.publish(name, "1.0.0", pack(w.t, "note", "1.0.0", map[string]string{"templates/hook.yaml": brokenHook, "templates/object.yaml": object}))
	return c, hr
}

// works sets whether the chart of a HelmChart works.
func (w *world) works(c *cattlev1.HelmChart, is string) {
	w.t.Helper()
	w.editChart(c, func(c *cattlev1.HelmChart) {
		c.Spec.Set = map[string]intstr.IntOrString{"works": intstr.FromString(is)}
	})
}

// eventAbout waits for an event about a HelmChart.
func (w *world) eventAbout(c *cattlev1.HelmChart, reason string) {
	w.t.Helper()
	untilTrue(w, "event "+reason+" of HelmChart "+c.Name, func() bool {
		var events corev1.EventList
		w.must(suite.client.List(w.t.Context(), &events, client.InNamespace(w.namespace)))
		for _, e := range events.Items {
			if e.InvolvedObject.Kind == cattlev1.HelmChartKind && e.InvolvedObject.Name == c.Name && e.Type == corev1.EventTypeWarning && e.Reason == reason {
				return true
			}
		}
		return false
	}, w.allEvents())
}

// untilStalled waits until a HelmRelease is stalled for a reason, and calls each with its versions before.
func (w *world) untilStalled(hr *helmv2.HelmRelease, reason string) {
	w.t.Helper()
	w.until(hr, "stalled with "+reason, func(hr *helmv2.HelmRelease) bool {
		c := condition(hr, helmv2.ConditionStalled)
		return c.Status == metav1.ConditionTrue && c.Reason == reason && c.ObservedGeneration == hr.Generation
	})
}

// TestK3sReinstall: a release whose install fails is uninstalled before each retry, and no upgrade is
// attempted. If the release holds claims, the failed revision stays.
func TestK3sReinstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		object string
		kept   bool
	}{
		"plain": {plainObject, false}, "set": {setObject, false}, "claim": {claimObject, true}, "claiming": {templates(setObject), true},
	} {
		c, hr := w.failing(name, "backOffLimit: 1", tc.object)
		reason, installs := helmv2.ReasonRetriesExceeded, int64(2)
		if tc.kept {
			reason, installs = helmv2.ReasonClaimsKept, 1
		}
		w.untilStalled(hr, reason)
		if s := hr.Status; s.InstallFailures != installs || s.UpgradeFailures != 0 {
			t.Errorf("%s: %d installs and %d upgrades have failed", name, s.InstallFailures, s.UpgradeFailures)
		}
		if records := w.stored(name); len(records) != 1 || records[0].Labels["status"] != "failed" || records[0].Labels["version"] != "1" {
			t.Errorf("%s: the records are %d", name, len(records))
		}
		failed := helmv2.ReasonInstallFailed
		if tc.kept {
			failed = cattlev1.ReasonClaimsKept
		}
		w.untilChart(c, cattlev1.ConditionFailed, metav1.ConditionTrue, failed)
		w.eventAbout(c, failed)
		w.works(c, "true")
		w.untilChart(c, cattlev1.ConditionReady, metav1.ConditionTrue, "")
		w.untilChart(c, cattlev1.ConditionFailed, metav1.ConditionFalse, "")
	}
}

// TestK3sReinstallUpgrade: a release whose upgrade fails is uninstalled and installed anew. If it holds
// claims, it is rolled back instead, once.
func TestK3sReinstallUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, object := range map[string]string{"plain": plainObject, "claim": claimObject} {
		c, hr := w.failing(name, "backOffLimit: 1\nset: {works: 'true'}", object)
		w.untilRevision(hr, 1)
		var claims corev1.PersistentVolumeClaimList
		w.must(suite.client.List(t.Context(), &claims, client.InNamespace(w.namespace)))
		w.works(c, "false")
		if name == "plain" {
			w.untilStalled(hr, helmv2.ReasonRetriesExceeded)
			if records := w.stored(name); len(records) != 1 || records[0].Labels["version"] != "1" {
				t.Errorf("%d records after the reinstall", len(records))
			}
			continue
		}
		w.untilStalled(hr, helmv2.ReasonClaimsKept)
		if done := condition(hr, helmv2.ConditionRemediated); done.Reason != helmv2.ReasonRollbackSucceeded || hr.Status.UpgradeFailures != 1 || newest(hr) != 3 {
			t.Errorf("remediated by %s, %d upgrades have failed, and revision %d is the newest", done.Reason, hr.Status.UpgradeFailures, newest(hr))
		}
		w.untilChart(c, cattlev1.ConditionFailed, metav1.ConditionTrue, cattlev1.ReasonClaimsKept)
		w.eventAbout(c, cattlev1.ReasonClaimsKept)
		claim := &corev1.PersistentVolumeClaim{}
		w.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, claim))
		if len(claims.Items) != 1 || claims.Items[0].UID != claim.UID {
			t.Errorf("the claim %s is another one", claim.UID)
		}
		w.works(c, "true")
		w.untilChart(c, cattlev1.ConditionReady, metav1.ConditionTrue, "")
	}
}

// TestK3sFailurePolicy: abort and retry leave a failed release, and differ in condition Failed and in the
// event. A change of the HelmChart, or of its HelmChartConfig, leads to another attempt with both.
func TestK3sFailurePolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		spec, config string
		failed       metav1.ConditionStatus
		reason       string
	}{
		"abort":      {"failurePolicy: abort", "", metav1.ConditionTrue, helmv2.ReasonInstallFailed},
		"retry":      {"failurePolicy: retry", "", metav1.ConditionFalse, cattlev1.ReasonWaitsForChange},
		"overridden": {"failurePolicy: reinstall", "failurePolicy: retry", metav1.ConditionFalse, cattlev1.ReasonWaitsForChange},
	} {
		if tc.config != "" {
			w.k3sConfig(name, tc.config)
		}
		c, hr := w.failing(name, tc.spec, plainObject)
		w.untilStalled(hr, helmv2.ReasonRetriesExceeded)
		w.untilChart(c, cattlev1.ConditionFailed, tc.failed, tc.reason)
		w.untilChart(c, cattlev1.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInstallFailed)
		w.eventAbout(c, tc.reason)
		if records := w.stored(name); len(records) != 1 || records[0].Labels["status"] != "failed" {
			t.Errorf("%s: %d records, and none failed", name, len(records))
		}
		if name == "overridden" {
			config := &cattlev1.HelmChartConfig{}
			w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(c), config))
			config.Spec.ValuesContent = "works: true"
			w.must(suite.client.Update(t.Context(), config))
		} else {
			w.works(c, "true")
		}
		w.untilRevision(hr, 2)
		w.untilChart(c, cattlev1.ConditionReady, metav1.ConditionTrue, "")
		w.untilChart(c, cattlev1.ConditionFailed, metav1.ConditionFalse, "")
	}
}

// TestK3sSuspended: a HelmRelease that a person has suspended stays so when the HelmChart changes, and the
// HelmChart says why it has no effect.
func TestK3sSuspended(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, hr := w.failing("web", "set: {works: 'true'}", plainObject)
	w.untilRevision(hr, 1)
	w.untilChart(c, cattlev1.ConditionReady, metav1.ConditionTrue, "")
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	w.untilChart(c, cattlev1.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonSuspended)
	generation := hr.Generation
	w.editChart(c, func(c *cattlev1.HelmChart) { c.Spec.Timeout = &metav1.Duration{Duration: actionTimeout} })
	w.until(hr, "the changed spec", func(hr *helmv2.HelmRelease) bool { return hr.Generation > generation })
	w.quiet(hr)
	if !hr.Spec.Suspend || hr.Spec.Timeout == nil || newest(hr) != 1 {
		t.Errorf("revision %d, spec %+v", newest(hr), hr.Spec)
	}
	w.untilChart(c, cattlev1.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonSuspended)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
	w.untilChart(c, cattlev1.ConditionReady, metav1.ConditionTrue, "")
}
