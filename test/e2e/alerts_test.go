// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build reference

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"golang.org/x/sys/unix"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// TestAlerts causes what the alert rules report, and writes the scraped metrics as input of
// `promtool test rules`, with a longer time. test/monitoring evaluates the rules with them.
func TestAlerts(t *testing.T) {
	path := neighbour(t, "alerts.yaml")
	w, ours := newWorld(t), env.Controller
	a := newCauses(w)
	t.Cleanup(func() { handOver(context.WithoutCancel(t.Context()), t, ours) })
	w.Publish(w.fickle("0.1.0"))
	w.artifact(sourcev1.OCIRepositoryRef{Tag: "0.1.0"})

	refuses := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadRequest) }))
	t.Cleanup(refuses.Close)
	// A variant has the arguments of the controller that runs.
	offline := env.Variant("--http-retry=0").In("SOURCE_CONTROLLER_LOCALHOST=127.0.0.1:1")
	posting, elected, plain := env.Variant("--events-addr="+refuses.URL+"/"), env.Variant("--enable-leader-election"), env.Variant()
	server := a.startBusyServer()
	// It has one slot, and memory for one process for charts.
	busy := env.Variant("--concurrent=1").In("KUBECONFIG="+server.kubeconfig, "GOMEMLIMIT=700MiB")

	a.releases()
	a.failures()
	a.downloads(offline)
	a.notifications(posting)
	a.workers(plain)
	a.longRendering(busy)
	a.longAction(server)
	a.panics(env.OtherController(neighbour(t, "pintle-faulty")))
	a.leader(elected)
	a.outage(plain)

	before := a.scrape()
	w.Must(env.Controller.Stop(t.Context()))
	a.played("PintleGone", "", 11*time.Minute, before, scrape{})
	text, err := yaml.Marshal(map[string]any{"evaluation_interval": "1m", "tests": a.tests})
	w.Must(err)
	w.Must(os.WriteFile(path, text, 0o600))
}

// releases: alerts about single releases.
func (a *causes) releases() {
	a.Helper()
	before := a.scrape()
	a.Create(&v1alpha1.ReleasePolicy{ObjectMeta: a.Meta("waits"), Spec: v1alpha1.ReleasePolicySpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"approval": "always"}}, Approval: v1alpha1.ApprovalAlways,
	}})
	failed, stuck := a.fickleRelease("failed", unready()), a.fickleRelease("stuck", unready())
	waits, suspended := a.fickleRelease("waits", nil), a.fickleRelease("suspended", nil)
	held, drifted := a.fickleRelease("held", nil), a.fickleRelease("drifted", nil)
	locked := a.fickleRelease("locked", values{"hook": values{"when": "pre-upgrade", "podAnnotations": values{hangs: "true"}}})
	failed.Spec.Timeout = duration(shortly)
	waits.Labels = map[string]string{"approval": "always"}
	suspended.Spec.Suspend = true
	drifted.Spec.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionWarn}
	a.Create(failed, stuck, waits, suspended, held, drifted, locked)
	a.UntilRevision(held, 1)
	a.UntilRevision(drifted, 1)
	a.UntilRevision(locked, 1)
	a.Edit(held, func(hr *helmv2.HelmRelease) {
		metav1.SetMetaDataAnnotation(&hr.ObjectMeta, helmv2.AnnotationRollbackTo, "1")
	})
	deployment := a.deployment("drifted-fickle")
	live := deployment.DeepCopy()
	deployment.Spec.Replicas = ptr[int32](5)
	a.Must(env.Client.Patch(a.Context(), deployment, client.MergeFrom(live)))
	a.Create(&opsv1alpha1.Operation{ObjectMeta: a.Meta("locked"), Spec: opsv1alpha1.OperationSpec{
		TargetRef: opsv1alpha1.TargetReference{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: locked.Name},
		Engine:    opsv1alpha1.EngineHelmHookJob, Parameters: &opsv1alpha1.Parameters{Event: "pre-upgrade"},
	}})
	const since, status = "pintle_helm_release_condition_since_timestamp_seconds", "pintle_helm_release_reconciliation_status"
	now := a.until(
		metric(since, `name="failed"`, `condition="Stalled"`, `status="True"`), metric(since, `name="stuck"`, `condition="Ready"`, `status="Unknown"`),
		metric(status, `name="waits"`, `reason="AwaitingApproval"`), metric("pintle_helm_release_info", `name="suspended"`, `suspended="true"`),
		metric(since, `name="held"`, `condition="RolledBack"`, `status="True"`), metric(since, `name="drifted"`, `condition="Drifted"`, `status="True"`),
		metric(since, `name="locked"`, `condition="Locked"`, `status="True"`))
	const day = 24 * time.Hour
	a.played("PintleHelmReleaseNotReady", failed.Name, 16*time.Minute, before, now)
	a.played("PintleHelmReleaseStalled", failed.Name, 6*time.Minute, before, now)
	a.played("PintleHelmReleaseStuck", stuck.Name, 61*time.Minute, before, now)
	a.played("PintleHelmReleaseWaits", waits.Name, day+time.Minute, before, now)
	a.played("PintleHelmReleaseSuspended", suspended.Name, day+time.Minute, before, now)
	a.played("PintleHelmReleaseRolledBack", held.Name, day+time.Minute, before, now)
	a.played("PintleHelmReleaseDrifted", drifted.Name, 31*time.Minute, before, now)
	a.played("PintleHelmReleaseLocked", locked.Name, 61*time.Minute, before, now)
}

