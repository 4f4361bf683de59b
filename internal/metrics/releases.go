// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"iter"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/brief"
	"github.com/pintle-dev/pintle/internal/release"
)

// Listing yields all HelmReleases. The collector neither changes nor keeps them.
type Listing func() iter.Seq[*helmv2.HelmRelease]

// maxText is the longest label value in bytes that is taken from a chart. The author of a chart
// can write any text there.
const maxText = 63

// otherReason replaces reasons that this controller does not define, to bound the number of
// series.
const otherReason = "Other"

// releaseCollector builds the series of each HelmRelease when metrics are scraped. Between
// scrapes it stores only the time of the last success of each.
type releaseCollector struct {
	info, status, since, lastSuccess *prometheus.Desc
	// reasons and causes are the permitted values of the labels reason and cause.
	reasons, causes map[string]struct{}

	mu      sync.Mutex
	listing Listing
	now     func() time.Time
	// succeeded is in seconds since the Unix epoch.
	succeeded map[types.NamespacedName]int64
}

func newReleaseCollector() *releaseCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("pintle_helm_release_"+name, help, append([]string{"namespace", "name"}, labels...), nil)
	}
	return &releaseCollector{
		reasons:     knownReasons(),
		causes:      knownCauses(),
		succeeded:   map[types.NamespacedName]int64{},
		info:        desc("info", "1 for each HelmRelease. Chart and revision are those of the newest revision, and empty if there is none.", "source_kind", "source_name", "chart_name", "chart_version", "app_version", "revision", "suspended"),
		status:      desc("reconciliation_status", "1 for each HelmRelease, with status and reason of its condition Ready; Unknown without a reason if it has none. The cause is the failure code.", "status", "reason", "cause"),
		since:       desc("condition_since_timestamp_seconds", "Time of the last transition of a condition: Ready, Stalled, Drifted, Locked or RolledBack. An absent condition has no series.", "condition", "status"),
		lastSuccess: desc("last_success_timestamp_seconds", "Time at which the HelmRelease was last in sync. It has no series before the first time since the controller started."),
	}
}

// Describe implements prometheus.Collector.
func (c *releaseCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.info, c.status, c.since, c.lastSuccess} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. Without a listing there are no series.
func (c *releaseCollector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	listing, now := c.listing, c.now
	c.mu.Unlock()
	if listing == nil {
		return
	}
	at, shared := now(), labels{}
	send := func(d *prometheus.Desc, value float64, all ...*dto.LabelPair) {
		ch <- &sample{desc: d, labels: all, value: value}
	}
	for hr := range listing() {
		c.collect(send, shared, hr, at)
	}
}

func (c *releaseCollector) collect(send func(*prometheus.Desc, float64, ...*dto.LabelPair), label labels, hr *helmv2.HelmRelease, now time.Time) {
	namespace, name := label.of("namespace", hr.Namespace), label.of("name", hr.Name)
	status, reason, cause := metav1.ConditionUnknown, "", ""
	for i := range hr.Status.Conditions {
		condition := &hr.Status.Conditions[i]
		if condition.Type == helmv2.ConditionReady {
			status, reason = known(condition.Status), bound(c.reasons, condition.Reason)
		}
		if condition.Type == helmv2.ConditionFailing {
			cause = bound(c.causes, condition.Reason)
		}
		switch condition.Type {
		case helmv2.ConditionReady, helmv2.ConditionStalled, helmv2.ConditionDrifted, helmv2.ConditionLocked, helmv2.ConditionRolledBack:
			send(c.since, float64(condition.LastTransitionTime.Unix()),
				label.of("condition", condition.Type), name, namespace, label.of("status", string(known(condition.Status))))
		}
	}
	send(c.status, 1, label.of("cause", cause), name, namespace, label.of("reason", reason), label.of("status", string(status)))
	if at, ok := c.successOf(types.NamespacedName{Namespace: hr.Namespace, Name: hr.Name}); ok {
		send(c.lastSuccess, float64(at), name, namespace)
	}

	var newest helmv2.Snapshot
	revision := ""
	if len(hr.Status.History) > 0 && hr.Status.History[0] != nil {
		newest = *hr.Status.History[0]
		revision = strconv.Itoa(newest.Version)
	}
	kind, source := sourceOf(hr)
	suspended := release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, now).Active
	send(c.info, 1, label.of("app_version", brief.Cut(newest.AppVersion, maxText)), label.of("chart_name", brief.Cut(newest.ChartName, maxText)),
		label.of("chart_version", brief.Cut(newest.ChartVersion, maxText)), name, namespace, label.of("revision", revision),
		label.of("source_kind", kind), label.of("source_name", source), label.of("suspended", strconv.FormatBool(suspended)))
}

// labels are shared by all series of one scrape. Most releases have most labels in common, and
// prometheus.NewConstMetric would allocate each of them again.
type labels map[labelOf]*dto.LabelPair

