// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/version"
)

// clock returns a fixed time.
func clock() time.Time { return time.Unix(5000, 0) }

// idle returns the series of new metrics, and more.
func idle(more map[string]float64) map[string]float64 {
	all := map[string]float64{
		"pintle_notifications_queued": 0, "pintle_helm_releases_suspended": 0, "pintle_helm_releases_drifted": 0, "pintle_helm_releases_rolled_back": 0,
		"lock_wait_seconds count": 0, "lock_wait_seconds sum": 0, "pintle_chart_downloaded_bytes_total": 0,
		"actions_in_progress": 0, "action_slots": 0, "action_slots_used": 0,
		"pintle_live_object_watches": 0, "pintle_live_object_throttled_releases": 0, "pintle_live_object_triggers_total": 0, "pintle_live_object_delayed_triggers_total": 0,
		"gotk_token_cached_items": 0, "gotk_token_cache_requests_total status=success": 0, "gotk_token_cache_requests_total status=failure": 0,
		"gotk_token_cache_evictions_total":      0,
		"pintle_render_call_wait_seconds count": 0, "pintle_render_call_wait_seconds sum": 0,
		"pintle_render_workers state=busy": 0, "pintle_render_workers state=idle": 0, "pintle_render_calls_queued": 0,
		"pintle_render_worker_starts_total result=success": 0, "pintle_render_worker_starts_total result=failure": 0,
		"pintle_render_worker_recycles_total":    0,
		"pintle_notifications_total result=sent": 0, "pintle_notifications_total result=duplicate": 0, "pintle_notifications_total result=refused": 0,
		"pintle_notifications_total result=failed": 0, "pintle_notifications_total result=expired": 0, "pintle_notifications_total result=overflown": 0,
		"pintle_notifications_total result=unsent": 0,
	}
	i := version.Read()
	all["pintle_build_info go_version="+i.Go+" helm_version="+i.Helm+" revision="+i.Revision+" version="+i.Version] = 1
	maps.Copy(all, more)
	return all
}

