// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helmchart"
	"github.com/pintle-dev/pintle/internal/release"
)

// HelmChartInput is what the status of a HelmChart is made from.
type HelmChartInput struct {
	// Recorded is the status as it is.
	Recorded cattlev1.HelmChartStatus
	// Refusal states why there are no objects; nil if there are.
	Refusal *helmchart.Refusal
	// Release is the HelmRelease; nil if there is none.
	Release *helmv2.HelmRelease
	// Policy is what follows a failure.
	Policy cattlev1.FailurePolicy
	// Ignored are the fields that have no effect.
	Ignored []string
}

// HelmChart returns the status of a HelmChart, and the events about its change.
func HelmChart(in HelmChartInput) (cattlev1.HelmChartStatus, []Event) {
	s := cattlev1.HelmChartStatus{}
	set := func(kind string, is metav1.ConditionStatus, reason, message string) {
		s.Conditions = append(s.Conditions, cattlev1.HelmChartCondition{Type: kind, Status: is, Reason: reason, Message: message})
	}
	hr := in.Release
	if hr == nil {
		set(cattlev1.ConditionJobCreated, metav1.ConditionFalse, "", "")
	} else {
		set(cattlev1.ConditionJobCreated, metav1.ConditionTrue, cattlev1.ReasonHelmReleaseCreated, fmt.Sprintf("HelmRelease '%s/%s' installs the chart; no Job runs", hr.Namespace, hr.Name))
	}
	switch {
	case in.Refusal != nil:
		set(cattlev1.ConditionFailed, metav1.ConditionTrue, in.Refusal.Reason, in.Refusal.Message)
		set(cattlev1.ConditionReady, metav1.ConditionFalse, in.Refusal.Reason, in.Refusal.Message)
	case hr == nil:
		set(cattlev1.ConditionFailed, metav1.ConditionFalse, "", "")
		set(cattlev1.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, "The HelmRelease is being created")
	default:
		failed, ready := mirrored(in)
		s.Conditions = append(s.Conditions, failed, ready)
	}
	if len(in.Ignored) > 0 {
		set(cattlev1.ConditionIgnored, metav1.ConditionTrue, cattlev1.ReasonNoEffect,
			strings.Join(in.Ignored, ", ")+" have no effect, because no Job runs: charts are rendered in worker processes, Helm acts as a ServiceAccount, and `kubectl pintle why` has the logs")
	}
	return s, helmChartEvents(in, s)
}

// mirrored returns conditions Failed and Ready of a HelmChart for the state of its HelmRelease.
func mirrored(in HelmChartInput) (failed, ready cattlev1.HelmChartCondition) {
	ready = cattlev1.HelmChartCondition{Type: cattlev1.ConditionReady, Status: metav1.ConditionUnknown, Reason: helmv2.ReasonProgressing}
	failed = cattlev1.HelmChartCondition{Type: cattlev1.ConditionFailed, Status: metav1.ConditionFalse}
	hr := in.Release
	of := func(kind string) metav1.Condition {
		for _, c := range hr.Status.Conditions {
			if c.Type == kind {
				return c
			}
		}
		return metav1.Condition{}
	}
	c := of(helmv2.ConditionReady)
	if !hr.DeletionTimestamp.IsZero() {
		ready.Message = "The HelmRelease is being deleted"
		return failed, ready
	}
	if c.Type == "" || c.ObservedGeneration != hr.Generation {
		if hr.Spec.Suspend || of(helmv2.ConditionSuspended).Status == metav1.ConditionTrue {
			ready.Reason, ready.Message = helmv2.ReasonSuspended, "The HelmRelease is suspended: changes have no effect"
			if before := helmChartCondition(in.Recorded, cattlev1.ConditionFailed); before.Type != "" {
				failed = before
			}
			return failed, ready
		}
		ready.Message = "The HelmRelease has not been reconciled yet"
		return failed, ready
	}
	ready.Status, ready.Reason, ready.Message = c.Status, c.Reason, c.Message
	if ready.Status != metav1.ConditionFalse || of(helmv2.ConditionFailing).Status != metav1.ConditionTrue && of(helmv2.ConditionStalled).Status != metav1.ConditionTrue {
		return failed, ready
	}
	failed.Status, failed.Reason, failed.Message = metav1.ConditionTrue, ready.Reason, ready.Message
	switch stalled := of(helmv2.ConditionStalled); {
	case in.Policy == cattlev1.FailurePolicyRetry:
		// As in k3s, only failures of other policies are final.
		failed.Status, failed.Reason = metav1.ConditionFalse, cattlev1.ReasonWaitsForChange
		failed.Message = "spec.failurePolicy retry waits for a change. " + ready.Message
	case stalled.Status == metav1.ConditionTrue && stalled.Reason == helmv2.ReasonClaimsKept:
		failed.Reason = cattlev1.ReasonClaimsKept
		failed.Message = "The release was not uninstalled, because it holds PersistentVolumeClaims (--helmchart-reinstall=protect). " + ready.Message
	}
	return failed, ready
}

