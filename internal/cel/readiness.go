// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Status is the status of an object by the readiness checks of its kind.
type Status int

// The statuses. None means that there is no check for the kind.
const (
	None Status = iota
	InProgress
	Failed
	Current
)

// ReadinessChecks holds the compiled spec.healthCheckExprs of a HelmRelease. It is safe for
// concurrent use. Nil has no checks.
type ReadinessChecks struct {
	// checks maps group and kind to a check. A check for a whole group has an empty kind.
	checks map[schema.GroupKind]check
}

// check lists the expressions for one kind. The first one that holds determines the status.
type check []struct {
	condition *Expression
	status    Status
}

// CompileReadinessChecks compiles spec.healthCheckExprs. Two checks for the same kind are an error,
// since their precedence would be undefined. Errors name the field.
func CompileReadinessChecks(rules []helmv2.CustomHealthCheck) (*ReadinessChecks, error) {
	if len(rules) == 0 {
		return nil, nil //nolint:nilnil // there are no checks
	}
	c := &ReadinessChecks{checks: map[schema.GroupKind]check{}}
	var compiler Compiler
	for i, rule := range rules {
		path := fmt.Sprintf("spec.healthCheckExprs[%d]", i)
		gv, err := schema.ParseGroupVersion(rule.APIVersion)
		if err != nil {
			return nil, fmt.Errorf("%s.apiVersion: %w", path, err)
		}
		gk := schema.GroupKind{Group: gv.Group, Kind: rule.Kind}
		if _, twice := c.checks[gk]; twice {
			return nil, fmt.Errorf("%s: there is another rule for kind '%s' of group '%s'", path, gk.Kind, gk.Group)
		}
		if c.checks[gk], err = compileCheck(rule, &compiler); err != nil {
			return nil, fmt.Errorf("%s.%w", path, err)
		}
	}
	return c, nil
}

func compileCheck(rule helmv2.CustomHealthCheck, compiler *Compiler) (check, error) {
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
		e, err := compiler.Parse(part.text)
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

// Evaluate returns the status of a live object. A check for its kind has precedence over one for
// its group; the API version does not matter. An object is in progress if its controller has not
// observed its latest generation, or if no expression holds. An error means that an expression
// cannot be evaluated, for example since a field is not set yet.
func (c *ReadinessChecks) Evaluate(object *unstructured.Unstructured) (Status, error) {
	if c == nil {
		return None, nil
	}
	gk := object.GroupVersionKind().GroupKind()
	parts, ok := c.checks[gk]
	if !ok {
		if parts, ok = c.checks[schema.GroupKind{Group: gk.Group}]; !ok {
			return None, nil
		}
	}
	observed, ok, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	if ok && err == nil && observed != object.GetGeneration() {
		return InProgress, nil
	}
	for _, part := range parts {
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
