// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
	"github.com/pintle-dev/pintle/test/controllertest"
)

// charting makes a HelmRelease need the HelmChart a-b-c in namespace a.
func charting(hr *helmv2.HelmRelease) {
	hr.Spec.Chart = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{Chart: "note"}}
	hr.Spec.Chart.Spec.SourceRef = helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "repo", Namespace: "a"}
	hr.ResourceVersion = ""
}

// desk is a sourceMaker whose cache holds no HelmChart, whatever there is.
type desk struct {
	*sourceMaker
	told chan string
	// applied is the last HelmChart that was sent.
	applied map[string]any
}

func newDesk(t *testing.T, refuse error, objects ...client.Object) *desk {
	t.Helper()
	recorded := make(controllertest.Events, 10)
	d := &desk{sourceMaker: &sourceMaker{Events: recorded}, told: recorded}
	alone := func() {
		if len(d.writing.byKey) == 0 {
			t.Error("two could make the same HelmChart at once")
		}
	}
	live := fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(objects...).WithReturnManagedFields().Build()
	d.Live = interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, isChart := o.(*sourcev1.HelmChart); isChart && d.writing.byKey[key] == nil {
				t.Error("the lock is not that of the HelmChart: others would wait for it")
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	d.Client = interceptor.NewClient(live, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "helmcharts"}, key.Name)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			alone()
			raw, err := json.Marshal(o)
			if err := errors.Join(err, json.Unmarshal(raw, &d.applied)); err != nil {
				t.Error(err)
			}
			if refuse != nil {
				return refuse
			}
			return c.Apply(ctx, o, opts...)
		},
	})
	return d
}

// ensure makes the HelmChart of hr and records it.
func (d *desk) ensure(t *testing.T, hr *helmv2.HelmRelease) (err error) {
	t.Helper()
	hr.Status.HelmChart, err = d.Ensure(t.Context(), hr)
	return err
}

func (d *desk) events() string {
	var all []string
	for {
		select {
		case e := <-d.told:
			all = append(all, e)
		default:
			return strings.Join(all, "\n")
		}
	}
}

func asBlocked(err error) release.Blocked {
	var b *release.Blocked
	if !errors.As(err, &b) {
		return release.Blocked{}
	}
	return *b
}

// TestHelmChartUnseenByTheCache: two HelmReleases begin at once, and the cache
// shows the HelmChart of neither.
func TestHelmChartUnseenByTheCache(t *testing.T) {
	first, second := controllertest.HelmRelease("a-b", "c", charting), controllertest.HelmRelease("a", "b-c", charting)
	d := newDesk(t, nil, first.DeepCopy(), second.DeepCopy())
	if err := d.ensure(t, first); err != nil || first.Status.HelmChart != "a/a-b-c" {
		t.Errorf("the first one has its HelmChart: %v, %q", err, first.Status.HelmChart)
	}
	if got := d.events(); got != "Normal HelmChartCreated Created HelmChart/a/a-b-c with SourceRef 'HelmRepository/a/repo'" {
		t.Errorf("events: %s", got)
	}
	if b := asBlocked(d.ensure(t, second)); b.Reason != helmv2.ReasonContested || second.Status.HelmChart != "" {
		t.Errorf("the second one may not take it: %+v, %q", b, second.Status.HelmChart)
	}
	if err := d.ensure(t, first); err != nil {
		t.Errorf("the first one may do so again: %v", err)
	}
	metadata, _ := d.applied["metadata"].(map[string]any)
	if metadata["resourceVersion"] == nil {
		t.Error("a change that was not seen would be overwritten")
	}
}

