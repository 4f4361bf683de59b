// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/version"
)

// Metrics counts reconciliations and Helm actions. Its methods may be called concurrently. The
// zero value is not usable; see [New].
type Metrics struct {
	reconciliations   *prometheus.CounterVec
	reconcileDuration *prometheus.HistogramVec

	attempts *prometheus.CounterVec
	duration *prometheus.HistogramVec

	drift         *prometheus.CounterVec
	failures      *prometheus.CounterVec
	overrides     *prometheus.CounterVec
	interruptions *prometheus.CounterVec

	notifications *prometheus.CounterVec
	queued        prometheus.Gauge

	operations        *prometheus.CounterVec
	operationDuration *prometheus.HistogramVec
	operationWait     *prometheus.HistogramVec

	slotWaits  *prometheus.HistogramVec
	lockWaits  prometheus.Histogram
	downloads  *prometheus.HistogramVec
	downloaded prometheus.Counter

	workerWaits prometheus.Histogram

	releases *releaseCollector
	stats    *statsCollector
	// Switch has the metrics of a switch between controllers.
	Switch *Switch

	mu         sync.Mutex
	suspended  map[string]struct{}
	drifted    map[string]struct{}
	rolledBack map[string]struct{}

	clusters *prometheus.GaugeVec
	tokens   *prometheus.CounterVec
	// unreachable counts the connections to each host that get no answer.
	unreachable map[string]int
}

// Values of the label rule for reconciliations that evaluate no rule.
const (
	// RuleBlocked: an obstacle ended the reconciliation.
	RuleBlocked release.Rule = "Blocked"
	// RuleFinished: the reconciliation recorded the end of an action.
	RuleFinished release.Rule = "Finished"
	// RuleCached: nothing had changed since the reconciliation before.
	RuleCached release.Rule = "Cached"
)

// New returns Metrics that are registered with r. It fails if one of them is registered already.
func New(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		releases:    newReleaseCollector(),
		workerWaits: newWorkerWaits(),
		stats:       newStatsCollector(),
		Switch:      newSwitch(),
		suspended:   map[string]struct{}{},
		drifted:     map[string]struct{}{},
		rolledBack:  map[string]struct{}{},
		unreachable: map[string]int{},
		reconcileDuration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gotk_reconcile_duration_seconds",
			Help: "Duration of reconciliations and of Helm actions, which run between reconciliations, by HelmRelease.",
			// As in helm-controller, from 10 ms to half an hour.
			Buckets: prometheus.ExponentialBucketsRange(0.01, 1800, 10),
		}, []string{"kind", "name", "namespace"}),
		drift: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pintle_drift_objects_total",
			Help: "Number of live objects that differed from their release, by class: removed or changed, and by result: detected, corrected or failed. A difference that stays the same is detected once.",
		}, []string{"class", "result"}),
		notifications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pintle_notifications_total",
			Help: "Number of events for the events address, by result: sent, duplicate, refused, failed, expired, overflown or unsent. All but the first two were dropped.",
		}, []string{"result"}),
		queued: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pintle_notifications_queued",
			Help: "Number of events that wait to be posted to the events address, or are being posted.",
		}),
		reconciliations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pintle_helm_release_reconciliations_total",
			Help: "Number of reconciliations of HelmReleases, by the rule that applied.",
		}, []string{"rule"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pintle_helm_release_actions_total",
			Help: "Number of Helm actions, by action and result: success, failure, cancelled or waiting.",
		}, []string{"action", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "pintle_helm_release_action_duration_seconds",
			Help:    "Duration of Helm actions, including the wait for readiness.",
			Buckets: prometheus.ExponentialBuckets(0.1, 2, 14),
		}, []string{"action"}),
	}
	build, i := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "pintle_build_info",
		Help: "1, with the version and the commit of the controller, and the versions of Go and of the Helm SDK.",
	}, []string{"go_version", "helm_version", "revision", "version"}), version.Read()
	build.WithLabelValues(i.Go, i.Helm, i.Revision, i.Version).Set(1)
	// Prometheus sees no increase in the first value of a series, so the alert would miss one event.
	for _, result := range []string{"sent", "duplicate", "refused", "failed", "expired", "overflown", "unsent"} {
		m.notifications.WithLabelValues(result)
	}
	m.newOperationMetrics()
	m.newWaitMetrics()
	m.newFailureMetrics()
	for _, c := range append(releaseGauges(m), []prometheus.Collector{
		m.reconciliations, m.reconcileDuration, m.attempts, m.duration, m.drift, m.operations, m.operationDuration, m.operationWait,
		m.notifications, m.queued, m.clusters, m.tokens, build,
		m.failures, m.overrides, m.interruptions, m.slotWaits, m.lockWaits, m.downloads, m.downloaded, m.workerWaits, m.releases, m.stats, m.Switch.standby, m.Switch.results,
	}...) {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) newOperationMetrics() {
	m.operations = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pintle_operations_total",
		Help: "Number of Operations that have ended, by engine, phase and reason.",
	}, []string{"engine", "phase", "reason"})
	m.operationDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "pintle_operation_duration_seconds",
		Help:    "Time from the start of an Operation's first Job to its end. Operations that ran no Job are not counted.",
		Buckets: prometheus.ExponentialBuckets(0.5, 2, 14),
	}, []string{"engine", "phase"})
	m.operationWait = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "pintle_operation_wait_seconds",
		Help:    "Time from the creation of an Operation to the start of its first Job. Operations that ran no Job are not counted.",
		Buckets: prometheus.ExponentialBuckets(0.5, 2, 14),
	}, []string{"engine"})
}

