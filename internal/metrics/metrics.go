// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics defines what the controller counts. It is called from one
// place, after the write it counts. Nothing is labelled with names of objects but
// what the reference labels so, and that goes with the object.
package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Metrics counts visits and attempts. It may be used concurrently; the zero
// value may not.
type Metrics struct {
	visits   *prometheus.CounterVec
	attempts *prometheus.CounterVec
	duration *prometheus.HistogramVec

	reconciled *prometheus.HistogramVec

	drift         *prometheus.CounterVec
	failures      *prometheus.CounterVec
	interruptions *prometheus.CounterVec

	notifications *prometheus.CounterVec
	queued        prometheus.Gauge
	operations    *prometheus.CounterVec
	took          *prometheus.HistogramVec
	waited        *prometheus.HistogramVec

	slotWaits  *prometheus.HistogramVec
	lockWaits  prometheus.Histogram
	downloads  *prometheus.HistogramVec
	downloaded prometheus.Counter

	releases *releases
	figures  *figures

	mu        sync.Mutex
	suspended map[string]struct{}
	drifted   map[string]struct{}

	clusters *prometheus.GaugeVec
	tokens   *prometheus.CounterVec
	// unreachable counts the ways to a host that lead nowhere.
	unreachable map[string]int
}

// Reasons a visit ends without a rule.
const (
	RuleBlocked  = "Blocked"
	RuleFinished = "Finished"
	RuleCached   = "Cached"
)

// New registers the metrics with r.
func New(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		releases:    newReleases(),
		figures:     newFigures(),
		suspended:   map[string]struct{}{},
		drifted:     map[string]struct{}{},
		unreachable: map[string]int{},
		reconciled: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gotk_reconcile_duration_seconds",
			Help: "Time reconciliations took, by HelmRelease: of each visit, and of each Helm action, which goes on between visits.",
			// The reference's, from 10 ms to half an hour.
			Buckets: prometheus.ExponentialBucketsRange(0.01, 1800, 10),
		}, []string{"kind", "name", "namespace"}),
		drift: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pintle_drift_objects_total",
			Help: "Live objects that were not as their release has them, by class: removed or changed, and by result: detected, corrected or failed. One that is found unchanged again is not detected again.",
		}, []string{"class", "result"}),
		notifications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pintle_notifications_total",
			Help: "Events for the events address by what became of them: sent, duplicate, refused, failed, expired, overflown or unsent. All but the first two were dropped.",
		}, []string{"result"}),
		queued: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pintle_notifications_queued",
			Help: "Events that wait to be posted to the events address, or are being posted.",
		}),
		visits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pintle_helm_release_reconciliations_total",
			Help: "Visits to HelmReleases by the rule that applied.",
		}, []string{"rule"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pintle_helm_release_actions_total",
			Help: "Helm actions by kind and result: success, failure or cancelled.",
		}, []string{"action", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "pintle_helm_release_action_duration_seconds",
			Help:    "Time Helm actions took, waiting included.",
			Buckets: prometheus.ExponentialBuckets(0.1, 2, 14),
		}, []string{"action"}),
	}
	m.ofOperations()
	m.ofWaits()
	m.ofFailures()
	m.ofTokens()
	suspended := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pintle_helm_releases_suspended",
		Help: "HelmReleases that are suspended, by spec or by annotation.",
	}, m.counting(m.suspended))
	drifted := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pintle_helm_releases_drifted",
		Help: "HelmReleases whose live objects are not as the release has them.",
	}, m.counting(m.drifted))
	for _, c := range []prometheus.Collector{m.visits, m.attempts, m.duration, m.reconciled, m.drift, m.operations, m.took, m.waited, m.notifications, m.queued, m.clusters, m.tokens, suspended, drifted,
		m.failures, m.interruptions, m.slotWaits, m.lockWaits, m.downloads, m.downloaded, m.releases, m.figures,
	} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// ofOperations makes the metrics of Operations.
func (m *Metrics) ofOperations() {
	m.operations = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pintle_operations_total",
		Help: "Operations that have ended, by engine, phase and reason.",
	}, []string{"engine", "phase", "reason"})
	m.took = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "pintle_operation_duration_seconds",
		Help:    "Time from the start of an Operation's first Job to its end. Those that never began are not counted.",
		Buckets: prometheus.ExponentialBuckets(0.5, 2, 14),
	}, []string{"engine", "phase"})
	m.waited = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "pintle_operation_wait_seconds",
		Help:    "Time from the creation of an Operation to the start of its first Job. Those that never began are not counted.",
		Buckets: prometheus.ExponentialBuckets(0.5, 2, 14),
	}, []string{"engine"})
}

// ofFailures makes the metrics of what does not work.
func (m *Metrics) ofFailures() {
	m.clusters = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "pintle_cluster_unreachable",
		Help: "Kubeconfigs by which nobody can be reached, by the address in them. Nothing is sent there but a probe now and then.",
	}, []string{"host"})
	m.failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pintle_helm_release_failures_total",
		Help: "Helm actions that failed because of an object, a hook or a test, by what was the matter with it.",
	}, []string{"reason"})
	m.interruptions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pintle_helm_release_interruptions_total",
		Help: "Helm actions that ended because a server did not answer. They are tried again, and are neither failures nor in pintle_helm_release_actions_total.",
	}, []string{"action"})
}

// ofTokens makes the metrics of tokens for other clusters that the reference has by
// object.
func (m *Metrics) ofTokens() {
	m.tokens = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gotk_token_cache_events_total",
		Help: "Visits to HelmReleases in clusters that take tokens, by HelmRelease and whether there was one: cache_hit or cache_miss.",
	}, []string{"event_type", "kind", "name", "namespace", "operation"})
}