func TestHelmChartWithoutOwner(t *testing.T) {
	for reason, owner := range map[string]*helmv2.HelmRelease{
		"its owner is gone":                      nil,
		"its owner has another source by now":    controllertest.HelmRelease("a", "b-c"),
		"its owner has its HelmChart elsewhere":  controllertest.HelmRelease("a", "b-c", charting, func(hr *helmv2.HelmRelease) { hr.Spec.Chart.Spec.SourceRef.Namespace = "z" }),
		"it says only half of whose it might be": controllertest.HelmRelease("a", "x", charting),
	} {
		chart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "a-b-c", Labels: map[string]string{
			helmv2.LabelNamespace: "a", helmv2.LabelName: "b-c",
		}}}
		objects := []client.Object{chart}
		if owner != nil {
			owner.ResourceVersion = ""
			objects = append(objects, owner)
			if owner.Name == "x" {
				delete(chart.Labels, helmv2.LabelNamespace)
			}
		}
		hr := controllertest.HelmRelease("a-b", "c", charting)
		if b := asBlocked(newDesk(t, nil, objects...).ensure(t, hr)); b.Reason == helmv2.ReasonContested || hr.Status.HelmChart == "" {
			t.Errorf("%s, so it may be taken: %+v", reason, b)
		}
	}
}

func TestOwnerOf(t *testing.T) {
	for _, half := range []string{helmv2.LabelName, helmv2.LabelNamespace} {
		chart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{half: "a"}}}
		if got := ownerOf(chart); got.Name != "" || got.Namespace != "" {
			t.Errorf("%s alone names no owner: %v", half, got)
		}
	}
}

func TestHelmChartThatCannotBeApplied(t *testing.T) {
	hr := controllertest.HelmRelease("a-b", "c", charting)
	d := newDesk(t, errors.New("quota exceeded"))
	b := asBlocked(d.ensure(t, hr))
	if want := "could not apply HelmChart 'a/a-b-c': quota exceeded"; b.Reason != helmv2.ReasonArtifactFailed || b.Message != want {
		t.Errorf("blocked by %+v", b)
	}
	if got := d.events(); !strings.HasPrefix(got, "Normal HelmChartSyncErr could not apply") || hr.Status.HelmChart != "" {
		t.Errorf("events: %s; noted is %q", got, hr.Status.HelmChart)
	}
	stale := apierrors.NewConflict(schema.GroupResource{Resource: "helmcharts"}, "a-b-c", errors.New("changed"))
	d = newDesk(t, stale)
	err := d.ensure(t, hr)
	if !apierrors.IsConflict(err) || d.events() != "" {
		t.Errorf("a stale read is no news: %v", err)
	}
	d = newDesk(t, apierrors.NewServiceUnavailable("try again later"))
	if b = asBlocked(d.ensure(t, hr)); b.Reason != helmv2.ReasonArtifactFailed || d.events() != "" {
		t.Errorf("while the API server is unavailable, each try is an event: %+v", b)
	}
}

// counter counts requests, and answers well.
type counter struct{ requests atomic.Int32 }

func (c *counter) RoundTrip(req *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody, Request: req}, nil
}

// TestHelmChartsAreNoNews: events about HelmCharts are not posted, unlike others.
func TestHelmChartsAreNoNews(t *testing.T) {
	observer, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	posted, made := &counter{}, record.NewFakeRecorder(10)
	sender := events.NewSender(t.Context(), events.Options{
		URL: "http://receiver/", Flush: time.Minute, Observer: observer, Log: logr.Discard(), Now: time.Now, Base: posted,
	})
	m := &sourceMaker{Events: events.NewRecorder(made, controller.Scheme(), sender)}
	hr := controllertest.HelmRelease("apps", "web")
	controller.Emit(m.Events, hr, status.SourceApplied("", types.NamespacedName{}, "", true), status.LeftBehind(""))
	sender.Close()
	if n := posted.requests.Load(); n != 1 || len(made.Events) != 2 {
		t.Errorf("of %d events %d were posted", len(made.Events), n)
	}
}

// TestObserveHelmChart: a process that only observes applies no HelmChart and reports a missing one.
func TestObserveHelmChart(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.Observe = true
	hr := controllertest.HelmRelease("a", "c", charting)
	hr.Status.HelmChart = "other/chart"
	recorded, err := d.Ensure(t.Context(), hr)
	blocked := asBlocked(err)
	if blocked.Reason != helmv2.ReasonArtifactFailed || recorded != hr.Status.HelmChart || d.applied != nil || d.events() != "" {
		t.Errorf("recorded %s, applied %v, events %q, %+v", recorded, d.applied, d.events(), blocked)
	}
}