func (m *Metrics) newFailureMetrics() {
	m.clusters = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "pintle_cluster_unreachable",
		Help: "Number of kubeconfigs whose cluster does not answer, or answers reads slowly or with errors, by the address of its API server. Such a cluster receives only probes.",
	}, []string{"host"})
	m.failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pintle_helm_release_failures_total",
		Help: "Number of Helm actions that failed because of an object, a hook or a test, by failure cause.",
	}, []string{"reason"})
	m.overrides = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pintle_policy_overrides_total",
		Help: "Number of Helm actions that have started although a gate of policies holds them, because a user has overridden it, by gate: Frozen or AwaitingWindow. Event and history name the user.",
	}, []string{"gate"})
	m.interruptions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pintle_helm_release_interruptions_total",
		Help: "Number of Helm actions that ended because a server did not answer, or no process could render the chart. They are tried again, and are neither failures nor in pintle_helm_release_actions_total.",
	}, []string{"action"})
	// Name and labels as in helm-controller.
	m.tokens = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gotk_token_cache_events_total",
		Help: "Number of reconciliations that needed a token for another cluster, by HelmRelease and result: cache_hit or cache_miss.",
	}, []string{"event_type", "kind", "name", "namespace", "operation"})
}

// TokenRequested counts a reconciliation that needed a token for another cluster. cached is true
// if the token cache had one.
func (m *Metrics) TokenRequested(hr types.NamespacedName, cached bool) {
	event := "cache_miss"
	if cached {
		event = "cache_hit"
	}
	m.tokens.WithLabelValues(event, helmv2.HelmReleaseKind, hr.Name, hr.Namespace, "reconcile").Inc()
}

func (m *Metrics) newWaitMetrics() {
	m.slotWaits = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "pintle_helm_release_action_wait_seconds",
		Help:    "Time from the announcement of a Helm action to its start, which waits for a slot. Actions that never started are not counted.",
		Buckets: prometheus.ExponentialBuckets(0.01, 4, 9),
	}, []string{"action"})
	m.lockWaits = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "pintle_helm_release_lock_wait_seconds",
		Help:    "Time for which the lock of an Operation kept Helm from a release, observed when the lock is released. Whole seconds.",
		Buckets: prometheus.ExponentialBuckets(1, 3, 9),
	})
	m.downloads = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "pintle_chart_download_duration_seconds",
		Help:    "Duration of chart downloads, retries included, by result: success or failure.",
		Buckets: prometheus.ExponentialBuckets(0.01, 4, 8),
	}, []string{"result"})
	m.downloaded = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "pintle_chart_downloaded_bytes_total",
		Help: "Number of bytes of charts that were downloaded.",
	})
}

