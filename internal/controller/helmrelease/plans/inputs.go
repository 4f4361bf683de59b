// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
)

// basis is what a plan is computed from. A plan with another basis is out of date.
type basis struct {
	action v1alpha1.PlanAction
	// inputs is the digest of the desired state, and base identifies the newest revision.
	inputs, base string
}

// basisOf returns the basis of the plan of an action.
func basisOf(hr *helmv2.HelmRelease, in release.Input, a release.HelmAction) basis {
	b := basis{action: release.PlanActionOf(in, a), base: "none"}
	if newest := in.Observed.Newest(); newest != nil {
		b.base = fmt.Sprintf("%d %s %s", newest.Version, newest.Status, newest.Digest)
	}
	spec := hr.Spec.DeepCopy()
	// These fields do not change what an action does.
	spec.Interval, spec.Suspend, spec.DependsOn = metav1.Duration{}, false, nil
	switch b.action {
	case v1alpha1.PlanUninstall:
		// Of the spec, an uninstall reads its own options only, and so does a rollback.
		spec = &helmv2.HelmReleaseSpec{Uninstall: spec.Uninstall}
	case v1alpha1.PlanRollback:
		spec = &helmv2.HelmReleaseSpec{Rollback: spec.Rollback}
	case v1alpha1.PlanInstall, v1alpha1.PlanUpgrade, v1alpha1.PlanReinstall:
	}
	content := struct {
		Spec      *helmv2.HelmReleaseSpec
		Inputs    release.Inputs
		Preserved string
		Target    release.Target
		Deletion  release.Deletion
		// Back is the revision that is rolled back to.
		Back int `json:",omitempty"`
	}{Spec: spec, Preserved: in.Observed.PreservedDigest, Target: release.ObservedTarget(in), Deletion: in.Desired.Deletion}
	if back, is := a.(release.Rollback); is {
		content.Back, content.Preserved = back.Version, ""
	} else if b.action != v1alpha1.PlanUninstall {
		content.Inputs = release.InputsOf(in.Desired)
	}
	// Fields of the API can be encoded.
	raw, _ := json.Marshal(content)
	sum := sha256.Sum256(raw)
	b.inputs = "sha256:" + hex.EncodeToString(sum[:])
	return b
}

// InputsOf returns the digest of the inputs of an upgrade. It is status.inputs of its plan, if there is
// one.
func InputsOf(hr *helmv2.HelmRelease, in release.Input, upgrade release.Upgrade) string {
	return basisOf(hr, in, upgrade).inputs
}

// isCurrent reports whether a plan was computed from the basis, in the present version of plans.
func (b basis) isCurrent(of *v1alpha1.ReleasePlan) bool {
	if of == nil || of.Status.Digest == "" || of.Status.Inputs != b.inputs || of.Status.Version != plan.Version {
		return false
	}
	if of.Status.Action == v1alpha1.PlanReinstall && b.action == v1alpha1.PlanInstall {
		// The release was uninstalled, as the plan states, and must be installed anew.
		return true
	}
	return of.Status.Action == b.action && of.Status.Base == b.base
}
