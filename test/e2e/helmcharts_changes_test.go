// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// k3sChanges are what the end-to-end tests of k3s' helm-controller show, besides the cases and
// TestK3s* of test/integration.
func k3sChanges() map[string]func(k3s) {
	return map[string]func(k3s){
		"upgrade": k3s.upgrades, "server-side": k3s.keepsMethod, "conflict": k3s.takesFields, "ownership": k3s.takesOwnership, "timeout": k3s.timesOut,
		"backoff": k3s.backsOff, "namespace": k3s.loses, "default-account": k3s.actsAsDefault, "driver": k3s.keepsDriver,
	}
}

// upgrades: another version, and other values of each kind, lead to a revision each.
func (k k3s) upgrades() {
	k.Helper()
	c := k.chart("web", inRepository+"  version: 1.0.0\n  values: {number: 2}")
	k.untilRevision(c, 1)
	k.released("web", k.Namespace, "1.0.0", "number: 2")
	for i, step := range []struct{ change, version, values string }{
		{"  version: 1.1.0", "1.1.0", "number: 2"},
		{"  values: {number: 3}", "1.1.0", "number: 3"},
		{"  set: {number: 4}", "1.1.0", "number: 4"},
		{"  valuesContent: 'text: a'", "1.1.0", "{text: a, number: 4}"},
		// One change leads to one revision.
		{"  version: 1.0.0\n  valuesContent: 'text: b'\n  set: {number: 5}", "1.0.0", "{text: b, number: 5}"},
		{"  chart: oci://${OCI}/note\n  repo: null\n  plainHTTP: true\n  version: 2.0.0", "2.0.0", "{text: b, number: 5}"},
	} {
		k.edit(c, step.change)
		k.untilRevision(c, i+2)
		k.released("web", k.Namespace, step.version, step.values)
	}
}

// keepsMethod: serverSide auto applies as the revision before was applied.
func (k k3s) keepsMethod() {
	k.Helper()
	c := k.chart("web", inRepository+"  serverSide: \"false\"\n  forceConflicts: true")
	k.untilRevision(c, 1)
	k.method("web", 1, "csa")
	for i, step := range []struct{ serverSide, method string }{{"auto", "csa"}, {`"true"`, "ssa"}, {"auto", "ssa"}, {`"false"`, "csa"}} {
		k.edit(c, fmt.Sprintf("  serverSide: %s\n  set: {number: %d}", step.serverSide, i))
		k.untilRevision(c, i+2)
		k.method("web", i+2, step.method)
	}
}

// takesFields: a field of another manager is taken, with and without forceConflicts.
func (k k3s) takesFields() {
	k.Helper()
	for name, spec := range map[string]string{"plain": "", "forced": "  forceConflicts: true\n"} {
		c := k.chart(name, inRepository+spec)
		k.untilRevision(c, 1)
		other := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: k.Meta(name), Data: map[string]string{"number": "of another"}}
		raw, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": other.Data})
		k.Must(err)
		k.Must(env.Client.Patch(k.Context(), other, client.RawPatch("application/apply-patch+yaml", raw), client.FieldOwner("another"), client.ForceOwnership))
		k.edit(c, "  set: {number: 2}")
		k.untilRevision(c, 2)
		k.number(name, "2")
		k.Get(name, other)
		for _, entry := range other.ManagedFields {
			if entry.Manager == "another" {
				k.Errorf("%s: another manager has the field still: %s", name, entry.FieldsV1)
			}
		}
		k.untilEvent("fields taken from another: ConfigMap/" + k.Namespace + "/" + name + " .data.number")
	}
}

// untilEvent waits for an event with a text.
func (k k3s) untilEvent(text string) {
	k.Helper()
	k.Must(env.Until(k.Context(), "an event with "+text, func() (string, bool) {
		var events corev1.EventList
		if err := env.Client.List(k.Context(), &events, client.InNamespace(k.Namespace)); err != nil {
			return err.Error(), false
		}
		var seen []string
		for _, e := range events.Items {
			seen = append(seen, e.Message)
		}
		all := strings.Join(seen, "\n")
		return all, strings.Contains(all, text)
	}, &corev1.Event{ObjectMeta: k.Meta("")}))
}