// failures: many actions fail.
func (a *causes) failures() {
	a.Helper()
	before := a.scrape()
	for i := range 7 {
		hr := a.fickleRelease(fmt.Sprint("fails-", i), values{"hook": values{"when": "post-install", "podAnnotations": values{"simulate.pintle.dev/exit-code": "1"}}})
		a.Create(hr)
	}
	was := before.Sum("pintle_helm_release_actions_total", `result="failure"`)
	now := a.until(func(m harness.Metrics) bool {
		return m.Sum("pintle_helm_release_actions_total", `result="failure"`) >= was+7
	})
	a.played("PintleActionsFail", "", 6*time.Minute, before, now)
}

// downloads: nothing answers at the address of source-controller.
func (a *causes) downloads(offline *harness.Controller) {
	a.Helper()
	handOver(a.Context(), a.T, offline)
	a.Create(a.fickleRelease("download", nil))
	failures := func(m harness.Metrics) float64 {
		return m.Sum("pintle_chart_download_duration_seconds_count", `result="failure"`)
	}
	before := a.until(func(m harness.Metrics) bool { return failures(m) > 0 })
	now := a.until(func(m harness.Metrics) bool { return failures(m) > failures(before.Metrics)+5 })
	a.played("PintleDownloadsFail", "", time.Minute, before, now)
}

// notifications: one event is refused.
func (a *causes) notifications(posting *harness.Controller) {
	a.Helper()
	handOver(a.Context(), a.T, posting)
	before := a.until()
	a.Create(a.fickleRelease("event", nil))
	now := a.until(metric("pintle_notifications_total", `result="refused"`))
	a.played("PintleNotificationsDropped", "", time.Minute, before, now)
}

// workers: the controller has no file descriptors left for a process that renders charts.
func (a *causes) workers(plain *harness.Controller) {
	a.Helper()
	handOver(a.Context(), a.T, plain)
	warm := a.fickleRelease("warm", nil)
	a.Create(warm)
	a.UntilRevision(warm, 1)
	before, pid := a.scrape(), env.Controller.PID()
	limit := unix.Rlimit{}
	a.Must(unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit))
	a.Must(unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: limit.Max}, nil))
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	a.Must(err)
	for _, task := range tasks {
		children, err := os.ReadFile(task)
		a.Must(err)
		for _, child := range strings.Fields(string(children)) {
			n, err := strconv.Atoi(child)
			a.Must(err)
			a.Must(syscall.Kill(n, syscall.SIGKILL))
		}
	}
	a.change(warm, values{"replicas": 2})
	now := a.until(func(m harness.Metrics) bool {
		return m.Sum("pintle_render_worker_starts_total", `result="failure"`) > 0
	})
	a.Must(unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil))
	a.UntilRevision(warm, 2)
	a.played("PintleWorkersDoNotStart", "", 6*time.Minute, before, now)
}

