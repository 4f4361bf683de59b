// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Status is what the rules for an object say.
type Status int

// The verdicts. None means that there is no rule for objects of this kind.
const (
	None Status = iota
	InProgress
	Failed
	Current
)

// ReadinessChecks are the rules by which a user judges objects of certain kinds. They may
// be used concurrently; nil has no rules.
type ReadinessChecks struct {
	// rules by group and kind; those for a whole group have no kind.
	rules map[schema.GroupKind]check
}

type check []struct {
	condition *Expression
	status    Status
}

// CompileReadinessChecks reads the rules of a HelmRelease. The error names the rule. Two
// rules for the same kind are an error, because nobody could say which counts.
func CompileReadinessChecks(rules []helmv2.CustomHealthCheck) (*ReadinessChecks, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	c := &ReadinessChecks{rules: map[schema.GroupKind]check{}}
	for i, rule := range rules {
		path := fmt.Sprintf("spec.healthCheckExprs[%d]", i)
		gv, err := schema.ParseGroupVersion(rule.APIVersion)
		if err != nil {
			return nil, fmt.Errorf("%s.apiVersion: %w", path, err)
		}
		gk := schema.GroupKind{Group: gv.Group, Kind: rule.Kind}
		if _, twice := c.rules[gk]; twice {
			return nil, fmt.Errorf("%s: there is another rule for kind '%s' of group '%s'", path, gk.Kind, gk.Group)
		}
		if c.rules[gk], err = compileCheck(rule); err != nil {
			return nil, fmt.Errorf("%s.%w", path, err)
		}
	}
	return c, nil
}

func compileCheck(rule helmv2.CustomHealthCheck) (check, error) {
	var all check
	for _, part := range []struct {
		field, text string
		status      Status
	}{
		{"inProgress", rule.InProgress, InProgress},
		{"failed", rule.Failed, Failed},
		{"current", rule.Current, Current},
	} {
		if part.text == "" && part.status != Current {
			continue
		}
		e, err := Parse(part.text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.field, err)
		}
		all = append(all, struct {
			condition *Expression
			status    Status
		}{e, part.status})
	}
	return all, nil
}

// Evaluate returns the status on a live object. A rule for its kind counts before
// one for its whole group; the version does not matter. An object whose
// controller has not seen its newest generation is in progress whatever the
// rules say, and so is one for which none of them holds.
func (c *ReadinessChecks) Evaluate(object *unstructured.Unstructured) (Status, error) {
	if c == nil {
		return None, nil
	}
	gk := object.GroupVersionKind().GroupKind()
	rule, ok := c.rules[gk]
	if !ok {
		if rule, ok = c.rules[schema.GroupKind{Group: gk.Group}]; !ok {
			return None, nil
		}
	}
	observed, ok, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	if ok && err == nil && observed != object.GetGeneration() {
		return InProgress, nil
	}
	for _, part := range rule {
		holds, err := part.condition.Bool(object.Object)
		if err != nil {
			return None, err
		}
		if holds {
			return part.status, nil
		}
	}
	return InProgress, nil
}
