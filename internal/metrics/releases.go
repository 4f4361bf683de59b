// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"iter"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Listing yields the HelmReleases there are, which are not changed and not kept.
type Listing func() iter.Seq[*helmv2.HelmRelease]

// maxText bounds what a label takes over from a chart, in bytes: its author may
// write anything there.
const maxText = 63

// otherReason stands for reasons that are not this controller's, of which there
// may be any number.
const otherReason = "Other"

// releases makes the series of each HelmRelease when metrics are read. Between two
// reads it holds of each only when it was last found as wanted.
type releases struct {
	info, status, since, lastSuccess *prometheus.Desc
	// reasons are those that may be a label.
	reasons map[string]struct{}

	mu      sync.Mutex
	listing Listing
	now     func() time.Time
	// succeeded is in seconds since 1970.
	succeeded map[types.NamespacedName]int64
}

func newReleases() *releases {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("pintle_helm_release_"+name, help, append([]string{"namespace", "name"}, labels...), nil)
	}
	return &releases{
		reasons:     knownReasons(),
		succeeded:   map[types.NamespacedName]int64{},
		info:        desc("info", "1 for each HelmRelease. The chart and the number are of the newest revision, and empty if there is none.", "source_kind", "source_name", "chart_name", "chart_version", "app_version", "revision", "suspended"),
		status:      desc("reconciliation_status", "1 for each HelmRelease, with status and reason of its condition Ready; Unknown without a reason if it has none.", "status", "reason"),
		since:       desc("condition_since_timestamp_seconds", "Time since when a condition has its status: Ready, Stalled, Drifted or Held. It has no series where the condition is absent.", "condition", "status"),
		lastSuccess: desc("last_success_timestamp_seconds", "Time at which the HelmRelease was last found as wanted. It has no series before the first time since the controller started."),
	}
}

// Describe implements prometheus.Collector.
func (c *releases) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.info, c.status, c.since, c.lastSuccess} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. What is not listed has no series.
func (c *releases) Collect(ch chan<- prometheus.Metric) {
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

func (c *releases) collect(send func(*prometheus.Desc, float64, ...*dto.LabelPair), label labels, hr *helmv2.HelmRelease, now time.Time) {
	namespace, name := label.of("namespace", hr.Namespace), label.of("name", hr.Name)
	status, reason := metav1.ConditionUnknown, ""
	for i := range hr.Status.Conditions {
		condition := &hr.Status.Conditions[i]
		if condition.Type == helmv2.ConditionReady {
			status, reason = known(condition.Status), c.bounded(condition.Reason)
		}
		switch condition.Type {
		case helmv2.ConditionReady, helmv2.ConditionStalled, helmv2.ConditionDrifted, helmv2.ConditionHeld:
			send(c.since, float64(condition.LastTransitionTime.Unix()),
				label.of("condition", condition.Type), name, namespace, label.of("status", string(known(condition.Status))))
		}
	}
	send(c.status, 1, name, namespace, label.of("reason", reason), label.of("status", string(status)))
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
	send(c.info, 1, label.of("app_version", short(newest.AppVersion)), label.of("chart_name", short(newest.ChartName)),
		label.of("chart_version", short(newest.ChartVersion)), name, namespace, label.of("revision", revision),
		label.of("source_kind", kind), label.of("source_name", source), label.of("suspended", strconv.FormatBool(suspended)))
}

// labels are shared by all series of one read: most releases have most of them in
// common, and the library's own way makes each anew.
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

// sample is one series, its labels in the order of their names.
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

func (c *releases) successOf(key types.NamespacedName) (at int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok = c.succeeded[key]
	return at, ok
}

func (c *releases) bounded(reason string) string {
	if _, ok := c.reasons[reason]; ok {
		return reason
	}
	return otherReason
}

// known keeps to the three there are: any string may be written there.
func known(s metav1.ConditionStatus) metav1.ConditionStatus {
	if s == metav1.ConditionTrue || s == metav1.ConditionFalse {
		return s
	}
	return metav1.ConditionUnknown
}

// sourceOf returns what the spec names, which for spec.chart is the repository and
// not the HelmChart that is made of it.
func sourceOf(hr *helmv2.HelmRelease) (kind, name string) {
	switch {
	case hr.Spec.ChartRef != nil:
		return hr.Spec.ChartRef.Kind, hr.Spec.ChartRef.Name
	case hr.Spec.Chart != nil:
		return hr.Spec.Chart.Spec.SourceRef.Kind, hr.Spec.Chart.Spec.SourceRef.Name
	}
	return "", ""
}

// short cuts a text off where a character ends.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// knownReasons are those that api/v2 names, without three that only helm-controller
// has.
func knownReasons() map[string]struct{} {
	known := map[string]struct{}{}
	for _, reason := range []string{
		helmv2.ReasonProgressing, helmv2.ReasonProgressingWithRetry, helmv2.ReasonDependencyNotReady, helmv2.ReasonInvalidCELExpression,
		helmv2.ReasonAccessDenied, helmv2.ReasonArtifactFailed, helmv2.ReasonSourceNotReady, helmv2.ReasonValuesError,
		helmv2.ReasonChartMutateError, helmv2.ReasonRESTClientError,
		helmv2.ReasonStateError, helmv2.ReasonHealthCheckCanceled, helmv2.ReasonRetriesExceeded,
		helmv2.ReasonMissingRollbackTarget, helmv2.ReasonInstallSucceeded, helmv2.ReasonInstallFailed, helmv2.ReasonUpgradeSucceeded,
		helmv2.ReasonUpgradeFailed, helmv2.ReasonAwaitingTests, helmv2.ReasonTestSucceeded, helmv2.ReasonTestFailed,
		helmv2.ReasonRollbackSucceeded, helmv2.ReasonRollbackFailed, helmv2.ReasonUninstallSucceeded, helmv2.ReasonUninstallFailed,
		helmv2.ReasonPendingRelease, helmv2.ReasonDriftDetected, helmv2.ReasonNoDriftDetected, helmv2.ReasonDriftCorrected,
		helmv2.ReasonDriftCorrectionFailed, helmv2.ReasonUnsupportedField, helmv2.ReasonContested, helmv2.ReasonSuspended,
		helmv2.ReasonOperationRunning, helmv2.ReasonOperationWaiting, helmv2.ReasonReleaseTooLarge, helmv2.ReasonObjectsOwned,
		helmv2.ReasonInterrupted, helmv2.ReasonTargetUnavailable,
	} {
		known[reason] = struct{}{}
	}
	return known
}

// Releases makes series of all HelmReleases that listing yields whenever metrics
// are read, until end is called. While nobody reads them, it costs nothing. now tells
// which suspensions are over.
func (m *Metrics) Releases(listing Listing, now func() time.Time) (end func()) {
	set := func(l Listing) {
		m.releases.mu.Lock()
		defer m.releases.mu.Unlock()
		m.releases.listing, m.releases.now = l, now
	}
	set(listing)
	return func() { set(nil) }
}

// Succeeded notes that a HelmRelease is as wanted.
func (m *Metrics) Succeeded(hr types.NamespacedName, at time.Time) {
	m.releases.mu.Lock()
	defer m.releases.mu.Unlock()
	m.releases.succeeded[hr] = at.Unix()
}