// LockWaited observes the time for which the lock of an Operation kept Helm from a release.
func (m *Metrics) LockWaited(d time.Duration) { m.lockWaits.Observe(max(0, d).Seconds()) }

// Downloaded counts a download that has ended. err is nil if it succeeded, and size is in bytes.
func (m *Metrics) Downloaded(took time.Duration, size int64, err error) {
	result := "success"
	if err != nil {
		result = "failure"
	}
	m.downloads.WithLabelValues(result).Observe(took.Seconds())
	m.downloaded.Add(float64(size))
}

// Reconciliation counts a reconciliation. rule is the name of a rule of package release, or one of
// the constants above.
func (m *Metrics) Reconciliation(rule release.Rule) {
	m.reconciliations.WithLabelValues(string(rule)).Inc()
}

// Overridden counts an action that has started by an override of gates; names may be empty.
func (m *Metrics) Overridden(names []string) {
	for _, gate := range names {
		m.overrides.WithLabelValues(gate).Inc()
	}
}

// Notified counts an event for the events address that has left the queue, with its result.
func (m *Metrics) Notified(result string) { m.notifications.WithLabelValues(result).Inc() }

// releaseGauges returns the gauges that count HelmReleases.
func releaseGauges(m *Metrics) []prometheus.Collector {
	gauge := func(name, help string, set map[string]struct{}) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "pintle_helm_releases_" + name, Help: help}, m.sizeOf(set))
	}
	return []prometheus.Collector{
		gauge("suspended", "Number of HelmReleases that are suspended, by spec or by annotation.", m.suspended),
		gauge("drifted", "Number of HelmReleases whose live objects differ from the release.", m.drifted),
		gauge("rolled_back", "Number of HelmReleases that an annotation holds at a stored revision.", m.rolledBack),
	}
}

// NotificationsQueued adds change to the number of queued events.
func (m *Metrics) NotificationsQueued(change int) { m.queued.Add(float64(change)) }

// ReconcileDuration observes the duration of a reconciliation of a HelmRelease, or of one of its
// actions.
func (m *Metrics) ReconcileDuration(hr types.NamespacedName, took time.Duration) {
	m.reconcileDuration.WithLabelValues(helmv2.HelmReleaseKind, hr.Name, hr.Namespace).Observe(took.Seconds())
}

// Forget removes the series of a HelmRelease that no longer exists.
func (m *Metrics) Forget(hr types.NamespacedName) {
	m.reconcileDuration.DeleteLabelValues(helmv2.HelmReleaseKind, hr.Name, hr.Namespace)
	m.tokens.DeletePartialMatch(prometheus.Labels{"name": hr.Name, "namespace": hr.Namespace})
	m.Suspended(hr.String(), false)
	m.Drifted(hr.String(), false)
	m.RolledBack(hr.String(), false)
	m.releases.mu.Lock()
	defer m.releases.mu.Unlock()
	delete(m.releases.succeeded, hr)
	m.Switch.forget(hr)
}

// Suspended records whether a HelmRelease is suspended. key identifies the HelmRelease, and does
// not become a label.
func (m *Metrics) Suspended(key string, is bool) { m.record(m.suspended, key, is) }

// Drifted records whether live objects of a HelmRelease differ from the release. key is as for
// Suspended.
func (m *Metrics) Drifted(key string, is bool) { m.record(m.drifted, key, is) }

// RolledBack records whether a HelmRelease is held at an earlier revision. key is as for Suspended.
func (m *Metrics) RolledBack(key string, is bool) { m.record(m.rolledBack, key, is) }

// DriftDetected counts objects whose drift was reported for the first time.
func (m *Metrics) DriftDetected(objects []release.DriftedObject) {
	m.countDrift(objects, "detected")
}

func (m *Metrics) countDrift(objects []release.DriftedObject, result string) {
	for _, o := range objects {
		class := "changed"
		if o.Removed {
			class = "removed"
		}
		m.drift.WithLabelValues(class, result).Inc()
	}
}

