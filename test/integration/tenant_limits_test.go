// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// aliases returns YAML of 900 KiB whose aliases expand to gigabytes.
func aliases() string {
	return "a: &x " + strings.Repeat("x", 300<<10) + "\nb: [" + strings.Repeat("*x,", 200<<10) + "]\n"
}

// tenantAttack is a release whose spec or values would take gigabytes or minutes.
type tenantAttack struct {
	edit   func(*helmv2.HelmRelease)
	reason string
	says   []string
}

func tenantAttacks(w *world) map[string]tenantAttack {
	w.values("aliases", nil, map[string]string{"values.yaml": aliases()})
	w.secretValues("secret-aliases", nil, map[string]string{"values.yaml": aliases()})
	w.secret("kube-aliases", map[string][]byte{"value": []byte(aliases())}, nil)
	w.values("paths", nil, map[string]string{
		"index": "x," + strings.Repeat("a[65535]=x,", 4000), "lists": "x," + strings.Repeat("a[9999]=x,", 4000), "deep": "x,a" + strings.Repeat("[0]", 20_000) + "=x",
	})
	w.values("deep", nil, map[string]string{"values.yaml": "a: " + strings.Repeat("{a: ", 9000) + strings.Repeat("}", 9000)})
	w.values("one", nil, map[string]string{"values.yaml": "a: 1"})
	value := func(kind, name, key, path string) func(*helmv2.HelmRelease) {
		return from(helmv2.ValuesReference{Kind: kind, Name: name, ValuesKey: key, TargetPath: path})
	}
	values := func(n int) func(*helmv2.HelmRelease) {
		return func(hr *helmv2.HelmRelease) {
			for range n {
				hr.Spec.ValuesFrom = append(hr.Spec.ValuesFrom, helmv2.ValuesReference{Kind: helmv2.KindConfigMap, Name: "one"})
			}
		}
	}
	check := func(expression string) func(*helmv2.HelmRelease) {
		return func(hr *helmv2.HelmRelease) {
			hr.Spec.HealthCheckExprs = []helmv2.CustomHealthCheck{{APIVersion: "v1", Kind: "ConfigMap", Current: expression}}
		}
	}
	patch := func(p helmv2.Patch) func(*helmv2.HelmRelease) {
		return func(hr *helmv2.HelmRelease) {
			hr.Spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []helmv2.Patch{p}}}}
		}
	}
	pattern := "(?:" + strings.Repeat("abcdefgh", 400) + "){1000}"
	const expanded = "the content has more than 8388608 bytes after the expansion of its aliases"
	return map[string]tenantAttack{
		"aliases":        {value("ConfigMap", "aliases", "", ""), helmv2.ReasonValuesError, []string{w.namespace + "/aliases' with key 'values.yaml'", expanded}},
		"secret-aliases": {value("Secret", "secret-aliases", "", ""), helmv2.ReasonValuesError, []string{"/secret-aliases' with key 'values.yaml'", expanded}},
		"kube-aliases":   {in("kube-aliases"), helmv2.ReasonRESTClientError, []string{"/kube-aliases'", "the kubeconfig is too large: " + expanded}},
		"index":          {value("ConfigMap", "paths", "index", "a"), helmv2.ReasonValuesError, []string{`/paths' with key 'index': the target path "a" cannot be set: a list index is greater than 10000`}},
		"lists":          {value("ConfigMap", "paths", "lists", "a"), helmv2.ReasonValuesError, []string{"together set more than 100000 list elements"}},
		"levels":         {value("ConfigMap", "paths", "deep", "a"), helmv2.ReasonValuesError, []string{"there are more than 60 levels"}},
		"deep":           {value("ConfigMap", "deep", "", ""), helmv2.ReasonValuesError, []string{"nested deeper than 100 levels"}},
		"many":           {values(2000), helmv2.ReasonUnsupportedField, []string{"spec.valuesFrom has 2000 entries, more than 256"}},
		"pattern":        {check("'x'.matches('" + pattern + "')"), helmv2.ReasonInvalidCELExpression, []string{"spec.healthCheckExprs[0].current", "the regular expression costs more than 10000"}},
		"expression":     {check(strings.Repeat("true && ", 10_000) + "true"), helmv2.ReasonInvalidCELExpression, []string{"spec.healthCheckExprs[0].current", "more than 16384"}},
		"ready": {func(hr *helmv2.HelmRelease) {
			hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "honest", ReadyExpr: "'x'.matches('" + pattern + "')"}}
		}, helmv2.ReasonInvalidCELExpression, []string{"spec.dependsOn[0].readyExpr", "the regular expression costs more than 10000"}},
		"target":   {patch(helmv2.Patch{Patch: "a: 1", Target: &helmv2.Selector{Name: pattern}}), helmv2.ReasonInstallFailed, []string{"spec.postRenderers[0].kustomize.patches[0]: target", "the regular expression costs more than 10000"}},
		"comments": {patch(helmv2.Patch{Patch: strings.Repeat("#\n", 300<<10)}), helmv2.ReasonInstallFailed, []string{"spec.postRenderers[0].kustomize.patches[0]: the patch is empty"}},
	}
}

// TestTenantLimits: values, kubeconfigs, expressions and patterns that would take gigabytes or
// minutes are rejected with the field and the limit, and another release goes on.
func TestTenantLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	// Not parallel: it measures the memory of the process.
	w := newWorld(t)
	before := resident(t)
	all := tenantAttacks(w)
	held := map[string]*helmv2.HelmRelease{}
	w.publish("honest", "1.0.0", configMapChart(t, "1.0.0"))
	for name, a := range all {
		held[name] = w.release(name, nil, a.edit, func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "honest" })
	}
	honest := w.release("honest", nil, func(hr *helmv2.HelmRelease) {
		for range 200 {
			hr.Spec.ValuesFrom = append(hr.Spec.ValuesFrom, helmv2.ValuesReference{Kind: helmv2.KindConfigMap, Name: "one"})
		}
	})
	w.untilReady(honest)
	for name, a := range all {
		w.untilSays(held[name], helmv2.ConditionReady, metav1.ConditionFalse, a.reason, a.says...)
		if n := len(condition(held[name], helmv2.ConditionReady).Message); n > 4096 {
			t.Errorf("the message for %s has %d bytes", name, n)
		}
		if len(w.stored(name)) != 0 {
			t.Errorf("%s was installed", name)
		}
		w.remove(held[name])
	}
	if c := condition(held["many"], helmv2.ConditionStalled); c.Status != metav1.ConditionTrue {
		t.Error(fmt.Sprint("a rejected spec is not stalled: ", c))
	}
	grown := resident(t) - before
	t.Logf("memory grew by %d bytes at most", grown)
	// Most attacks took more than this, and the race detector needs several times as much as usual.
	if grown > 2<<30 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}
