// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
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
	"github.com/pintle-dev/pintle/internal/inputs"
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

// kindChange is a sourceMaker and a HelmRelease whose template changes its kind.
type kindChange struct {
	*sourceMaker
	hr *helmv2.HelmRelease
}

func newKindChange(t *testing.T, objects ...client.Object) *kindChange {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(objects...).Build()
	m := &sourceMaker{Client: c, Live: c, Events: events.NewRecorder(record.NewFakeRecorder(100), controller.Scheme(), nil)}
	return &kindChange{m, controllertest.HelmRelease("apps", "web")}
}

// helmChart makes the template a HelmChart in a namespace, ociRepository an OCIRepository.
func (k *kindChange) helmChart(namespace string) {
	k.hr.Spec.ChartRef, k.hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
		Chart: "web", SourceRef: helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "repo", Namespace: namespace},
	}}
}

func (k *kindChange) ociRepository() {
	k.hr.Spec.ChartRef, k.hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{Kind: helmv2.KindOCIRepository, Spec: helmv2.HelmChartTemplateSpec{URL: "oci://registry/web"}}
}

// do calls a step and records its result.
func (k *kindChange) do(t *testing.T, step func(context.Context, *helmv2.HelmRelease) (string, error)) {
	t.Helper()
	var err error
	if k.hr.Status.HelmChart, err = step(t.Context(), k.hr); err != nil {
		t.Fatal(err)
	}
}