// gather returns the value of every counter and gauge, and count and sum of every histogram, by
// name and labels.
func gather(t *testing.T, r prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "pintle_helm_release_")
			for _, l := range m.GetLabel() {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			if h := m.GetHistogram(); h != nil {
				got[name+" count"] = float64(h.GetSampleCount())
				got[name+" sum"] = h.GetSampleSum()
				continue
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return got
}

// TestMetrics: every method changes the series of its metric, and no label names an object.
func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(idle(nil), gather(t, registry)); diff != "" {
		t.Errorf("new metrics (-want +got):\n%s", diff)
	}
	begun := time.Unix(100, 0)
	named := release.Desired{UID: "uid-1", Target: release.Target{Name: "app", Namespace: "prod", StorageNamespace: "prod"}}
	m.Notified("sent")
	m.NotificationsQueued(3)
	m.NotificationsQueued(-1)
	m.Suspended("prod/app", true)
	m.Suspended("prod/app", true)
	m.Suspended("prod/web", true)
	m.Suspended("prod/web", false)
	m.Drifted("prod/app", true)
	m.Drifted("prod/web", true)
	m.Drifted("prod/web", false)
	gone := release.DriftedObject{Object: release.Object{Kind: "ConfigMap", Namespace: "prod", Name: "app"}, Removed: true}
	other := release.DriftedObject{Object: release.Object{Kind: "Service", Namespace: "prod", Name: "app"}}
	m.DriftDetected([]release.DriftedObject{gone, other})
	m.Reconciliation(RuleBlocked)
	m.Reconciliation(RuleFinished)
	m.Reconciliation(RuleFinished)
	for _, o := range []release.Outcome{
		{Action: release.Install{}, Started: begun, Ended: begun.Add(2 * time.Second)},
		{Action: release.Install{}, Started: begun, Ended: begun.Add(4 * time.Second)},
		{Action: release.Upgrade{}, Started: begun, Ended: begun.Add(1500*time.Millisecond + time.Microsecond), Announced: begun.Add(-3 * time.Second), Err: errors.New("app failed in prod")},
		{Action: release.Upgrade{}, Started: begun, Ended: begun, Err: errors.New("stopped"), Cancelled: true},
		{Action: release.Upgrade{}, Started: begun, Ended: begun, Err: fmt.Errorf("stopped: %w", release.ErrResumedElsewhere)},
		{Action: release.Upgrade{}, Started: begun, Ended: begun, Err: errors.New("owned"), Owners: []release.Target{{Name: "app", Namespace: "prod"}}},
		{Action: release.Upgrade{}, Started: begun, Ended: begun, Err: errors.New("no answer"), Interrupted: &release.Outage{}, Diagnosis: &release.Diagnosis{Code: "Failed"}},
		{Action: release.Rollback{}, Started: begun, Ended: begun, Err: errors.New("stopped"), Interrupted: &release.Outage{}, Cancelled: true},
		{Action: release.Uninstall{Target: named.Target}, Started: begun, Ended: begun},
		{
			Action: release.CorrectDrift{}, Started: begun, Ended: begun.Add(time.Second),
			Corrected: []release.DriftedObject{gone, other}, Failed: []release.ObjectError{{Object: other.Object, Err: "app is immutable"}},
		},
		// An action that never started has no times.
		{Action: release.Unlock{}, Announced: begun, Err: errors.New("never"), Cancelled: true},
	} {
		o.Desired = named
		m.Attempt(o)
	}
	m.LockWaited(90 * time.Second)
	m.LockWaited(-time.Second)
	m.Downloaded(2*time.Second, 1000, nil)
	m.Downloaded(3*time.Second, 0, errors.New("app is not there"))
	m.Collect(func(s *Stats) { s.InProgress, s.Slots, s.SlotsUsed = 3, 10, 2 })
	m.Collect(func(s *Stats) {
		s.Caches = []Cache{{Name: "archives", Entries: 4, Bytes: 5}, {Name: "connections", Entries: 6, Bytes: -1}}
		s.Watches, s.Throttled, s.Triggers, s.Delayed = 7, 8, 9, 10
		s.Tokens, s.TokensAnswered, s.TokensFailed, s.TokensEvicted = 11, 12, 13, 14
	})
	want := idle(map[string]float64{
		"action_wait_seconds action=upgrade count":                    1,
		"action_wait_seconds action=upgrade sum":                      3,
		"lock_wait_seconds count":                                     2,
		"lock_wait_seconds sum":                                       90,
		"pintle_chart_download_duration_seconds result=success count": 1,
		"pintle_chart_download_duration_seconds result=success sum":   2,
		"pintle_chart_download_duration_seconds result=failure count": 1,
		"pintle_chart_download_duration_seconds result=failure sum":   3,
		"pintle_chart_downloaded_bytes_total":                         1000,
		"actions_in_progress":                                         3, "action_slots": 10, "action_slots_used": 2,
		"pintle_cache_entries cache=archives": 4, "pintle_cache_bytes cache=archives": 5, "pintle_cache_entries cache=connections": 6,
		"pintle_live_object_watches": 7, "pintle_live_object_throttled_releases": 8, "pintle_live_object_triggers_total": 9, "pintle_live_object_delayed_triggers_total": 10,
		"gotk_token_cached_items": 11, "gotk_token_cache_requests_total status=success": 12, "gotk_token_cache_requests_total status=failure": 13,
		"gotk_token_cache_evictions_total": 14,

		"reconciliations_total rule=Blocked":             1,
		"reconciliations_total rule=Finished":            2,
		"actions_total action=install result=success":    2,
		"actions_total action=upgrade result=failure":    1,
		"actions_total action=upgrade result=waiting":    1,
		"actions_total action=upgrade result=cancelled":  2,
		"actions_total action=uninstall result=success":  1,
		"actions_total action=unlock result=cancelled":   1,
		"interruptions_total action=upgrade":             1,
		"actions_total action=rollback result=cancelled": 1,
		"action_duration_seconds action=rollback count":  1,
		"action_duration_seconds action=rollback sum":    0,
		"action_duration_seconds action=install count":   2,
		"action_duration_seconds action=install sum":     6,
		"action_duration_seconds action=upgrade count":   4,
		"action_duration_seconds action=upgrade sum":     1.5,
		"action_duration_seconds action=uninstall count": 1,
		"action_duration_seconds action=uninstall sum":   0,
		"action_duration_seconds action=unlock count":    1,
		"action_duration_seconds action=unlock sum":      0,
		"pintle_helm_releases_suspended":                 1,
		"pintle_helm_releases_drifted":                   1,
		"pintle_helm_releases_rolled_back":               0,
		"pintle_notifications_total result=sent":         1,
		"pintle_notifications_queued":                    2,

		"actions_total action=correct cluster drift result=failure":  1,
		"action_duration_seconds action=correct cluster drift count": 1,
		"action_duration_seconds action=correct cluster drift sum":   1,
		"pintle_drift_objects_total class=removed result=detected":   1,
		"pintle_drift_objects_total class=changed result=detected":   1,
		"pintle_drift_objects_total class=removed result=corrected":  1,
		"pintle_drift_objects_total class=changed result=failed":     1,
	})
	got := gather(t, registry)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	for name := range got {
		if strings.HasPrefix(name, "gotk_") {
			continue
		}
		for _, object := range []string{"app", "prod", "uid-1"} {
			if strings.Contains(name, object) {
				t.Errorf("%s has a label with the name of an object", name)
			}
		}
	}
}

