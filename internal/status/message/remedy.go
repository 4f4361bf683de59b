// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message

import helmv2 "github.com/pintle-dev/pintle/api/v2"

// Remedy returns what to do about a failure code or a reason, as a sentence without the final period. The
// cause, which precedes it in messages, has the names. It is empty if only the cause says what to do.
func Remedy(code string) string {
	switch code {
	case helmv2.FailureImageNotFound, helmv2.FailureImageNameInvalid:
		return "Correct the image in the values, or push it"
	case helmv2.FailureImagePull:
		return "Check the registry and the pull Secret"
	case helmv2.FailureOOMKilled:
		return "Raise the memory limit in the values"
	case helmv2.FailureCrashLoop, helmv2.FailureContainer, helmv2.FailureBackoffLimit, helmv2.FailurePod:
		return "Read its logs; fix the chart or the values"
	case helmv2.FailureConfigMissing:
		return "Create it, or correct the reference"
	case helmv2.FailureNotStarted:
		return "Correct the command of the container"
	case helmv2.FailureProbe:
		return "Read its logs, or correct the probe"
	case helmv2.FailureUnschedulable:
		return "Add nodes, or lower what the Pod requests"
	case helmv2.FailureVolumeNotBound:
		return "Set a storage class, or create a volume"
	case helmv2.FailureMount:
		return "Correct the volume, or create what it mounts"
	case helmv2.FailureSandbox:
		return "Check the node and its network plugin"
	case helmv2.FailureEvicted:
		return "Check the node, or correct what the Pod requests"
	case helmv2.FailureQuotaExceeded:
		return "Raise the quota, or request less"
	case helmv2.FailureAdmissionDenied:
		return "Change the object as the policy demands"
	case helmv2.FailureWebhookUnavailable:
		return "Repair the webhook's server"
	case helmv2.FailureForbidden:
		return "Grant it get, create, patch and delete, or choose another ServiceAccount"
	case helmv2.FailureDeadline:
		return "Read its logs, or raise the timeout"
	case helmv2.FailureNotReady:
		return "Read its logs, or raise spec.timeout if it needs longer"
	case helmv2.FailureKindNotServed:
		return "Install the CRD of the kind"
	case helmv2.FailureNamespaceNotFound:
		return "Create the namespace, or correct it in the chart or the values"
	case helmv2.FailureObjectInvalid:
		return "Correct the field in the chart or the values"
	case helmv2.FailureSchemaInvalid:
		return "Correct the values"
	case helmv2.FailureTemplate:
		return "Correct the chart or the values"
	case helmv2.FailureChartInvalid:
		return "Publish a valid chart"
	case helmv2.FailureSource:
		return "Correct the chart or its source"
	case helmv2.ReasonInterrupted:
		return "Check the server if this lasts"
	case helmv2.FailureFailed:
		return "Fix the chart or the values"
	}
	return ""
}
