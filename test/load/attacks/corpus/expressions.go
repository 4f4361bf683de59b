// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// check sets the expression that decides whether a ConfigMap is ready.
func check(expression string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Spec.HealthCheckExprs = []helmv2.CustomHealthCheck{{APIVersion: "v1", Kind: "ConfigMap", Current: expression}}
	}
}

func expressions() []Attack {
	const (
		field = "spec.healthCheckExprs[0].current"
		cost  = "the regular expression costs more than 10000"
	)
	invalid := func(says ...string) Outcome { return rejected(helmv2.ReasonInvalidCELExpression, says...) }
	loops := "true"
	for _, variable := range strings.Split("abcdefgh", "") {
		loops = "[1,2,3,4,5,6,7,8,9,10].all(" + variable + ", " + loops + ")"
	}
	doubling := "data.message"
	for range 40 {
		doubling = doubling + ".replace('', " + "'xxxxxxxxxx')"
	}
	ready := func(expression string) func(*helmv2.HelmRelease) {
		return func(hr *helmv2.HelmRelease) {
			hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: Honest, ReadyExpr: expression}}
		}
	}
	drift := func(rule helmv2.IgnoreRule) func(*helmv2.HelmRelease) {
		return func(hr *helmv2.HelmRelease) {
			hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled, Ignore: []helmv2.IgnoreRule{rule}}
		}
	}
	dynamic := func() []byte {
		return pack(entry{name: Chart + "/templates/a.yaml", content: object + "data:\n  message: " + strings.Repeat("x", 100_000) + "\n  pattern: " + costly() + "\n"})
	}
	return []Attack{
		{Name: "expressions/pattern", Worst: true, Edit: check("'x'.matches('" + costly() + "')"), Outcome: invalid(field, cost)},
		{Name: "expressions/long", Edit: check(strings.Repeat("true && ", 10_000) + "true"), Outcome: invalid(field, "more than 16384")},
		{Name: "expressions/deep", Edit: check(strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 5000)), Outcome: invalid(field)},
		{Name: "expressions/loops", Edit: check(loops), Outcome: failed("cost limit exceeded")},
		{Name: "expressions/dynamic-pattern", Archive: dynamic, Edit: check("data.message.matches(data.pattern)"), Outcome: failed("cost limit exceeded")},
		{Name: "expressions/growing-text", Archive: dynamic, Edit: check(doubling + " == ''"), Outcome: failed("cost limit exceeded")},
		{Name: "expressions/ready-pattern", Edit: ready("'x'.matches('" + costly() + "')"), Outcome: invalid("spec.dependsOn[0].readyExpr", cost)},
		{Name: "expressions/ready-loops", Edit: ready(loops), Outcome: rejected(helmv2.ReasonDependencyNotReady, "cost limit exceeded")},
		{Name: "expressions/ready-long", Edit: ready(strings.Repeat("true && ", 10_000) + "true"), Outcome: invalid("spec.dependsOn[0].readyExpr", "more than 16384")},
		{Name: "expressions/drift-target", Edit: drift(helmv2.IgnoreRule{Paths: []string{"/data"}, Target: &helmv2.Selector{Name: costly()}}), Outcome: rejected(helmv2.ReasonStateError, "spec.driftDetection: ignore[0].target.name", cost)},
		{Name: "expressions/drift-path", Edit: drift(helmv2.IgnoreRule{Paths: []string{"/" + strings.Repeat("a/", 50_000)}}), Outcome: rejected(helmv2.ReasonUnsupportedField, "spec.driftDetection.ignore[0].paths[0] has 100001 bytes, more than 4096")},
	}
}

// Honest is the name of a release beside the attacks, which expressions read.
const Honest = "honest"
