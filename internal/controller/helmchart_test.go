// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/release"
)

// charting makes a HelmRelease need the HelmChart a-b-c in namespace a.
func charting(hr *helmv2.HelmRelease) {
	hr.Spec.Chart = &helmv2.HelmChartTemplate{}
	hr.Spec.Chart.Spec.SourceRef = helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "repo", Namespace: "a"}
	hr.ResourceVersion = ""
}

// desk is a reconciler whose cache holds no HelmChart, whatever there is.
type desk struct {
	*HelmReleaseReconciler
	told chan string
	// applied is the last HelmChart that was sent.
	applied map[string]any
}

func newDesk(t *testing.T, refuse error, objects ...client.Object) *desk {
	t.Helper()
	recorder := record.NewFakeRecorder(10)
	d := &desk{HelmReleaseReconciler: &HelmReleaseReconciler{events: events.NewRecorder(recorder, Scheme(), nil)}, told: recorder.Events}
	alone := func() {
		if d.helmCharts.TryLock() {
			d.helmCharts.Unlock()
			t.Error("two could make the same HelmChart at once")
		}
	}
	live := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(objects...).WithReturnManagedFields().Build()
	d.live = interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			alone()
			return c.Get(ctx, key, o, opts...)
		},
	})
	d.client = interceptor.NewClient(live, interceptor.Funcs{
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
	first, second := named("a-b", "c", charting), named("a", "b-c", charting)
	d := newDesk(t, nil, first.DeepCopy(), second.DeepCopy())
	if err := d.ensureHelmChart(t.Context(), first); err != nil || first.Status.HelmChart != "a/a-b-c" {
		t.Errorf("the first one has its HelmChart: %v, %q", err, first.Status.HelmChart)
	}
	if got := d.events(); got != "Normal HelmChartCreated Created HelmChart/a/a-b-c with SourceRef 'HelmRepository/a/repo'" {
		t.Errorf("events: %s", got)
	}
	if b := asBlocked(d.ensureHelmChart(t.Context(), second)); b.Reason != helmv2.ReasonContested || second.Status.HelmChart != "" {
		t.Errorf("the second one may not take it: %+v, %q", b, second.Status.HelmChart)
	}
	if err := d.ensureHelmChart(t.Context(), first); err != nil {
		t.Errorf("the first one may do so again: %v", err)
	}
	metadata, _ := d.applied["metadata"].(map[string]any)
	if metadata["resourceVersion"] == nil {
		t.Error("a change that was not seen would be overwritten")
	}
}

func TestHelmChartOfNobody(t *testing.T) {
	for reason, owner := range map[string]*helmv2.HelmRelease{
		"its owner is gone":                      nil,
		"its owner has another source by now":    named("a", "b-c"),
		"its owner has its HelmChart elsewhere":  named("a", "b-c", charting, func(hr *helmv2.HelmRelease) { hr.Spec.Chart.Spec.SourceRef.Namespace = "z" }),
		"it says only half of whose it might be": named("a", "x", charting),
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
		hr := named("a-b", "c", charting)
		if b := asBlocked(newDesk(t, nil, objects...).ensureHelmChart(t.Context(), hr)); b.Reason == helmv2.ReasonContested || hr.Status.HelmChart == "" {
			t.Errorf("%s, so it may be taken: %+v", reason, b)
		}
	}
}

func TestOwnerOf(t *testing.T) {
	for _, half := range []string{helmv2.LabelName, helmv2.LabelNamespace} {
		chart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{half: "a"}}}
		if got := ownerOf(chart); got.Name != "" || got.Namespace != "" {
			t.Errorf("%s alone names nobody: %v", half, got)
		}
	}
}

func TestHelmChartThatCannotBeApplied(t *testing.T) {
	hr := named("a-b", "c", charting)
	d := newDesk(t, errors.New("quota exceeded"))
	b := asBlocked(d.ensureHelmChart(t.Context(), hr))
	if want := "could not apply HelmChart 'a/a-b-c': quota exceeded"; b.Reason != helmv2.ReasonArtifactFailed || b.Message != want {
		t.Errorf("blocked by %+v", b)
	}
	if got := d.events(); !strings.HasPrefix(got, "Normal HelmChartSyncErr could not apply") || hr.Status.HelmChart != "" {
		t.Errorf("events: %s; noted is %q", got, hr.Status.HelmChart)
	}
	stale := apierrors.NewConflict(schema.GroupResource{Resource: "helmcharts"}, "a-b-c", errors.New("changed"))
	d = newDesk(t, stale)
	err := d.ensureHelmChart(t.Context(), hr)
	if _, ok := conflict(err); !ok || d.events() != "" {
		t.Errorf("a stale read is no news: %v", err)
	}
	d = newDesk(t, errTransient)
	if b = asBlocked(d.ensureHelmChart(t.Context(), hr)); b.Reason != helmv2.ReasonArtifactFailed || d.events() != "" {
		t.Errorf("while the API server is unavailable, each try is an event: %+v", b)
	}
}
