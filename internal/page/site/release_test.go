// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/manifest"
	"github.com/pintle-dev/pintle/internal/view/read"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files")

// releaseTime is the time of the tests of the release page.
var releaseTime = time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)

// releaseWorld is the cluster of one release page.
type releaseWorld struct {
	t  *testing.T
	hr *helmv2.HelmRelease
	// client reads the objects of a file. It counts requests by kind, and refuses some kinds.
	client.Reader

	refused map[string]error
	// contents is the error for values and manifests.
	contents error
	// answers is true if another cluster answers.
	answers bool
	mu      sync.Mutex
	sent    map[string]int
	reader  *read.Reader
}

func newReleaseWorld(t *testing.T) *releaseWorld {
	t.Helper()
	scheme, err := read.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("testdata/release.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := &releaseWorld{t: t, refused: map[string]error{}, sent: map[string]int{}}
	builder := fake.NewClientBuilder().WithScheme(scheme).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string { return []string{string(o.(*corev1.Event).InvolvedObject.UID)} })
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	for document := range strings.SplitSeq(string(raw), "\n---\n") {
		object, _, err := decoder.Decode([]byte(document), nil, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if hr, ok := object.(*helmv2.HelmRelease); ok {
			w.hr = hr
		}
		builder.WithObjects(object.(client.Object))
	}
	w.Reader = builder.Build()
	w.reader = &read.Reader{
		Client: w, Mapper: testrestmapper.TestOnlyStaticRESTMapper(scheme), Now: func() time.Time { return releaseTime },
		Stored: func(_ context.Context, _ release.Target, version int) (*read.Record, error) {
			return storedRevision(version), w.count("record")
		},
		Examine: func(_ context.Context, q release.DiagnosisRequest) *release.Diagnosis {
			if w.count("cause") != nil {
				return nil
			}
			return crashOf(q.Objects[0].Object)
		},
	}
	return w
}

// storedRevision is the record of a revision.
func storedRevision(version int) *read.Record {
	token := fmt.Sprintf("tok-of-revision-%d", version)
	r := release.Revision{
		Version: version, Status: helmv2.StatusSuperseded, Owner: "shop-uid", ChartName: "shop", ChartVersion: "2.0.0",
		Description: "Upgrade complete", SourceRevision: "2.0.0@sha256:0123", LastDeployed: releaseTime.Add(-5 * time.Hour),
	}
	if version == 3 {
		r.Status, r.ChartVersion, r.AppVersion, r.SourceRevision = helmv2.StatusFailed, "2.1.0", "9", "2.1.0@sha256:4567"
		r.Description, r.LastDeployed = "Upgrade failed: <script>alert(1)</script> of "+token, releaseTime.Add(-10*time.Minute)
	}
	const text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\nspec: {replicas: 1, template: {spec: {containers: [{name: shop, image: 'shop:%d'}]}}}\n" +
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData: {token: '%s'}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-motd}\ndata: {text: hello}\n"
	return &read.Record{Revision: r, Side: manifest.Side{
		Manifest: fmt.Sprintf(text, version, token), Values: map[string]any{"replicas": int64(version), "motd": "<b>" + token + "</b>"}, Secrets: []string{token},
	}}
}

// crashOf is the cause of an object that fails.
func crashOf(o release.Object) *release.Diagnosis {
	return &release.Diagnosis{
		Code: helmv2.FailureCrashLoop, Object: o, Summary: "container shop exited with code 3", Details: []string{"Pod shop-new-1: restarted 4 times"},
		Logs: []release.ContainerLog{{Pod: "shop-new-1", Container: "shop", Text: "starting\n<img src=x onerror=alert(1)>\nfatal: no database\n"}},
	}
}

// count counts a request, and returns its error.
func (w *releaseWorld) count(what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[what]++
	return w.refused[what]
}

// kindOf returns the kind of an object or list.
func (w *releaseWorld) kindOf(object any) string {
	if typed, ok := object.(interface {
		GroupVersionKind() schema.GroupVersionKind
	}); ok && typed.GroupVersionKind().Kind != "" {
		return typed.GroupVersionKind().Kind
	}
	name := fmt.Sprintf("%T", object)
	return name[strings.LastIndex(name, ".")+1:]
}

func (w *releaseWorld) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if err := w.count(w.kindOf(object)); err != nil {
		return err
	}
	return w.Reader.Get(ctx, key, object, opts...)
}

func (w *releaseWorld) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := w.count(w.kindOf(list)); err != nil {
		return err
	}
	return w.Reader.List(ctx, list, opts...)
}