// expect compares status.helmChart and the sources that exist.
func (k *kindChange) expect(t *testing.T, when, recorded string, sources ...string) {
	t.Helper()
	var charts sourcev1.HelmChartList
	var repositories sourcev1.OCIRepositoryList
	if err := errors.Join(k.Live.List(t.Context(), &charts), k.Live.List(t.Context(), &repositories)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range charts.Items {
		got = append(got, inputs.RecordOf(helmv2.KindHelmChart, client.ObjectKeyFromObject(&o)))
	}
	for _, o := range repositories.Items {
		got = append(got, inputs.RecordOf(helmv2.KindOCIRepository, client.ObjectKeyFromObject(&o)))
	}
	if k.hr.Status.HelmChart != recorded || !slices.Equal(got, sources) {
		t.Errorf("%s: recorded %q, sources %q; want %q, %q", when, k.hr.Status.HelmChart, got, recorded, sources)
	}
}

// TestTemplateChangesItsKind: the source of the new kind is made first, and the former one is deleted
// when the new one is in use.
func TestTemplateChangesItsKind(t *testing.T) {
	t.Parallel()
	const chart, elsewhere, oci = "apps/apps-web", "charts/apps-web", "OCIRepository/apps/apps-web"
	k := newKindChange(t)
	k.helmChart("")
	k.do(t, k.Ensure)
	k.expect(t, "at first", chart, chart)
	k.do(t, k.DeleteFormer)
	k.expect(t, "in use", chart, chart)

	k.ociRepository()
	k.do(t, k.Ensure)
	k.expect(t, "the OCIRepository is not in use", chart, chart, oci)
	k.do(t, k.Ensure)
	k.expect(t, "the OCIRepository is not in use yet", chart, chart, oci)
	k.do(t, k.DeleteFormer)
	k.expect(t, "the OCIRepository is in use", oci, oci)
	k.do(t, k.Ensure)
	k.do(t, k.DeleteFormer)
	k.expect(t, "nothing changes", oci, oci)

	k.helmChart("charts")
	k.do(t, k.Ensure)
	k.expect(t, "the HelmChart is not in use", elsewhere, elsewhere, oci)
	k.ociRepository()
	k.do(t, k.Ensure)
	k.do(t, k.DeleteFormer)
	k.expect(t, "the change was reverted", oci, oci)
	k.helmChart("charts")
	k.do(t, k.Ensure)
	k.helmChart("")
	k.do(t, k.Ensure)
	k.expect(t, "another HelmChart, which status replaces", chart, chart, oci)
	k.do(t, k.DeleteFormer)
	k.expect(t, "the HelmChart is in use", chart, chart)

	k.ociRepository()
	k.do(t, k.Ensure)
	k.helmChart("")
	k.do(t, k.Ensure)
	k.do(t, k.DeleteFormer)
	k.expect(t, "a change that was reverted before its use", chart, chart)
}

// TestFormerDigest: if the chart of a HelmChart is another one, the status loses the digest of the
// OCIRepository before that is deleted.
func TestFormerDigest(t *testing.T) {
	t.Parallel()
	const chart, oci = "apps/apps-web", "OCIRepository/apps/apps-web"
	for name, want := range map[string]string{"same": "sha256:a", "other": ""} {
		k := newKindChange(t)
		k.ociRepository()
		k.do(t, k.Ensure)
		k.helmChart("")
		k.do(t, k.Ensure)
		k.hr.Status.LastAttemptedRevisionDigest = "sha256:a"
		rec := reconciliation{read: k.hr, hr: k.hr}
		rec.want.Chart.OCIDigest = want
		i := &inputReader{sources: k.sourceMaker}
		for _, sources := range [][]string{{chart, oci}, {chart}} {
			if want != "" {
				sources = []string{chart}
			}
			var err error
			if rec, err = i.deleteFormerSource(t.Context(), rec); err != nil || rec.hr.Status.LastAttemptedRevisionDigest != want {
				t.Errorf("%s: the digest is %q, %v", name, rec.hr.Status.LastAttemptedRevisionDigest, err)
			}
			k.expect(t, name, chart, sources...)
		}
	}
}

// TestStatusChoosesNoSource: a status that names the source of somebody else does not delete it.
func TestStatusChoosesNoSource(t *testing.T) {
	t.Parallel()
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	for recorded, source := range map[string]client.Object{
		"OCIRepository/other/shop":     &sourcev1.OCIRepository{ObjectMeta: meta("other", "shop")},
		"OCIRepository/other/apps-web": &sourcev1.OCIRepository{ObjectMeta: meta("other", "apps-web")},
		"OCIRepository/apps/shop":      &sourcev1.OCIRepository{ObjectMeta: meta("apps", "shop")},
		"other/shop":                   &sourcev1.HelmChart{ObjectMeta: meta("other", "shop")},
		"other/apps-web":               &sourcev1.HelmChart{ObjectMeta: meta("other", "apps-web")},
	} {
		k := newKindChange(t, source)
		k.hr.Spec.Chart, k.hr.Status.HelmChart = nil, recorded
		k.do(t, k.Delete)
		k.expect(t, recorded, "", recorded)
	}
}

// TestBothSourcesAreDeleted: a HelmRelease that needs no source any longer leaves none, even while its
// template changes its kind.
func TestBothSourcesAreDeleted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(k *kindChange){
		"to OCIRepository": (*kindChange).ociRepository, "and back": func(k *kindChange) { k.ociRepository(); k.do(t, k.Ensure); k.helmChart("") },
		"to chartRef": func(k *kindChange) {
			k.ociRepository()
			k.do(t, k.Ensure)
			k.hr.Spec.Chart, k.hr.Spec.ChartRef = nil, &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: "other"}
		},
	} {
		k := newKindChange(t)
		k.helmChart("")
		k.do(t, k.Ensure)
		change(k)
		k.do(t, k.Ensure)
		k.do(t, k.Delete)
		k.expect(t, name, "")
	}
	k := newKindChange(t)
	k.ociRepository()
	k.do(t, k.Ensure)
	k.do(t, k.Delete)
	k.expect(t, "an OCIRepository alone", "")
}

// TestOtherOCIRepositoriesStay: an OCIRepository of the same name stays if it is part of a release, if
// it was not made for the HelmRelease, or if spec.chartRef names it.
func TestOtherOCIRepositoriesStay(t *testing.T) {
	t.Parallel()
	const oci = "OCIRepository/apps/apps-web"
	own := map[string]string{helmv2.LabelNamespace: "apps", helmv2.LabelName: "web"}
	for name, tc := range map[string]struct {
		labels, annotations map[string]string
		ref                 string
	}{
		"part of a release": {labels: own, annotations: map[string]string{helmv2.AnnotationHelmReleaseName: "web"}, ref: "other"},
		"made by hand":      {ref: "other"},
		"of another owner":  {labels: map[string]string{helmv2.LabelNamespace: "apps", helmv2.LabelName: "shop"}, ref: "other"},
		"in use":            {labels: own, ref: "apps-web"},
	} {
		k := newKindChange(t, &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "apps-web", Labels: tc.labels, Annotations: tc.annotations}})
		k.hr.Spec.Chart, k.hr.Spec.ChartRef = nil, &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: tc.ref}
		k.do(t, k.Ensure)
		k.do(t, k.Delete)
		k.expect(t, name, "", oci)
	}
}