// helmChartEvents returns an event for each failure whose reason is new, and for the first HelmRelease.
func helmChartEvents(in HelmChartInput, now cattlev1.HelmChartStatus) []Event {
	var all []Event
	before, after := helmChartCondition(in.Recorded, cattlev1.ConditionFailed), helmChartCondition(now, cattlev1.ConditionFailed)
	if (after.Status == metav1.ConditionTrue || after.Reason == cattlev1.ReasonWaitsForChange) && (before.Status != after.Status || before.Reason != after.Reason) {
		all = append(all, warning(after.Reason, after.Message, nil).about(helmv2.EventActionReconcile))
	}
	if c := helmChartCondition(now, cattlev1.ConditionJobCreated); c.Status == metav1.ConditionTrue && helmChartCondition(in.Recorded, cattlev1.ConditionJobCreated).Status != c.Status {
		all = append(all, normal(c.Reason, c.Message, nil).about(helmv2.EventActionReconcile))
	}
	return all
}

// helmChartCondition returns a condition of a HelmChart; zero if there is none.
func helmChartCondition(s cattlev1.HelmChartStatus, kind string) cattlev1.HelmChartCondition {
	if i := slices.IndexFunc(s.Conditions, func(c cattlev1.HelmChartCondition) bool { return c.Type == kind }); i >= 0 {
		return s.Conditions[i]
	}
	return cattlev1.HelmChartCondition{}
}

// TakenOver returns the status of a HelmRelease whose release another controller has made, with the
// newest revision and its objects. A nil list of objects is not known. Without a digest, the version
// of a chart from a registry is kept.
func TakenOver(recorded helmv2.HelmReleaseStatus, storageNamespace string, newest release.Revision, objects []release.Object) helmv2.HelmReleaseStatus {
	s := *recorded.DeepCopy()
	s.History, s.StorageNamespace = helmv2.Snapshots{snapshot(newest)}, storageNamespace
	s.LastAttemptedRevision, s.LastAttemptedRevisionDigest = newest.ChartVersion, ""
	if objects != nil {
		s.Inventory = inventory(objects)
	}
	return s
}

// HelmChartHandedOver returns the event about a release that stays for another controller.
func HelmChartHandedOver(release string) Event {
	return normal(cattlev1.EventReasonHandedOver, fmt.Sprintf("Pintle no longer manages this HelmChart: release '%s' stays installed", release), nil).
		about(helmv2.EventActionReconcile)
}

// HelmChartArchiveKept returns the event about an archive that could not be read again.
func HelmChartArchiveKept(why string) Event {
	return warning(cattlev1.ReasonArtifactFailed, "The archive of the chart could not be read again, and the last one is kept: "+why, nil).
		about(helmv2.EventActionReconcile)
}