// edit changes the HelmRelease.
func (w *releaseWorld) edit(change func(*helmv2.HelmRelease)) {
	w.t.Helper()
	change(w.hr)
	if err := w.Reader.(client.Client).Update(w.t.Context(), w.hr); err != nil {
		w.t.Fatal(err)
	}
}

// page reads the page with a query.
func (w *releaseWorld) page(query string) *releasePage {
	w.t.Helper()
	parameters, err := url.ParseQuery(query)
	if err != nil {
		w.t.Fatal(err)
	}
	p := newReleasePage(w.hr, parameters, releaseTime)
	p.read(w.t.Context(), sectionReaders{
		Reader:    withLimits(w.reader),
		contents:  func(context.Context, *helmv2.HelmRelease) error { return w.contents },
		elsewhere: func(_ context.Context, hr *helmv2.HelmRelease) (view.Tree, bool) { return view.NamesOf(hr), w.answers },
		others:    func(context.Context) (related, error) { return related{}, nil },
	}, w.hr)
	return p
}

// render renders a template of the page.
func render(t *testing.T, name string, data any) string {
	t.Helper()
	parsed, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := parsed.pages["release"].ExecuteTemplate(&b, name, data); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// golden compares HTML with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; -rewrite writes it. Got:\n%s", path, got)
	}
}

// TestReleaseSections: each section has its facts, without values of Secrets and without markup of
// others.
func TestReleaseSections(t *testing.T) {
	p := newReleaseWorld(t).page("from=2&to=3")
	for _, name := range []string{"state-of", "logs", "conditions", "timeline", "objects", "changes", "values"} {
		html := render(t, name, p)
		golden(t, "release-"+name, html)
		for _, secret := range []string{"correct horse", "tok-of-revision", "<script>", "<img", "<b>"} {
			if strings.Contains(html, secret) {
				t.Errorf("section %s has %q", name, secret)
			}
		}
	}
}

// TestReleaseSectionsMissing: a section that cannot be read has a sentence in its place, and the
// others come.
func TestReleaseSectionsMissing(t *testing.T) {
	w := newReleaseWorld(t)
	forbidden := func(resource string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("the test forbids it"))
	}
	w.refused["Secret"], w.refused["SecretList"], w.refused["record"] = forbidden("secrets"), forbidden("secrets"), forbidden("secrets")
	w.contents = forbidden("secrets")
	w.refused["EventList"], w.refused["PodList"], w.refused["Service"] = forbidden("events"), forbidden("pods"), forbidden("services")
	golden(t, "release-missing", render(t, "content", &layout{Content: w.page("from=2&to=3")}))
}

// TestReleaseWithoutIdentity: without the identity of the release, the page has what the status
// has.
func TestReleaseWithoutIdentity(t *testing.T) {
	w := newReleaseWorld(t)
	w.hr.OwnerReferences = []metav1.OwnerReference{{APIVersion: "helm.cattle.io/v1", Kind: "HelmChart", Name: "shop", Controller: new(true)}}
	p := newReleasePage(w.hr, nil, releaseTime)
	p.leaveOut(errors.New("ServiceAccount apps/helm does not exist"), w.hr)
	golden(t, "release-without-identity", render(t, "content", &layout{Content: p}))
}

// announce makes an upgrade run for 80 seconds.
func announce(hr *helmv2.HelmRelease) {
	at, text := metav1.NewTime(releaseTime.Add(-80*time.Second)), "Running 'upgrade' action with timeout of 5m0s"
	hr.Status.Conditions = []metav1.Condition{
		{Type: helmv2.ConditionReady, Status: metav1.ConditionUnknown, Reason: helmv2.ReasonProgressing, Message: text, LastTransitionTime: at},
		{Type: helmv2.ConditionReconciling, Status: metav1.ConditionTrue, Reason: helmv2.ReasonProgressing, Message: text, LastTransitionTime: at},
	}
}

// TestReleaseRunning: while an action runs, the page has the objects of the revision that it makes, what
// they wait for, and the time that is left.
func TestReleaseRunning(t *testing.T) {
	w := newReleaseWorld(t)
	w.edit(announce)
	p := w.page("")
	golden(t, "release-running", render(t, "state-of", p)+render(t, "objects", p))
}

