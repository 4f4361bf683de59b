// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// Demands is what all policies together demand of one release. It is plain data. The zero value
// demands nothing.
type Demands struct {
	// Unavailable states why the policies are not known; empty if they are. Nothing may be
	// installed, upgraded or uninstalled then.
	Unavailable string `json:",omitempty"`
	// Freezes are the policies that freeze the release, sorted by name.
	Freezes []Freeze `json:",omitempty"`
	// Approvals are the policies that demand approval, the strictest first.
	Approvals []Approval `json:",omitempty"`
	// Protections are the protections of objects, in the order of their policies.
	Protections []Protection `json:",omitempty"`
	// Refusal is the first policy that refuses the chart; nil if none does.
	Refusal *Refusal `json:",omitempty"`
}

// Freeze is a policy that freezes a release.
type Freeze struct {
	// Policy is "<kind>/<name>".
	Policy string
	Why    string
}

// Approval is a policy that demands approval: always, or of destructive changes.
type Approval struct {
	Policy string
	Of     v1alpha1.Approval
}

// Protection is a protection of objects by a policy.
type Protection struct {
	Policy string
	v1alpha1.Protection
}

// Refusal is a policy that refuses a chart.
type Refusal struct {
	Policy string
	// Field is the field of the HelmRelease that is refused.
	Field string
	// Why is a sentence for users.
	Why string
}

// NeedPlan reports whether the changes of an action must be known to decide about it.
func (d Demands) NeedPlan() bool { return len(d.Approvals) > 0 || len(d.Protections) > 0 }