// takesOwnership: an object without owner stops the install until takeOwnership is set.
func (k k3s) takesOwnership() {
	k.Helper()
	k.Create(&corev1.ConfigMap{ObjectMeta: k.Meta("web"), Data: map[string]string{"number": "by hand"}})
	c := k.chart("web", inRepository+"  failurePolicy: abort")
	k.until(c, cattlev1.ConditionFailed, yes, "ConfigMap")
	k.number("web", "by hand")
	k.edit(c, "  takeOwnership: true")
	k.until(c, cattlev1.ConditionReady, yes, "")
	k.number("web", "1")
}

// timesOut: a hook that runs longer than the timeout fails the release, until the timeout is longer.
func (k k3s) timesOut() {
	k.Helper()
	c := k.chart("web", inRepository+`
  timeout: 2s
  failurePolicy: abort
  values:
    hook: {`+hangs+`: "true"}
`)
	k.until(c, cattlev1.ConditionFailed, yes, "web-hook")
	k.edit(c, "  timeout: 1h\n  values: {hook: {"+hangs+": null, simulate.pintle.dev/delay: 3s}}")
	k.until(c, cattlev1.ConditionReady, yes, "")
}

// backsOff: a release without claims is installed anew backOffLimit times.
func (k k3s) backsOff() {
	k.Helper()
	c := k.chart("web", inRepository+`
  backOffLimit: 2
  set:
    hook.simulate\.pintle\.dev/exit-code: "1"
`)
	k.until(c, cattlev1.ConditionJobCreated, yes, "")
	hr := &helmv2.HelmRelease{ObjectMeta: k.Meta("web")}
	k.Until(hr, "to be installed anew twice, and uninstalled", func(hr *helmv2.HelmRelease) bool {
		return hr.Spec.Install.Remediation != nil && hr.Status.InstallFailures == 3 && hr.Status.ObservedGeneration == hr.Generation
	})
	k.equal("retries", hr.Spec.Install.Remediation.Retries, 2)
	k.until(c, cattlev1.ConditionFailed, yes, "web-hook")
	k.edit(c, "  set: null")
	k.until(c, cattlev1.ConditionReady, yes, "")
	k.number("web", "1")
}

// loses: the deletion of the namespace of a HelmChart, and of the namespace of its release, does not hang.
func (k k3s) loses() {
	k.Helper()
	inside := k.chart("inside", inRepository+"  values: {number: 2}")
	away := k.chart("away", inRepository+"  targetNamespace: ${NAMESPACE}-away\n  createNamespace: true")
	k.untilRevision(inside, 1)
	k.untilRevision(away, 1)
	k.apply(cattlev1.HelmChartConfigKind, "away", "  values: {number: 2}")
	k.untilRevision(away, 2)
	k.leave()
	there := k
	there.Namespace += "-away"
	there.leave()
}

// actsAsDefault: without ServiceAccount helm-<name>, the release is made as the default one. Another
// namespace is refused then.
func (k k3s) actsAsDefault() {
	k.Helper()
	k.apply(cattlev1.HelmChartKind, "web", inRepository)
	c := &cattlev1.HelmChart{ObjectMeta: k.Meta("web")}
	hr := k.untilRevision(c, 1)
	k.equal("ServiceAccount", hr.Spec.ServiceAccountName, "")
	k.released("web", k.Namespace, "2.0.0", "")
	k.apply(cattlev1.HelmChartKind, "away", inRepository+"  targetNamespace: default")
	away := &cattlev1.HelmChart{ObjectMeta: k.Meta("away")}
	k.until(away, cattlev1.ConditionFailed, yes, fmt.Sprintf("NoServiceAccount spec.targetNamespace is another namespace, which needs ServiceAccount '%s/helm-away'", k.Namespace))
}

// keepsDriver: the driver of a HelmChart cannot be changed.
func (k k3s) keepsDriver() {
	k.Helper()
	c := k.chart("web", inRepository)
	patch, err := yaml.YAMLToJSON([]byte("spec: {driver: configmap}"))
	k.Must(err)
	if err := env.Client.Patch(k.Context(), c, client.RawPatch("application/merge-patch+json", patch)); !apierrors.IsInvalid(err) {
		k.Errorf("the driver was changed: %v", err)
	}
}