// TestReleaseOnce: a message is on the page once, with its details below. Other conditions and events
// have only what it does not say, or that it is at the top.
func TestReleaseOnce(t *testing.T) {
	const cause, details = "Deployment apps/shop: container shop exited with code 3", "Helm upgrade failed for release apps/shop.v3: timed out"
	w := newReleaseWorld(t)
	w.edit(func(hr *helmv2.HelmRelease) {
		at := metav1.NewTime(releaseTime.Add(-time.Minute))
		hr.Status.Conditions = []metav1.Condition{
			{
				Type: helmv2.ConditionReady, Status: metav1.ConditionFalse, Reason: helmv2.ReasonUpgradeFailed, LastTransitionTime: at,
				Message: "Upgrade to shop 2.1.0 failed: " + cause + ". Chart shop 2.0.0 still runs. Fix the chart or the values.\n" + details,
			},
			{Type: helmv2.ConditionFailing, Status: metav1.ConditionTrue, Reason: helmv2.FailureCrashLoop, LastTransitionTime: at, Message: cause},
			{Type: helmv2.ConditionReleased, Status: metav1.ConditionFalse, Reason: helmv2.ReasonUpgradeFailed, LastTransitionTime: at, Message: details},
			{Type: helmv2.ConditionDrifted, Status: metav1.ConditionUnknown, Reason: helmv2.ReasonDriftDetected, LastTransitionTime: at, Message: cause + ". Unlike the others"},
		}
	})
	html := render(t, "content", &layout{Content: w.page("")})
	for text, want := range map[string]int{"still runs": 1, details: 1, cause: 1, "Unlike the others": 1, "at the top": 3} {
		if n := strings.Count(html, text); n != want {
			t.Errorf("%q is on the page %d times, not %d", text, n, want)
		}
	}
}

// destructivePlan is a plan that waits for approval, and that deletes an object.
func destructivePlan() *v1alpha1.ReleasePlan {
	digest := func(c string) string { return "sha256:" + strings.Repeat(c, 64) }
	plan := &v1alpha1.ReleasePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "shop"}}
	plan.Status = v1alpha1.ReleasePlanStatus{
		Digest: digest("a"), Action: "Upgrade",
		From:    &v1alpha1.PlanRevision{Revision: 3, Chart: "shop@2.0.0"},
		To:      &v1alpha1.PlanRevision{Chart: "shop@2.1.0", Source: "2.1.0@" + digest("b")},
		Summary: v1alpha1.PlanSummary{Update: 1, Delete: 1, Unchanged: 4, Destructive: 1},
		Dangers: []v1alpha1.PlanDanger{{Class: v1alpha1.DataLoss, Kind: "PersistentVolumeClaim", Namespace: "apps", Name: "exports", Reason: "it is deleted, and its data may be lost"}},
		Images:  []v1alpha1.PlanImage{{Object: "Deployment/shop", Container: "shop", From: "shop@" + digest("c"), To: "shop@" + digest("d")}},
		Changes: []v1alpha1.PlanChange{
			{Kind: "PersistentVolumeClaim", Namespace: "apps", Name: "exports", Change: v1alpha1.ChangeDelete, Destructive: true},
			{Kind: "Deployment", Namespace: "apps", Name: "shop", Change: v1alpha1.ChangeUpdate, Fields: []v1alpha1.PlanField{{Path: ".spec.replicas", From: "2", To: "3"}}},
		},
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionApproved, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonAwaitingApproval},
		},
	}
	return plan
}

// TestReleasePlan: the plan is above the sections, its destructive changes come first, and digests are
// short.
func TestReleasePlan(t *testing.T) {
	p := newReleaseWorld(t).page("")
	p.Related.Content.Plan = planOf(view.PlanOf(destructivePlan()))
	html := render(t, "content", &layout{Content: p})
	plan, rest, _ := strings.Cut(html[strings.Index(html, `<section id="plan"`):], "</section>")
	golden(t, "release-plan", plan+"</section>")
	if !strings.Contains(rest, `id="conditions"`) || strings.Contains(rest, `id="plan"`) {
		t.Error("the plan is not above the conditions, or twice on the page")
	}
}

// TestReleaseHooks: the hooks of both versions have what is known of them.
func TestReleaseHooks(t *testing.T) {
	p := newReleaseWorld(t).page("")
	p.Related.Content.Hooks = view.First([]view.HookRow{
		{
			Version: view.HookInstalled, Name: "shop-migrate", Kind: "Job", Events: "pre-upgrade", Weight: new(0), DeletePolicy: "before-hook-creation",
			LastRun: &view.HookRun{By: "Helm", Result: "Succeeded", At: time.Date(2026, 1, 2, 14, 0, 0, 0, time.UTC)}, Command: "kubectl pintle run shop shop-migrate -n apps",
		},
		{Version: view.HookNext, Name: "<b>new</b>", Kind: "Job", Events: "pre-upgrade"},
	}, maxEntries)
	p.Related.Content.HookNotes = []string{"a note"}
	html := render(t, "content", &layout{Content: p})
	hooks, _, _ := strings.Cut(html[strings.Index(html, `<section id="hooks"`):], "</section>")
	golden(t, "release-hooks", hooks+"</section>")
}

