// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/brief"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// maxLogLines is the number of Helm's last log lines in an event, and maxLogLine their maximum
// length in bytes. Together with the logs of one Pod they are shorter than maxMessage.
const (
	maxLogLines = 10
	maxLogLine  = 512
)

// Event is a Kubernetes event to emit.
type Event struct {
	// Type is Normal or Warning.
	Type   string
	Reason string
	// Action is the stage of the reconciliation that the event is about.
	Action  string
	Message string
	// Metadata are annotations of the event; nil for none.
	Metadata map[string]string
	// Trace events are recorded on the API server and not posted to the notification-controller.
	Trace bool
	// Repeated events equal the last event of the object. They raise its count on the API server, and
	// are not posted to the notification-controller.
	Repeated bool
}

// LeftBehind returns the event about a release that stays in the former cluster.
func LeftBehind(message string) Event { return warning(helmv2.EventReasonLeftBehind, message, nil) }

// DependentsLeft returns the event about the HelmReleases that depend on a deleted one whose
// release is uninstalled nevertheless.
func DependentsLeft(d release.Decision, in release.Input) []Event {
	if _, uninstall := d.Action.(release.Uninstall); !uninstall || !in.Desired.Deleted {
		return nil
	}
	message := release.DependentsMessage(in)
	if message == "" {
		return nil
	}
	return []Event{warning(helmv2.EventReasonDependentsLeft, message, nil)}
}

// SourceApplied returns the event about the source of spec.chart that was created or changed. origin
// names where its chart comes from.
func SourceApplied(kind string, key types.NamespacedName, origin string, created bool) Event {
	reason, verb := helmv2.EventReasonHelmChartConfigured, "Configured"
	if created {
		reason, verb = helmv2.EventReasonHelmChartCreated, "Created"
	}
	return trace(reason, fmt.Sprintf("%s %s with %s", verb, sourceText(kind, key), origin))
}

// SourceFailed returns the event about the source of spec.chart that could not be applied.
func SourceFailed(message string) Event {
	return trace(helmv2.EventReasonHelmChartSyncError, message)
}

// SourceDeleted returns the event about the source of spec.chart that was deleted.
func SourceDeleted(kind string, key types.NamespacedName) Event {
	return trace(helmv2.EventReasonHelmChartDeleted, "Deleted "+sourceText(kind, key))
}

// SourceLeft returns the event about the source of spec.chart that was not deleted, because its
// HelmRelease must not refer to another namespace.
func SourceLeft(kind string, key types.NamespacedName) Event {
	return warning(helmv2.ReasonAccessDenied, "cross-namespace references are not allowed: left behind "+sourceText(kind, key), nil)
}

func sourceText(kind string, key types.NamespacedName) string { return kind + "/" + key.String() }

// ChartRefusedNext returns the event about a release that a policy leaves as it is, and whose next
// change it refuses.
func ChartRefusedNext(r policy.Refusal) Event {
	return warning(helmv2.ReasonPolicyRefused, fmt.Sprintf("%s refuses %s: %s. The installed release stays. Its next install or upgrade is refused.", r.Policy, r.Field, r.Why), nil)
}

func trace(reason, message string) Event {
	e := normal(reason, message, nil)
	e.Trace = true
	return e
}

func normal(reason, message string, metadata map[string]string) Event {
	return event(corev1.EventTypeNormal, reason, message, metadata)
}

func warning(reason, message string, metadata map[string]string) Event {
	return event(corev1.EventTypeWarning, reason, message, metadata)
}

func event(kind, reason, message string, metadata map[string]string) Event {
	return Event{Type: kind, Reason: reason, Action: eventAction(reason), Message: message, Metadata: metadata}
}

func snapshotMetadata(s *helmv2.Snapshot) map[string]string {
	if s == nil {
		return nil
	}
	return metadata(s.ChartVersion, s.ConfigDigest, s.AppVersion, s.OCIDigest)
}

func revisionMetadata(r *release.Revision) map[string]string {
	return metadata(r.ChartVersion, r.ConfigDigest, r.AppVersion, "")
}

func desiredMetadata(d release.Desired) map[string]string {
	return metadata(d.Chart.Version, d.ConfigDigest, d.Chart.AppVersion, d.Chart.OCIDigest)
}

func metadata(revision, token, appVersion, ociDigest string) map[string]string {
	m := map[string]string{}
	for key, value := range map[string]string{
		helmv2.EventMetadataRevision:   revision,
		helmv2.EventMetadataToken:      token,
		helmv2.EventMetadataAppVersion: appVersion,
		helmv2.EventMetadataOCIDigest:  ociDigest,
	} {
		if value != "" {
			m[key] = value
		}
	}
	return m
}

// withDiagnosis returns the annotations of the event of a failure: the given ones, the code
// of the cause, the object and the details of the diagnosis, and the last lines of logs. None of these is in the
// message, so that events of equal failures have equal messages.
func withDiagnosis(metadata map[string]string, o release.Outcome) map[string]string {
	var containers []release.ContainerLog
	all := map[string]string{}
	if code := causeOf(o).Code; code != "" {
		all[helmv2.EventMetadataFailure] = code
	}
	if d := o.Diagnosis; d != nil {
		all[helmv2.EventMetadataObject] = d.Object.Kind + "/" + d.Object.Namespace + "/" + d.Object.Name
		if len(d.Details) > 0 {
			all[helmv2.EventMetadataDetails] = storable(strings.Join(d.Details, "\n"))
		}
		containers = d.Logs
	}
	maps.Copy(all, metadata)
	return withLogs(all, containers, o.Logs)
}

// withLogs adds the last lines of logs of containers and of Helm to the annotations of an event.
func withLogs(metadata map[string]string, containers []release.ContainerLog, helm []string) map[string]string {
	logs := message.Logs(containers, helmLogs(helm))
	if logs == "" {
		return metadata
	}
	all := map[string]string{helmv2.EventMetadataLogs: storable(logs)}
	maps.Copy(all, metadata)
	return all
}

// helmLogs returns the last lines that Helm has logged.
func helmLogs(lines []string) []string {
	lines = slices.Clone(lines[max(0, len(lines)-maxLogLines):])
	for i := range lines {
		lines[i] = brief.Cut(lines[i], maxLogLine)
	}
	return lines
}

// Observed returns the event of a process that only observes, about what would be done to a release.
// result is the reason. A problem is reported as a warning. No action has run.
func Observed(result, message string, problem bool) Event {
	kind := corev1.EventTypeNormal
	if problem {
		kind = corev1.EventTypeWarning
	}
	return event(kind, result, message, nil).about(helmv2.EventActionReconcile)
}