func (m *Metrics) record(set map[string]struct{}, key string, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is {
		set[key] = struct{}{}
		return
	}
	delete(set, key)
}

func (m *Metrics) sizeOf(set map[string]struct{}) func() float64 {
	return func() float64 {
		m.mu.Lock()
		defer m.mu.Unlock()
		return float64(len(set))
	}
}

// Attempt counts an action that has ended and whose outcome is recorded in status.
func (m *Metrics) Attempt(o release.Outcome) {
	action := release.Name(o.Action)
	if o.Interrupted != nil && !o.Cancelled {
		m.interruptions.WithLabelValues(action).Inc()
		return
	}
	result := "success"
	switch {
	case o.Cancelled, o.ResumedElsewhere():
		result = "cancelled"
	case len(o.Owners) > 0, o.Deferred():
		result = "waiting"
	case o.Err != nil, len(o.Failed) > 0:
		result = "failure"
	}
	if o.Diagnosis != nil && !o.Cancelled {
		m.failures.WithLabelValues(o.Diagnosis.Code).Inc()
	}
	m.attempts.WithLabelValues(action, result).Inc()
	m.duration.WithLabelValues(action).Observe(o.Ended.Sub(o.Started).Truncate(time.Millisecond).Seconds())
	if !o.Announced.IsZero() && !o.Started.IsZero() {
		m.slotWaits.WithLabelValues(action).Observe(max(0, o.Started.Sub(o.Announced)).Seconds())
	}
	for _, object := range o.Corrected {
		result := "corrected"
		if slices.ContainsFunc(o.Failed, func(e release.ObjectError) bool { return e.Object == object.Object }) {
			result = "failed"
		}
		m.countDrift([]release.DriftedObject{object}, result)
	}
}

// ClusterUnreachable adds or removes one of the connections to host that get no answer.
func (m *Metrics) ClusterUnreachable(host string, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is {
		m.unreachable[host]++
	} else {
		m.unreachable[host]--
	}
	if m.unreachable[host] <= 0 {
		delete(m.unreachable, host)
		m.clusters.DeleteLabelValues(host)
		return
	}
	m.clusters.WithLabelValues(host).Set(float64(m.unreachable[host]))
}

// Operation counts an Operation that has ended. took is the time since the start of its first Job,
// and waited the time before. Both are zero if no Job ran.
func (m *Metrics) Operation(engine, phase, reason string, took, waited time.Duration) {
	m.operations.WithLabelValues(engine, phase, reason).Inc()
	if took > 0 || waited > 0 {
		m.operationDuration.WithLabelValues(engine, phase).Observe(took.Seconds())
		m.operationWait.WithLabelValues(engine).Observe(waited.Seconds())
	}
}

// Collect registers a function that fills in the fields of Stats that it has values for. It is
// called at every scrape, also concurrently. Collect itself may be called at any time.
func (m *Metrics) Collect(collect func(*Stats)) {
	m.stats.mu.Lock()
	defer m.stats.mu.Unlock()
	n := len(m.stats.collects)
	m.stats.collects = append(m.stats.collects[:n:n], collect)
}

// Read returns the present sizes and counts of the parts.
func Read(m *Metrics) Stats { return m.stats.read() }

// Releases enables the series of HelmReleases until end is called. Each scrape builds them from the
// HelmReleases that listing yields. now decides whether a suspension with an end is over.
func (m *Metrics) Releases(listing Listing, now func() time.Time) (end func()) {
	set := func(l Listing) {
		m.releases.mu.Lock()
		defer m.releases.mu.Unlock()
		m.releases.listing, m.releases.now = l, now
	}
	set(listing)
	return func() { set(nil) }
}

// Succeeded records that a HelmRelease was in sync at a time.
func (m *Metrics) Succeeded(hr types.NamespacedName, at time.Time) {
	m.releases.mu.Lock()
	defer m.releases.mu.Unlock()
	m.releases.succeeded[hr] = at.Unix()
}