// TestReleaseElsewhere: of a release in another cluster, the page has names and readiness of the
// objects, and nothing that the reader of the own cluster reads. Without an answer it says so.
func TestReleaseElsewhere(t *testing.T) {
	w := newReleaseWorld(t)
	w.edit(func(hr *helmv2.HelmRelease) {
		hr.Spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: "other"}}
	})
	p := w.page("")
	golden(t, "release-elsewhere", render(t, "objects", p)+render(t, "timeline", p))
	w.answers = true
	if html := render(t, "objects", w.page("")); strings.Contains(html, "did not answer") {
		t.Errorf("the cluster has answered, and the page has\n%s", html)
	}
	for _, kind := range []string{"Deployment", "Service", "PodList", "SecretList", "record", "cause"} {
		if w.sent[kind] > 0 {
			t.Errorf("a page of a release in another cluster reads %s", kind)
		}
	}
}

// TestReleaseParameters: wrong parameters have a sentence, and nothing is compared.
func TestReleaseParameters(t *testing.T) {
	for query, want := range map[string]bool{
		"": false, "from=2&to=3": false, "from=3&to=2": false, "from=2": true, "to=2": true, "from=2&to=2": true, "from=0&to=2": true, "from=-1&to=2": true, "from=a&to=2": true, "from=1&to=%3Cb%3E": true,
	} {
		parameters, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		c, problem := parseComparison(parameters)
		if (problem != "") != want || c.asked() != (query != "" && !want) {
			t.Errorf("%q: %+v, %s", query, c, problem)
		}
	}
}

// TestReleaseRequests: the requests of one page are few, and each object is read once.
func TestReleaseRequests(t *testing.T) {
	w := newReleaseWorld(t)
	w.page("")
	want := map[string]int{
		// It is kept by the controller.
		"HelmRelease": 1,
		"EventList":   1, "SecretList": 1, "Deployment": 1, "Service": 1, "ConfigMap": 2, "Secret": 1,
		"ReplicaSetList": 1, "JobList": 1, "PodList": 1,
		// Three revisions, and the newest one for drift.
		"record": 4, "cause": 1,
	}
	if !maps.Equal(w.sent, want) {
		t.Errorf("the requests are %v, not %v", w.sent, want)
	}
}

// TestReleaseLimits: objects beyond the limit are not read, and their number is listed.
func TestReleaseLimits(t *testing.T) {
	w := newReleaseWorld(t)
	w.edit(func(hr *helmv2.HelmRelease) {
		for i := range 300 {
			hr.Status.Inventory.Entries = append(hr.Status.Inventory.Entries, helmv2.ResourceRef{ID: fmt.Sprintf("apps_more-%d__ConfigMap", i), Version: "v1"})
		}
	})
	p := w.page("")
	if n := len(p.Objects.Content.Nodes); n != maxObjects || !strings.Contains(strings.Join(p.Objects.Content.Unread, ";"), "objects: 103 more are left out") {
		t.Errorf("%d objects are shown, and not %q", n, p.Objects.Content.Unread)
	}
}

// TestSectionsTimeout: a section that hangs is left out in time, one that panics too, and the
// others are shown.
func TestSectionsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSections(t.Context(), sectionTimeout)
		var slow, waiting, failing, panicking, good section[string]
		release := make(chan struct{})
		load(s, &slow, func(context.Context) (string, error) { <-release; return "late", nil })
		load(s, &waiting, func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		load(s, &failing, func(context.Context) (string, error) { return "", errors.New("it is\n gone.") })
		load(s, &panicking, func(context.Context) (string, error) { panic("the test panics") })
		load(s, &good, func(context.Context) (string, error) { return "content", nil })
		began := time.Now()
		s.wait()
		close(release)
		if d := time.Since(began); d != sectionTimeout {
			t.Errorf("the page took %s", d)
		}
		const late = "Not shown: it was not read within 5s."
		if slow.Content != nil || slow.Missing != late || waiting.Missing != late || failing.Missing != "Not shown: it is gone." || good.Content == nil || *good.Content != "content" {
			t.Errorf("the sections are %+v, %+v, %+v, %+v", slow, waiting, failing, good)
		}
		if panicking.Content != nil || panicking.Missing != "Not shown: it could not be made, and the log of the controller has the error." {
			t.Errorf("a section that panics is %+v", panicking)
		}
	})
}
