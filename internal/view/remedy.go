// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Runbook is the section of the documentation about the reasons of conditions.
const Runbook = "docs/spec/problems.md#reasons"

// Documentation is the address of the documentation.
const Documentation = "https://github.com/pintle-dev/pintle/blob/main/"

// remedy returns what a user can do about the state of a release, and the section about it. Both are
// empty if nothing is to be done.
func remedy(r Release) (do, link string) {
	switch r.State {
	case Ready, Progressing, Deleting:
		return "", ""
	case Suspended:
		return "To continue: kubectl pintle resume " + r.Name + " -n " + r.Namespace, Documentation + Runbook
	case Held:
		return "To follow the spec again: kubectl annotate helmrelease " + r.Name + " -n " + r.Namespace + " " + helmv2.AnnotationRollbackTo + "-", Documentation + Runbook
	case Stalled, Failing, Waiting:
	}
	do, known := remedies()[r.Reason]
	if !known {
		do = "Read the message of condition Ready."
	}
	do = strings.ReplaceAll(do, "NAME", r.Name+" -n "+r.Namespace)
	if r.State == Stalled {
		do += " To try again without a change: kubectl pintle reconcile " + r.Name + " -n " + r.Namespace + " --reset"
	}
	return do, Documentation + Runbook
}

// remedies returns what to do about reasons of Ready. Each has a row in the runbook.
func remedies() map[string]string {
	failed := "Correct the object in the message: see the cause and the log above. If a right is missing, bind it to the named ServiceAccount."
	return map[string]string{
		helmv2.ReasonInstallFailed:         failed,
		helmv2.ReasonUpgradeFailed:         failed,
		helmv2.ReasonTestFailed:            "Read the log of the test. Correct the release, or set spec.test.ignoreFailures.",
		helmv2.ReasonRollbackFailed:        "Correct the object in the message.",
		helmv2.ReasonUninstallFailed:       "Remove the finalizer that keeps the object, or restore the named ServiceAccount, Secret or ConfigMap.",
		helmv2.ReasonRetriesExceeded:       "Correct the cause, then change the spec or reset the failures.",
		helmv2.ReasonReleaseTooLarge:       "Use a smaller chart or smaller values: the message has the parts of the record.",
		helmv2.ReasonMissingRollbackTarget: "Correct the chart or the values: there is no revision to roll back to.",
		helmv2.ReasonContested:             "Delete or rename one of the two HelmReleases: the message names the owner.",
		helmv2.ReasonInterrupted:           "Check the server in the message. Nothing has failed, and the action is resumed.",
		helmv2.ReasonTargetUnavailable:     "Remove the obstacle in the message, or set the spec back.",
		helmv2.ReasonObjectsOwned:          "Remove the objects in the message from one of the two charts.",
		helmv2.ReasonDryRunDenied:          "Nothing yet: it is tried all the same. If that fails, correct the object in the message, or what denies it.",
		helmv2.ReasonDependencyNotReady:    "Look at the dependency with kubectl pintle why. If it is of another kind, the ServiceAccount of the release needs get.",
		helmv2.ReasonAccessDenied:          "Use a source in the namespace of the HelmRelease: --no-cross-namespace-refs forbids others.",
		helmv2.ReasonInvalidCELExpression:  "Correct the expression at the place in the message.",
		helmv2.ReasonSourceNotReady:        "Look at the source: kubectl describe it, and check source-controller.",
		helmv2.ReasonArtifactFailed:        "Check that the source exists, and that source-controller runs and can be reached.",
		helmv2.ReasonRESTClientError:       "Correct the Secret of the kubeconfig, or the ConfigMap of the cluster.",
		helmv2.ReasonChartMutateError:      "Publish the chart again: its version and the tag of the artifact contradict each other.",
		helmv2.ReasonValuesError:           "Create or correct the named ConfigMap, Secret or key.",
		helmv2.ReasonRollbackRefused:       "Set " + helmv2.AnnotationRollbackTo + " to a revision that has succeeded (kubectl pintle history), or remove it.",
		helmv2.ReasonPolicyUnavailable:     "Let the controller list policies, or correct the field that the message names.",
		helmv2.ReasonPolicyRefused:         "Change the field that the message names, or the policy.",
		helmv2.ReasonFrozen:                "Nothing: it continues when the named policy is changed or deleted.",
		helmv2.ReasonAwaitingApproval:      "Look at the plan and approve it: kubectl pintle plan NAME && kubectl pintle approve NAME",
		helmv2.ReasonPlanFailed:            "Correct what the message names.",
		helmv2.ReasonStateError:            "Mostly a right to Secrets that the named ServiceAccount lacks. Otherwise the cluster of the release does not answer.",
		helmv2.ReasonUnsupportedField:      "Remove the field from the spec.",
	}
}
