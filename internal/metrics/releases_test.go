// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// web returns a HelmRelease with a value for every series.
func web() *helmv2.HelmRelease {
	condition := func(kind string, status metav1.ConditionStatus, reason string, at int64) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "a secret", LastTransitionTime: metav1.Unix(at, 0)}
	}
	return &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web"},
		Spec:       helmv2.HelmReleaseSpec{ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "charts"}},
		Status: helmv2.HelmReleaseStatus{
			Conditions: []metav1.Condition{
				condition(helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonUpgradeFailed, 100),
				condition(helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded, 200),
				condition(helmv2.ConditionDrifted, metav1.ConditionTrue, helmv2.ReasonDriftDetected, 300),
				condition(helmv2.ConditionLocked, metav1.ConditionTrue, helmv2.ReasonOperationRunning, 400),
				condition(helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonUpgradeFailed, 500),
				condition(helmv2.ConditionFailing, metav1.ConditionTrue, helmv2.FailureOOMKilled, 100),
			},
			History: helmv2.Snapshots{
				{Name: "web", Namespace: "prod", Version: 3, ChartName: "nginx", ChartVersion: "1.2.3+abc", AppVersion: "1.27"},
				{Name: "web", Namespace: "prod", Version: 2, ChartName: "nginx", ChartVersion: "1.2.2"},
			},
		},
	}
}

// seriesOf returns the series of hrs, without those of idle.
func seriesOf(t *testing.T, m *Metrics, registry prometheus.Gatherer, hrs ...*helmv2.HelmRelease) map[string]float64 {
	t.Helper()
	m.Releases(func() iter.Seq[*helmv2.HelmRelease] { return slices.Values(hrs) }, clock)
	got := gather(t, registry)
	for name := range idle(nil) {
		delete(got, name)
	}
	return got
}

func newMetrics(t *testing.T) (*Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	return m, registry
}

