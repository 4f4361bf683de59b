// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// OperationRule is what a policy demands of Operations.
type OperationRule struct {
	// Policy is "<kind>/<name>".
	Policy string
	v1alpha1.OperationPolicy
}

// Hook is a hook that an Operation runs.
type Hook struct {
	Name   string
	Events []string
}

// RefuseHooks returns why an Operation must not run the hooks, as a sentence; empty if it may. Each
// policy must allow each hook.
func (d Demands) RefuseHooks(hooks []Hook) string {
	for _, rule := range d.Operations {
		for _, h := range hooks {
			if len(rule.Allow) > 0 && !slices.ContainsFunc(h.Events, func(e string) bool { return slices.Contains(rule.Allow, e) }) {
				return fmt.Sprintf("%s allows hooks of %s only, and hook %s is of %s (spec.operations.allow)",
					rule.Policy, strings.Join(rule.Allow, ", "), h.Name, strings.Join(h.Events, ", "))
			}
			if len(rule.Names) > 0 && !slices.ContainsFunc(rule.Names, func(pattern string) bool { return match(pattern, h.Name, "/") }) {
				return fmt.Sprintf("%s allows hooks named %s only, and not %s (spec.operations.names)", rule.Policy, strings.Join(rule.Names, ", "), h.Name)
			}
		}
	}
	return ""
}

// OperationApprover returns the first policy that demands approval of Operations; empty if none does.
func (d Demands) OperationApprover() string {
	for _, rule := range d.Operations {
		if rule.Approval == v1alpha1.OperationApprovalAlways {
			return rule.Policy
		}
	}
	return ""
}