type labelOf struct{ name, value string }

func (l labels) of(name, value string) *dto.LabelPair {
	key := labelOf{name, value}
	pair, ok := l[key]
	if !ok {
		pair = &dto.LabelPair{Name: &key.name, Value: &key.value}
		l[key] = pair
	}
	return pair
}

// sample is one series. Its labels are sorted by name, as the Prometheus library requires.
type sample struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair
	gauge  dto.Gauge
	value  float64
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(out *dto.Metric) error {
	s.gauge.Value = &s.value
	out.Label, out.Gauge = s.labels, &s.gauge
	return nil
}

func (c *releaseCollector) successOf(key types.NamespacedName) (at int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok = c.succeeded[key]
	return at, ok
}

// bound returns a value if it is permitted, or else otherReason.
func bound(permitted map[string]struct{}, value string) string {
	if _, ok := permitted[value]; ok {
		return value
	}
	return otherReason
}

// known returns one of the three defined statuses, Unknown for any other string.
func known(s metav1.ConditionStatus) metav1.ConditionStatus {
	if s == metav1.ConditionTrue || s == metav1.ConditionFalse {
		return s
	}
	return metav1.ConditionUnknown
}

// sourceOf returns the source that the spec names. For spec.chart of kind HelmChart that is the
// repository, not the HelmChart that the controller creates.
func sourceOf(hr *helmv2.HelmRelease) (kind, name string) {
	switch {
	case hr.Spec.ChartRef != nil:
		return hr.Spec.ChartRef.Kind, hr.Spec.ChartRef.Name
	case hr.Spec.Chart != nil && hr.Spec.Chart.GetKind() == helmv2.KindOCIRepository:
		return helmv2.KindOCIRepository, hr.GetHelmChartName()
	case hr.Spec.Chart != nil:
		return hr.Spec.Chart.Spec.SourceRef.Kind, hr.Spec.Chart.Spec.SourceRef.Name
	}
	return "", ""
}

// knownCauses returns the values that the reason of condition Failing may have: the failure codes, and the
// reasons of obstacles.
func knownCauses() map[string]struct{} {
	known := knownReasons()
	for _, code := range helmv2.FailureCodes() {
		known[code] = struct{}{}
	}
	return known
}

// knownReasons returns the reasons of api/v2, except three that only helm-controller uses.
func knownReasons() map[string]struct{} {
	known := map[string]struct{}{}
	for _, reason := range []string{
		helmv2.ReasonProgressing, helmv2.ReasonProgressingWithRetry, helmv2.ReasonDependencyNotReady, helmv2.ReasonInvalidCELExpression,
		helmv2.ReasonAccessDenied, helmv2.ReasonArtifactFailed, helmv2.ReasonSourceNotReady, helmv2.ReasonValuesError,
		helmv2.ReasonChartMutateError, helmv2.ReasonRESTClientError,
		helmv2.ReasonStateError, helmv2.ReasonHealthCheckCanceled, helmv2.ReasonRetriesExceeded, helmv2.ReasonClaimsKept,
		helmv2.ReasonMissingRollbackTarget, helmv2.ReasonInstallSucceeded, helmv2.ReasonInstallFailed, helmv2.ReasonUpgradeSucceeded,
		helmv2.ReasonUpgradeFailed, helmv2.ReasonAwaitingTests, helmv2.ReasonTestSucceeded, helmv2.ReasonTestFailed,
		helmv2.ReasonRollbackSucceeded, helmv2.ReasonRollbackFailed, helmv2.ReasonUninstallSucceeded, helmv2.ReasonUninstallFailed,
		helmv2.ReasonPendingRelease, helmv2.ReasonDriftDetected, helmv2.ReasonNoDriftDetected, helmv2.ReasonDriftCorrected,
		helmv2.ReasonDriftCorrectionFailed, helmv2.ReasonUnsupportedField, helmv2.ReasonContested, helmv2.ReasonSuspended,
		helmv2.ReasonOperationRunning, helmv2.ReasonOperationWaiting, helmv2.ReasonReleaseTooLarge, helmv2.ReasonObjectsOwned, helmv2.ReasonDryRunDenied,
		helmv2.ReasonInterrupted, helmv2.ReasonTargetUnavailable, helmv2.ReasonRolledBack, helmv2.ReasonRollbackRefused,
		helmv2.ReasonRollbackExpired, helmv2.ReasonPolicyUnavailable, helmv2.ReasonPolicyRefused, helmv2.ReasonPlanFailed, helmv2.ReasonFrozen, helmv2.ReasonAwaitingWindow, helmv2.ReasonAwaitingRollout, helmv2.ReasonBaking,
		helmv2.ReasonAwaitingApproval, helmv2.ReasonRejected, helmv2.ReasonDriftCeded, helmv2.ReasonSuspensionExpired,
	} {
		known[reason] = struct{}{}
	}
	return known
}