// TestReleases: the series of a HelmRelease have the values of its spec and status.
func TestReleases(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	key := types.NamespacedName{Namespace: "prod", Name: "web"}
	m.Succeeded(key, time.Unix(50, 999))
	for name, tc := range map[string]struct {
		change func(hr *helmv2.HelmRelease)
		want   []string
	}{
		"everything": {func(*helmv2.HelmRelease) {}, []string{
			"condition_since_timestamp_seconds condition=Drifted name=web namespace=prod status=True 300",
			"condition_since_timestamp_seconds condition=Locked name=web namespace=prod status=True 400",
			"condition_since_timestamp_seconds condition=Ready name=web namespace=prod status=False 100",
			"condition_since_timestamp_seconds condition=Stalled name=web namespace=prod status=True 200",
			"info app_version=1.27 chart_name=nginx chart_version=1.2.3+abc name=web namespace=prod revision=3 source_kind=OCIRepository source_name=charts suspended=false 1",
			"last_success_timestamp_seconds name=web namespace=prod 50",
			"reconciliation_status cause=OOMKilled name=web namespace=prod reason=UpgradeFailed status=False 1",
		}},
		"nothing yet, of a chart": {func(hr *helmv2.HelmRelease) {
			hr.Name, hr.Status, hr.Spec.Suspend = "new", helmv2.HelmReleaseStatus{}, true
			hr.Spec.ChartRef, hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{}
			hr.Spec.Chart.Spec.SourceRef = helmv2.CrossNamespaceObjectReference{Kind: "GitRepository", Name: "repo"}
		}, []string{
			"info app_version= chart_name= chart_version= name=new namespace=prod revision= source_kind=GitRepository source_name=repo suspended=true 1",
			"reconciliation_status cause= name=new namespace=prod reason= status=Unknown 1",
		}},
		"of an OCIRepository of its own": {func(hr *helmv2.HelmRelease) {
			hr.Name, hr.Status = "own", helmv2.HelmReleaseStatus{}
			hr.Spec.ChartRef, hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{Kind: helmv2.KindOCIRepository}
		}, []string{
			"info app_version= chart_name= chart_version= name=own namespace=prod revision= source_kind=OCIRepository source_name=prod-own suspended=false 1",
			"reconciliation_status cause= name=own namespace=prod reason= status=Unknown 1",
		}},
		"no source, suspended by annotation, unknown reason and status": {func(hr *helmv2.HelmRelease) {
			hr.Name, hr.Spec.ChartRef = "odd", nil
			hr.Annotations = map[string]string{helmv2.AnnotationSuspend: "why", helmv2.AnnotationSuspendUntil: "1970-01-01T01:23:21Z"}
			hr.Status.Conditions = hr.Status.Conditions[:1]
			hr.Status.Conditions[0].Reason, hr.Status.Conditions[0].Status = "OnceOnly4711", "Maybe"
			hr.Status.History = helmv2.Snapshots{{Version: 1, AppVersion: strings.Repeat("ü", 40)}}
		}, []string{
			"condition_since_timestamp_seconds condition=Ready name=odd namespace=prod status=Unknown 100",
			"info app_version=" + strings.Repeat("ü", 30) + "... chart_name= chart_version= name=odd namespace=prod revision=1 source_kind= source_name= suspended=true 1",
			"reconciliation_status cause= name=odd namespace=prod reason=Other status=Unknown 1",
		}},
		"a suspension that is over": {func(hr *helmv2.HelmRelease) {
			hr.Name, hr.Status = "past", helmv2.HelmReleaseStatus{}
			hr.Annotations = map[string]string{helmv2.AnnotationSuspend: "why", helmv2.AnnotationSuspendUntil: "1970-01-01T01:23:20Z"}
		}, []string{
			"info app_version= chart_name= chart_version= name=past namespace=prod revision= source_kind=OCIRepository source_name=charts suspended=false 1",
			"reconciliation_status cause= name=past namespace=prod reason= status=Unknown 1",
		}},
	} {
		hr := web()
		tc.change(hr)
		var got []string
		for series, value := range seriesOf(t, m, registry, hr) {
			got = append(got, series+" "+strconv.FormatFloat(value, 'f', -1, 64))
		}
		slices.Sort(got)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestReleaseSeriesEnd: a HelmRelease that is not listed has no series, and there are none after
// the end of the listing.
func TestReleaseSeriesEnd(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	key := types.NamespacedName{Namespace: "prod", Name: "web"}
	m.Succeeded(key, time.Unix(50, 0))
	if got := seriesOf(t, m, registry, web()); len(got) == 0 {
		t.Error("a HelmRelease has no series")
	}
	if got := seriesOf(t, m, registry); len(got) > 0 {
		t.Errorf("a HelmRelease that is not listed has series: %v", got)
	}
	m.Forget(key)
	if len(m.releases.succeeded) > 0 {
		t.Errorf("Forget keeps the time of success: %v", m.releases.succeeded)
	}
	end := m.Releases(func() iter.Seq[*helmv2.HelmRelease] { return slices.Values([]*helmv2.HelmRelease{web()}) }, clock)
	end()
	if got := gather(t, registry); !cmp.Equal(got, idle(nil)) {
		t.Errorf("after the end of the listing: %v", got)
	}
}

// TestReleasesAreBounded: the number of series of a HelmRelease does not depend on its contents,
// present or past.
func TestReleasesAreBounded(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	m.Succeeded(types.NamespacedName{Namespace: "prod", Name: "web"}, time.Unix(50, 0))
	for i := range 20 {
		hr := web()
		for c := range hr.Status.Conditions {
			hr.Status.Conditions[c].Reason = fmt.Sprintf("Reason%d", i)
		}
		hr.Status.Conditions = append(hr.Status.Conditions, metav1.Condition{Type: fmt.Sprintf("Of-%d", i)})
		hr.Status.History[0].Version = i
		if got := seriesOf(t, m, registry, hr); len(got) != 7 {
			t.Errorf("%d series: %v", len(got), got)
		}
	}
}

// TestReasonsAreKnown: every reason of api/v2 that this controller uses is a label value.
func TestReasonsAreKnown(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../api/v2/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var named []string
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, raw, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if ok && strings.HasPrefix(spec.Names[0].Name, "Reason") && len(spec.Values) == 1 {
				value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				named = append(named, value)
			}
			return true
		})
	}
	known := knownReasons()
	named = slices.DeleteFunc(named, func(reason string) bool {
		return slices.Contains([]string{helmv2.ReasonResourceManagerError, helmv2.ReasonFactoryError, helmv2.ReasonConfigFactoryError}, reason)
	})
	for _, reason := range named {
		if _, ok := known[reason]; !ok {
			t.Errorf("%s is exposed as %q", reason, otherReason)
		}
	}
	if len(named) != len(known) {
		t.Errorf("api/v2 has %d reasons, knownReasons %d", len(named), len(known))
	}
}

// TestSucceededAllocatesNothing: Succeeded, which every reconciliation calls, does not allocate
// for a known HelmRelease.
func TestSucceededAllocatesNothing(t *testing.T) {
	m, err := New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: "prod", Name: "web"}
	m.Succeeded(key, time.Unix(1, 0))
	if n := testing.AllocsPerRun(100, func() { m.Succeeded(key, time.Unix(2, 0)) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkReleases scrapes the metrics of 3000 HelmReleases, and reports the memory that each of
// them takes between scrapes.
func BenchmarkReleases(b *testing.B) {
	const count = 3000
	all := make([]helmv2.HelmRelease, count)
	for i := range all {
		all[i] = *web()
		all[i].Name = fmt.Sprintf("release-%d", i)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	registry := prometheus.NewRegistry()
	m, err := New(registry)
	if err != nil {
		b.Fatal(err)
	}
	for i := range all {
		m.Succeeded(types.NamespacedName{Namespace: "prod", Name: all[i].Name}, time.Unix(int64(i), 0))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	m.Releases(func() iter.Seq[*helmv2.HelmRelease] {
		return func(yield func(*helmv2.HelmRelease) bool) {
			for i := range all {
				if !yield(&all[i]) {
					return
				}
			}
		}
	}, clock)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/count, "B/release")
}