// TestForget: Forget removes the series of a HelmRelease, and subtracts it from gauges.
func TestForget(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	web, api := types.NamespacedName{Namespace: "prod", Name: "web"}, types.NamespacedName{Namespace: "prod", Name: "api"}
	for _, key := range []types.NamespacedName{web, api} {
		m.ReconcileDuration(key, 2*time.Second)
		m.Suspended(key.String(), true)
		m.Drifted(key.String(), true)
		m.RolledBack(key.String(), true)
	}
	m.ReconcileDuration(web, time.Second)
	m.TokenRequested(web, true)
	m.TokenRequested(web, false)
	m.TokenRequested(api, true)
	const hit = "gotk_token_cache_events_total event_type=cache_hit kind=HelmRelease name="
	const of = "gotk_reconcile_duration_seconds kind=HelmRelease name="
	want := idle(map[string]float64{
		of + "web namespace=prod count": 2, of + "web namespace=prod sum": 3, of + "api namespace=prod count": 1, of + "api namespace=prod sum": 2,
		hit + "web namespace=prod operation=reconcile": 1, hit + "api namespace=prod operation=reconcile": 1,
		strings.Replace(hit, "_hit", "_miss", 1) + "web namespace=prod operation=reconcile": 1,
		"pintle_helm_releases_suspended": 2, "pintle_helm_releases_drifted": 2, "pintle_helm_releases_rolled_back": 2,
	})
	if diff := cmp.Diff(want, gather(t, registry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.Forget(web)
	want = idle(map[string]float64{
		of + "api namespace=prod count": 1, of + "api namespace=prod sum": 2, hit + "api namespace=prod operation=reconcile": 1,
		"pintle_helm_releases_suspended": 1, "pintle_helm_releases_drifted": 1, "pintle_helm_releases_rolled_back": 1,
	})
	if diff := cmp.Diff(want, gather(t, registry)); diff != "" {
		t.Errorf("after Forget (-want +got):\n%s", diff)
	}
}

// TestWorkers: the counts of the processes that render charts.
func TestWorkers(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.Collect(func(s *Stats) {
		s.Workers = Workers{Busy: 1, Idle: 2, Queued: 3, Started: 4, NotStarted: 5, Recycled: 6, Deaths: map[string]int64{"memory": 7}}
	})
	m.WorkerWaited(90 * time.Second)
	want := idle(map[string]float64{
		"pintle_render_workers state=busy": 1, "pintle_render_workers state=idle": 2, "pintle_render_calls_queued": 3,
		"pintle_render_worker_starts_total result=success": 4, "pintle_render_worker_starts_total result=failure": 5,
		"pintle_render_worker_recycles_total": 6, "pintle_render_worker_deaths_total limit=memory": 7,
		"pintle_render_call_wait_seconds count": 1, "pintle_render_call_wait_seconds sum": 90,
	})
	if diff := cmp.Diff(want, gather(t, registry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestClusterUnreachable: a host has a series as long as one connection to it gets no answer.
func TestClusterUnreachable(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	const series = "pintle_cluster_unreachable host=https://h"
	for i, step := range []struct {
		is   bool
		want float64
	}{{true, 1}, {true, 2}, {false, 1}, {false, 0}} {
		m.ClusterUnreachable("https://h", step.is)
		got, there := gather(t, registry)[series]
		if got != step.want || there != (step.want > 0) {
			t.Errorf("step %d: %v, %t", i, got, there)
		}
	}
}

// everything returns a registry in which each metric has a series.
func everything(t *testing.T) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.ReconcileDuration(types.NamespacedName{}, 0)
	m.TokenRequested(types.NamespacedName{}, true)
	m.Reconciliation(RuleCached)
	m.Attempt(release.Outcome{Action: release.Install{}, Diagnosis: &release.Diagnosis{Code: "OOMKilled"}})
	m.DriftDetected([]release.DriftedObject{{}})
	m.Notified("sent")
	m.Overridden([]string{"Frozen"})
	m.Operation("engine", "phase", "reason", 1, 1)
	m.Downloaded(0, 0, nil)
	at := time.Unix(1, 0)
	m.Attempt(release.Outcome{Action: release.Upgrade{}, Announced: at, Started: at})
	m.Attempt(release.Outcome{Action: release.Upgrade{}, Interrupted: &release.Outage{}})
	m.Collect(func(s *Stats) {
		s.Caches, s.Workers.Deaths = []Cache{{Name: "some"}}, map[string]int64{"memory": 1}
	})
	m.Succeeded(types.NamespacedName{Namespace: "prod", Name: "web"}, at)
	m.Releases(func() iter.Seq[*helmv2.HelmRelease] { return slices.Values([]*helmv2.HelmRelease{web()}) }, clock)
	m.ClusterUnreachable("https://h", true)
	m.Switch.Standby(false)
	m.Switch.Observed(types.NamespacedName{Namespace: "prod", Name: "web"}, "NothingToDo")
	return registry
}

// TestMetricsLint: names, units and help texts follow the conventions of Prometheus.
func TestMetricsLint(t *testing.T) {
	t.Parallel()
	families, err := everything(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v: %v", problems, err)
	}
}

// TestMetricsAreDocumented: docs/metrics.md lists exactly these metrics, with types and labels.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	families, err := everything(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | %s |", f.GetName(), strings.ToLower(f.GetType().String()), strings.Join(labels, ", ")))
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		if strings.HasPrefix(line, "| `pintle_") || strings.HasPrefix(line, "| `gotk_") {
			cells := strings.SplitN(line, "|", 5)
			got = append(got, strings.Join(cells[:4], "|")+"|")
			if len(cells) < 5 || strings.Trim(cells[4], " |") == "" {
				t.Errorf("the row does not say what the metric means: %s", line)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table and the code differ (-code +table):\n%s", diff)
	}
}

// TestNewTwice: metrics cannot be registered twice.
func TestNewTwice(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	if _, err := New(registry); err != nil {
		t.Fatal(err)
	}
	if m, err := New(registry); err == nil || m != nil {
		t.Error("a second set of the same metrics was registered")
	}
}