// panics: a reconciliation of a controller with a defect, see hack/faulty.sh. Others go on.
func (a *causes) panics(faulty *harness.Controller) {
	a.Helper()
	handOver(a.Context(), a.T, faulty)
	const panics = "controller_runtime_reconcile_panics_total"
	before := a.until(func(m harness.Metrics) bool {
		_, started := m.By(panics, "controller")["helmrelease"]
		return started
	})
	a.Create(a.fickleRelease("panics", nil))
	now := a.until(metric(panics, `controller="helmrelease"`))
	beside := a.fickleRelease("beside", nil)
	a.Create(beside)
	a.UntilRevision(beside, 1)
	a.played("PintlePanics", "", time.Minute, before, now)
}

// leader: another process holds the Lease.
func (a *causes) leader(elected *harness.Controller) {
	a.Helper()
	before := a.scrape()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: leaseName},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr("another"), LeaseDurationSeconds: ptr[int32](3600),
			AcquireTime: ptr(metav1.NowMicro()), RenewTime: ptr(metav1.NowMicro()),
		},
	}
	a.Create(lease)
	handOver(a.Context(), a.T, elected)
	now := a.until(func(m harness.Metrics) bool {
		return len(m.By("leader_election_master_status", "name")) > 0 && m.Sum("leader_election_master_status") == 0
	})
	a.played("PintleNoLeader", "", 6*time.Minute, before, now)
	a.Must(env.Client.Delete(a.Context(), lease))
}

// outage: the API server does not answer.
func (a *causes) outage(plain *harness.Controller) {
	a.Helper()
	handOver(a.Context(), a.T, plain)
	before := a.until(func(m harness.Metrics) bool { return m.Sum("pintle_helm_release_info") > 0 })
	a.Must(env.KillComponents(a.Context(), harness.APIServer))
	requests := func(m harness.Metrics, labels ...string) float64 {
		return m.Sum("rest_client_requests_total", labels...)
	}
	now := a.until(func(m harness.Metrics) bool {
		return requests(m, `code="<error>"`) > 0.2*(requests(m)-requests(before.Metrics))
	})
	a.Must(env.RestartComponents(a.Context()))
	a.continued("PintleAPIErrors", 20*time.Minute, before, now)
}

// causes collects tests of alert rules.
type causes struct {
	world

	rules string
	tests []alertTest
}

func newCauses(w world) *causes {
	w.Helper()
	rules, err := os.ReadFile(filepath.Join(harness.Root(), "config", "monitoring", "rules.yaml"))
	w.Must(err)
	return &causes{world: w, rules: string(rules)}
}

// fickleRelease returns a release of chart fickle.
func (a *causes) fickleRelease(name string, v values) *helmv2.HelmRelease {
	a.Helper()
	return a.Draft(name, fixture.ChartRef(helmv2.KindOCIRepository, "fickle"), v)
}

// scrape are the metrics of the controller at a time.
type scrape struct {
	harness.Metrics

	at time.Time
}

func (a *causes) scrape() scrape {
	a.Helper()
	return a.until()
}

// until waits until the metrics satisfy all conditions, and returns them.
func (a *causes) until(all ...func(harness.Metrics) bool) (s scrape) {
	a.Helper()
	a.Must(env.Until(a.Context(), "metrics", func() (string, bool) {
		m, err := env.Controller.Metrics(a.Context())
		if err != nil {
			return err.Error(), false
		}
		s = scrape{m, time.Now()}
		for i, wanted := range all {
			if !wanted(m) {
				return fmt.Sprintf("condition %d of %d is not met", i+1, len(all)), false
			}
		}
		return "", true
	}))
	return s
}