// TokenRequested notes that a visit to a HelmRelease led to a cluster that takes tokens;
// held says whether there was one.
func (m *Metrics) TokenRequested(hr types.NamespacedName, held bool) {
	event := "cache_miss"
	if held {
		event = "cache_hit"
	}
	m.tokens.WithLabelValues(event, helmv2.HelmReleaseKind, hr.Name, hr.Namespace, "reconcile").Inc()
}

// ofWaits makes the metrics of what is waited for.
func (m *Metrics) ofWaits() {
	m.slotWaits = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "pintle_helm_release_action_wait_seconds",
		Help:    "Time from the announcement of a Helm action to its beginning, which waits for others to make room. Those that never began are not counted.",
		Buckets: prometheus.ExponentialBuckets(0.01, 4, 9),
	}, []string{"action"})
	m.lockWaits = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "pintle_helm_release_lock_wait_seconds",
		Help:    "Time for which an Operation kept Helm from a release, by when it was over. Whole seconds.",
		Buckets: prometheus.ExponentialBuckets(1, 3, 9),
	})
	m.downloads = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "pintle_chart_download_duration_seconds",
		Help:    "Time downloads of charts took, retries included, by result: success or failure.",
		Buckets: prometheus.ExponentialBuckets(0.01, 4, 8),
	}, []string{"result"})
	m.downloaded = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "pintle_chart_downloaded_bytes_total",
		Help: "Bytes of charts that were downloaded.",
	})
}

// LockWaited observes for how long an Operation kept Helm from a release.
func (m *Metrics) LockWaited(d time.Duration) { m.lockWaits.Observe(max(0, d).Seconds()) }

// Downloaded counts a download that has ended; err says why it failed, if it did.
func (m *Metrics) Downloaded(took time.Duration, size int64, err error) {
	result := "success"
	if err != nil {
		result = "failure"
	}
	m.downloads.WithLabelValues(result).Observe(took.Seconds())
	m.downloaded.Add(float64(size))
}

// Reconciliation counts a visit; rule is a name of a rule or one of the reasons above.
func (m *Metrics) Reconciliation(rule string) { m.visits.WithLabelValues(rule).Inc() }

// Notified counts an event for the events address; result says what became of it.
func (m *Metrics) Notified(result string) { m.notifications.WithLabelValues(result).Inc() }

// NotificationsQueued counts the events that have not come to their end yet.
func (m *Metrics) NotificationsQueued(change int) { m.queued.Add(float64(change)) }

// ReconcileDuration observes how long a visit to a HelmRelease took, or an action of it.
func (m *Metrics) ReconcileDuration(hr types.NamespacedName, took time.Duration) {
	m.reconciled.WithLabelValues(helmv2.HelmReleaseKind, hr.Name, hr.Namespace).Observe(took.Seconds())
}

// Forget drops all that is known of a HelmRelease that is gone.
func (m *Metrics) Forget(hr types.NamespacedName) {
	m.reconciled.DeleteLabelValues(helmv2.HelmReleaseKind, hr.Name, hr.Namespace)
	m.tokens.DeletePartialMatch(prometheus.Labels{"name": hr.Name, "namespace": hr.Namespace})
	m.Suspended(hr.String(), false)
	m.Drifted(hr.String(), false)
	m.releases.mu.Lock()
	defer m.releases.mu.Unlock()
	delete(m.releases.succeeded, hr)
}

// Suspended notes whether a HelmRelease is suspended; key tells it from others,
// and is no label.
func (m *Metrics) Suspended(key string, is bool) { m.note(m.suspended, key, is) }

// Drifted notes whether live objects of a HelmRelease are not as the release has
// them; key is as for Suspended.
func (m *Metrics) Drifted(key string, is bool) { m.note(m.drifted, key, is) }

// DriftDetected counts objects that were found to differ, when that is news.
func (m *Metrics) DriftDetected(objects []release.DriftedObject) {
	m.driftedObjects(objects, "detected")
}

func (m *Metrics) driftedObjects(objects []release.DriftedObject, result string) {
	for _, o := range objects {
		class := "changed"
		if o.Removed {
			class = "removed"
		}
		m.drift.WithLabelValues(class, result).Inc()
	}
}

func (m *Metrics) note(set map[string]struct{}, key string, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is {
		set[key] = struct{}{}
		return
	}
	delete(set, key)
}

func (m *Metrics) counting(set map[string]struct{}) func() float64 {
	return func() float64 {
		m.mu.Lock()
		defer m.mu.Unlock()
		return float64(len(set))
	}
}

// Attempt counts an attempt that has ended and was recorded.
func (m *Metrics) Attempt(o release.Outcome) {
	action := release.Name(o.Action)
	if o.Interrupted != nil && !o.Cancelled {
		m.interruptions.WithLabelValues(action).Inc()
		return
	}
	result := "success"
	switch {
	case o.Cancelled:
		result = "cancelled"
	case len(o.Owners) > 0:
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
		m.driftedObjects([]release.DriftedObject{object}, result)
	}
}

// ClusterUnreachable notes that one more way to a host leads nowhere, or one less.
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

// Operation counts an Operation that has ended: how long its Jobs took, and how
// long it had waited for the first of them, both zero if none ran.
func (m *Metrics) Operation(engine, phase, reason string, took, waited time.Duration) {
	m.operations.WithLabelValues(engine, phase, reason).Inc()
	if took > 0 || waited > 0 {
		m.took.WithLabelValues(engine, phase).Observe(took.Seconds())
		m.waited.WithLabelValues(engine).Observe(waited.Seconds())
	}
}