// metric returns a condition: there is a series that is not 0.
func metric(name string, labels ...string) func(harness.Metrics) bool {
	return func(m harness.Metrics) bool { return m.Sum(name, labels...) != 0 }
}

// alertTest is a test in the format of `promtool test rules`.
type alertTest struct {
	Name     string        `json:"name"`
	Interval string        `json:"interval"`
	Series   []alertSeries `json:"input_series"`
	Alerts   []alertCheck  `json:"alert_rule_test"`
}

type alertSeries struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

type alertCheck struct {
	At     string        `json:"eval_time"`
	Name   string        `json:"alertname"`
	Firing []alertLabels `json:"exp_alerts,omitempty"`
}

type alertLabels struct {
	Labels map[string]string `json:"exp_labels"`
}

// calm is how many minutes there is no cause.
const calm = 20

// played adds a test: an alert does not fire with the metrics before its cause, and fires once with
// those after it, when they have stayed for some time. A reconciliation that runs still runs then.
// The alert is about a release, or if name is empty about the controller.
func (a *causes) played(alert, name string, after time.Duration, before, now scrape) {
	a.add(alert, name, after, before, now, false)
}

// continued is played for a cause that continues: counters grow each minute as between the scrapes.
func (a *causes) continued(alert string, after time.Duration, before, now scrape) {
	a.add(alert, "", after, before, now, true)
}

func (a *causes) add(alert, name string, after time.Duration, before, now scrape, grows bool) {
	minutes := int(after / time.Minute)
	test := alertTest{Name: alert + " by its cause", Interval: "1m", Alerts: []alertCheck{
		{At: fmt.Sprint(calm, "m"), Name: alert},
		{At: fmt.Sprint(calm+1+minutes, "m"), Name: alert, Firing: []alertLabels{{map[string]string{}}}},
	}}
	if name != "" {
		test.Alerts[1].Firing[0].Labels = map[string]string{"namespace": a.Namespace, "name": name}
	}
	all := map[string]bool{}
	for _, s := range []scrape{before, now} {
		for series := range s.Metrics {
			all[series] = all[series] || a.relevant(series, name)
		}
	}
	for series, relevant := range all {
		if !relevant {
			continue
		}
		from, was := before.value(series, 0)
		to, is := now.value(series, calm+1)
		text := fmt.Sprintf("_x%d ", calm+1)
		if was {
			text = fmt.Sprintf("%fx%d ", from, calm)
		}
		switch {
		case is && to > 0 && strings.HasPrefix(series, "workqueue_longest_running_processor_seconds{"):
			text += fmt.Sprintf("%f+60x%d", to, minutes)
		case is && grows:
			text += fmt.Sprintf("%f%+fx%d", to, to-from, minutes)
		case is:
			text += fmt.Sprintf("%fx%d", to, minutes)
		default:
			text += "stale"
		}
		test.Series = append(test.Series, alertSeries{series, strings.TrimSpace(text)})
	}
	a.tests = append(a.tests, test)
}

// relevant reports whether a rule may read a series: it is of the release, or of none.
func (a *causes) relevant(series, name string) bool {
	metric, labels, _ := strings.Cut(series, "{")
	if !strings.Contains(a.rules, metric) {
		return false
	}
	labels = "," + labels
	return !strings.Contains(labels, `,namespace="`) ||
		strings.Contains(labels, `,namespace="`+a.Namespace+`"`) && strings.Contains(labels, `,name="`+name+`"`)
}

// value returns the value of a series if the scrape is at a minute. Times are those since the start.
func (s scrape) value(series string, minute int) (float64, bool) {
	value, ok := s.Metrics[series]
	if metric, _, _ := strings.Cut(series, "{"); strings.HasSuffix(metric, "_timestamp_seconds") {
		value += float64(minute*60) - float64(s.at.Unix())
	}
	return value, ok
}
