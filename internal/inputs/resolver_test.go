// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render/handler"
	"github.com/pintle-dev/pintle/internal/worker"
)

const (
	tagDigest   = "sha256:9933f58f8bf459eb199d59ebc8a05683f3944e1242d9f5467d99aa2cf08a5370"
	emptyDigest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// workers returns a worker that parses charts in this process.
func workers() worker.Caller { return worker.Local{Handler: handler.New()} }

// store serves one packaged chart, note 1.2.3, at /chart.tgz.
type store struct {
	charts *chart.Store
	url    string
	digest string
}

func newStore(t *testing.T) store {
	t.Helper()
	return newStoreWith(t, chart.Options{})
}

func newStoreWith(t *testing.T, o chart.Options) store {
	t.Helper()
	data := pack(t, "note", "1.2.3")
	mux := http.NewServeMux()
	mux.HandleFunc("/chart.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) })
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusBadGateway) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	if o.Workers == nil {
		o.Workers = workers()
	}
	o.Client, o.MaxBytes, o.Grace = server.Client(), 1<<20, time.Minute
	return store{
		charts: chart.NewStore(o), url: server.URL,
		digest: digest.SHA256.FromBytes(data).String(),
	}
}

func (s store) artifact(revision string) *fluxmeta.Artifact {
	return &fluxmeta.Artifact{URL: s.url + "/chart.tgz", Digest: s.digest, Revision: revision}
}

func pack(t *testing.T, name, version string) []byte {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	content := fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\nappVersion: \"9\"\n", name, version)
	if err := tw.WriteHeader(&tar.Header{Name: name + "/Chart.yaml", Mode: 0o644, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(tw, content); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// reader returns a client that holds copies of objects. The client writes to its objects, which
// parallel tests may share.
func reader(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(sourcev1.AddToScheme(scheme), corev1.AddToScheme(scheme), helmv2.AddToScheme(scheme), cattlev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, o := range objects {
		own, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			t.Fatalf("%T is not an object", o)
		}
		builder = builder.WithObjects(own)
	}
	return builder.Build()
}

// app returns the HelmRelease prod/app, which takes its chart from the
// OCIRepository prod/app.
func app(edit ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	hr := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "app", UID: "uid-1", Generation: 3},
		Spec: helmv2.HelmReleaseSpec{
			ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: "app"},
			Interval: metav1.Duration{Duration: time.Hour},
		},
	}
	for _, e := range edit {
		e(hr)
	}
	return hr
}

// repository returns the OCIRepository prod/app, ready.
func repository(s store, edit ...func(*sourcev1.OCIRepository)) *sourcev1.OCIRepository {
	o := &sourcev1.OCIRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "app", Generation: 2},
		Status:     sourcev1.OCIRepositoryStatus{ObservedGeneration: 2, Artifact: s.artifact("1.2.3@" + tagDigest)},
	}
	for _, e := range edit {
		e(o)
	}
	return o
}

func condition(kind string, status metav1.ConditionStatus, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: "Tested", Message: message}
}

// compare ignores wrapped errors: their texts are part of the message.
func compare() cmp.Options {
	return cmp.Options{cmp.AllowUnexported(release.Retry{}), cmpopts.IgnoreFields(release.Blocked{}, "Err"), cmpopts.IgnoreFields(Want{}, "Layers")}
}

func blocked(t *testing.T, err error) *release.Blocked {
	t.Helper()
	if err == nil {
		return nil
	}
	var b *release.Blocked
	if !errors.As(err, &b) {
		t.Fatalf("the error is not a release.Blocked: %T %v", err, err)
	}
	return b
}

// TestResolveBlocked: an input that is missing or invalid yields a release.Blocked.
func TestResolveBlocked(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	notReady := func(why string) *release.Blocked {
		return &release.Blocked{
			Reason: helmv2.ReasonSourceNotReady, Quiet: true, Retry: release.Interval(sourceRetry),
			Message: "OCIRepository 'prod/app' is not ready: " + why,
		}
	}
	failing := func(why string) *release.Blocked {
		b := notReady(why)
		b.Failing = true
		return b
	}
	refused := func(message string) *release.Blocked {
		return &release.Blocked{Reason: helmv2.ReasonUnsupportedField, Terminal: true, Retry: release.Never(), Message: message}
	}
	cases := map[string]struct {
		reason string
		edit   func(*helmv2.HelmRelease)
		source func(*sourcev1.OCIRepository)
		// failing makes reading any source fail.
		failing error
		want    *release.Blocked
	}{
		"Nothing": {reason: "all inputs are ready"},
		"FailingSourceWithArtifact": {
			reason: "a source whose last fetch failed still has the requested artifact",
			source: func(o *sourcev1.OCIRepository) {
				o.Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionFalse, "registry is down")}
			},
		},
		"SourceMissing": {
			reason: "the creation of a missing source triggers a reconciliation",
			edit:   func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "nowhere" },
			want: &release.Blocked{
				Reason: helmv2.ReasonArtifactFailed, Retry: release.Interval(sourceRetry),
				Message: "could not get Source object: OCIRepository 'prod/nowhere' not found",
			},
		},
		"HelmChartMissing": {
			reason: "the creation of a missing HelmChart triggers a reconciliation",
			edit:   func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Kind = helmv2.KindHelmChart },
			want: &release.Blocked{
				Reason: helmv2.ReasonArtifactFailed, Retry: release.Interval(sourceRetry),
				Message: "could not get Source object: HelmChart 'prod/app' not found",
			},
		},
		"SourceUnreadable": {
			reason: "any other failure to read is retried with back-off", failing: errors.New("forbidden"),
			want: &release.Blocked{
				Reason: helmv2.ReasonArtifactFailed, Retry: release.Backoff(),
				Message: "could not get Source object OCIRepository 'prod/app': forbidden",
			},
		},
		"OtherKind": {
			reason: "an unknown kind of source is rejected",
			edit:   func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Kind = "Other" },
			want:   refused("spec.chartRef.kind Other is not supported by this version"),
		},
		"GenerationLag": {
			reason: "a source that has not observed its generation is not ready",
			source: func(o *sourcev1.OCIRepository) { o.Generation = 3 },
			want:   notReady("latest generation of object has not been reconciled"),
		},
		"Stalled": {
			reason: "the message of a stalled source is quoted",
			source: func(o *sourcev1.OCIRepository) {
				o.Status.Conditions = []metav1.Condition{condition("Stalled", metav1.ConditionTrue, "bad URL")}
			},
			want: failing("bad URL"),
		},
		"StalledWithoutMessage": {
			reason: "a stalled source blocks without a message too",
			source: func(o *sourcev1.OCIRepository) {
				o.Status.Conditions = []metav1.Condition{condition("Stalled", metav1.ConditionTrue, "")}
			},
			want: failing(""),
		},
		"NotReadyWithoutMessage": {
			reason: "a source without an artifact blocks if its Ready condition has no message",
			source: func(o *sourcev1.OCIRepository) {
				o.Status.Artifact = nil
				o.Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionFalse, "")}
			},
			want: failing(""),
		},
		"NotStalledAnyMore": {
			reason: "a condition Stalled that is false does not block",
			source: func(o *sourcev1.OCIRepository) {
				o.Status.Conditions = []metav1.Condition{condition("Stalled", metav1.ConditionFalse, "bad URL")}
			},
		},
		"NoArtifact": {
			reason: "without an artifact there is no chart",
			source: func(o *sourcev1.OCIRepository) { o.Status.Artifact = nil },
			want:   notReady("does not have an artifact"),
		},
		"NotReadyMessage": {
			reason: "the message of the source's Ready condition has precedence",
			source: func(o *sourcev1.OCIRepository) {
				o.Status.Artifact = nil
				o.Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionFalse, "no such repository")}
			},
			want: failing("no such repository"),
		},
		"ReadyMessageOfReadySource": {
			reason: "the message of a Ready condition that is true is not quoted",
			source: func(o *sourcev1.OCIRepository) {
				o.Status.Artifact = nil
				o.Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionTrue, "stored artifact")}
			},
			want: notReady("does not have an artifact"),
		},
		"ArtifactNotFound": {
			reason: "a missing artifact is usually replaced soon",
			source: func(o *sourcev1.OCIRepository) {
				o.Status.Artifact.URL, o.Status.Artifact.Digest = s.url+"/gone", tagDigest
			},
			want: &release.Blocked{
				Reason: helmv2.ReasonArtifactFailed, Quiet: true, Upstream: true, Retry: release.After(sourceRetry),
				Message: "Source not ready: artifact not found",
			},
		},
		"ServerBroken": {
			reason: "other responses are errors",
			source: func(o *sourcev1.OCIRepository) {
				o.Status.Artifact.URL, o.Status.Artifact.Digest = s.url+"/broken", tagDigest
			},
			want: &release.Blocked{
				Reason: helmv2.ReasonArtifactFailed, Upstream: true, Retry: release.Backoff(),
				Message: "Could not load chart: artifact cannot be downloaded: GET " + s.url + "/broken answered 502 Bad Gateway",
			},
		},
		"DigestMismatch": {
			reason: "an artifact with another digest is never used",
			source: func(o *sourcev1.OCIRepository) { o.Status.Artifact.Digest = tagDigest },
			want: &release.Blocked{
				Reason: helmv2.ReasonArtifactFailed, Upstream: true, Retry: release.Backoff(),
				Message: "Could not load chart: artifact " + s.url + "/chart.tgz has digest " + s.digest + ", but its source reports " + tagDigest,
			},
		},
		"ChartMutateError": {
			reason: "a tag of another version is rejected, without an event",
			source: func(o *sourcev1.OCIRepository) { o.Status.Artifact.Revision = "1.2.4@" + tagDigest },
			want: &release.Blocked{
				Reason: helmv2.ReasonChartMutateError, Quiet: true, Retry: release.Backoff(),
				Message: "artifact revision 1.2.4 does not match chart version 1.2.3",
			},
		},
		"BadValues": {
			reason: "the message names the field of invalid values",
			edit:   func(hr *helmv2.HelmRelease) { hr.Spec.Values = &apiextensionsv1.JSON{Raw: []byte("a: .inf")} },
			want: &release.Blocked{
				Reason: helmv2.ReasonValuesError, Retry: release.Backoff(),
				Message: "spec.values cannot be read: error converting YAML to JSON: json: unsupported value: +Inf",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hr, repo := app(), repository(s)
			if tc.edit != nil {
				tc.edit(hr)
			}
			if tc.source != nil {
				tc.source(repo)
			}
			var r client.Reader = reader(t, repo)
			if tc.failing != nil {
				r = interceptor.NewClient(reader(t), interceptor.Funcs{
					Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
						return tc.failing
					},
				})
			}
			before := hr.DeepCopy()
			want, err := NewResolver(r, r, s.charts).Resolve(t.Context(), hr, release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, time.Now()))
			got := blocked(t, err)
			if diff := cmp.Diff(tc.want, got, compare()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, hr); diff != "" {
				t.Errorf("Resolve changed the HelmRelease (-before +after):\n%s", diff)
			}
			// Decisions about a blocked release need these fields too.
			if want.UID != "uid-1" || want.Generation != 3 || want.Target.Name == "" {
				t.Errorf("%s: the basics are missing: %+v", tc.reason, want.Desired)
			}
		})
	}
}

// TestBlockedKeepsItsCause: a release.Blocked wraps the error of the chart store.
func TestBlockedKeepsItsCause(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	repo := repository(s, func(o *sourcev1.OCIRepository) {
		o.Status.Artifact.URL, o.Status.Artifact.Digest = s.url+"/gone", tagDigest
	})
	_, err := NewResolver(reader(t, repo), nil, s.charts).Resolve(t.Context(), app(), release.Suspension{})
	if !errors.Is(err, chart.ErrNotFound) {
		t.Errorf("the cause is lost: %v", err)
	}
}

// silence is a transport that does not respond until a request is cancelled.
type silence struct{}

func (silence) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// TestDownloadDoesNotBlock: Resolve returns while a download runs, with the time of the next try
// and a channel that is closed at its end.
func TestDownloadDoesNotBlock(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	repo := repository(s, func(o *sourcev1.OCIRepository) { o.Status.Artifact.URL = "http://mute/chart.tgz" })
	synctest.Test(t, func(t *testing.T) {
		charts := chart.NewStore(chart.Options{Workers: workers(), Client: &http.Client{Transport: silence{}, Timeout: time.Minute}, MaxBytes: 1 << 20})
		r := NewResolver(reader(t, repo), nil, charts)
		resolve := func(want release.Blocked) error {
			t.Helper()
			want.Reason, want.Progressing, want.Quiet, want.Upstream = helmv2.ReasonArtifactFailed, true, true, true
			want.Message = "Waiting for the artifact server: artifact http://mute/chart.tgz has not been downloaded yet"
			_, err := r.Resolve(t.Context(), app(), release.Suspension{})
			var got *release.Blocked
			if !errors.As(err, &got) {
				t.Fatalf("want a release.Blocked, got %v", err)
			}
			if diff := cmp.Diff(&want, got, compare()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			return err
		}
		ended := DownloadEnded(resolve(release.Blocked{Brief: true, Retry: release.After(chart.SlowAfter)}))
		time.Sleep(chart.SlowAfter)
		synctest.Wait()
		if other := DownloadEnded(resolve(release.Blocked{Retry: release.After(sourceRetry)})); ended == nil || other != ended {
			t.Error("there is no channel for the end of the download, or a second download")
		}
		<-ended
		_, err := r.Resolve(t.Context(), app(), release.Suspension{})
		if err == nil || !strings.Contains(err.Error(), "Could not load chart: artifact cannot be downloaded: ") || DownloadEnded(err) != nil {
			t.Errorf("it ended with %v", err)
		}
	})
}

// TestFetchChart: FetchChart returns the bytes of the chart even if the store caches nothing.
func TestFetchChart(t *testing.T) {
	t.Parallel()
	s := newStoreWith(t, chart.Options{NoCache: true})
	r := NewResolver(reader(t, repository(s)), nil, s.charts)
	for range 2 {
		want, err := r.Resolve(t.Context(), app(), release.Suspension{})
		if err != nil {
			t.Fatal(err)
		}
		fetched, err := r.FetchChart(t.Context(), app(), want)
		if err != nil || !fetched.Artifact.Fetched() || fetched.Artifact.Tenant != "prod" {
			t.Errorf("fetched: %t, %v", fetched.Artifact.Fetched(), err)
		}
		fetched.Artifact = want.Artifact
		if diff := cmp.Diff(want, fetched, compare()); diff != "" {
			t.Errorf("something else changed (-resolved +fetched):\n%s", diff)
		}
	}
	want, err := r.Resolve(t.Context(), app(), release.Suspension{})
	if err != nil {
		t.Fatal(err)
	}
	want.Artifact.URL = s.url + "/broken"
	var blocked *release.Blocked
	if _, err := r.FetchChart(t.Context(), app(), want); !errors.As(err, &blocked) || blocked.Reason != helmv2.ReasonArtifactFailed || !blocked.Retry.IsBackoff() {
		t.Errorf("a failed download blocks with %+v, %v", blocked, err)
	}
}

// TestInvalidExpressions: an invalid expression is rejected before anything is read.
func TestInvalidExpressions(t *testing.T) {
	t.Parallel()
	hr := app()
	hr.Spec.HealthCheckExprs = []helmv2.CustomHealthCheck{{APIVersion: "example.com/v1", Current: "status.ready"}, {APIVersion: "example.com/v2", Kind: "Thing"}}
	_, err := NewResolver(reader(t), nil, nil).Resolve(t.Context(), hr, release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, time.Now()))
	got := blocked(t, err)
	const want = "Reconciliation failed terminally due to configuration error: spec.healthCheckExprs[1].current: expression '': "
	if got.Reason != helmv2.ReasonInvalidCELExpression || !got.Terminal || !strings.HasPrefix(got.Message, want) {
		t.Errorf("got %+v", got)
	}
	hr.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	if _, err := NewResolver(reader(t), nil, nil).Resolve(t.Context(), hr, release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, time.Now())); err != nil {
		t.Errorf("a release that is deleted needs no expressions: %v", err)
	}
}

// TestResolve: the result contains all inputs of a HelmRelease.
func TestResolve(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	suspended := release.Suspension{Active: true, BySpec: true, Why: "spec.suspend is set"}
	duration := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	policyWith := func(change func(*release.Policy)) release.Policy {
		p := release.Policy{
			Interval: time.Hour, TestTimeout: 5 * time.Minute, RollbackTimeout: 5 * time.Minute, UninstallTimeout: 5 * time.Minute,
			Install:   release.ActionPolicy{Timeout: 5 * time.Minute, RetryInterval: 5 * time.Minute, Uninstall: true},
			Upgrade:   release.ActionPolicy{Timeout: 5 * time.Minute, RetryInterval: 5 * time.Minute},
			Reinstall: true, Drift: helmv2.DriftDetectionDisabled, DriftTimeout: 5 * time.Minute,
		}
		change(&p)
		return p
	}
	policy := policyWith(func(*release.Policy) {})
	note := release.Chart{Name: "note", Version: "1.2.3+9933f58f8bf4", AppVersion: "9", OCIDigest: tagDigest, Digest: s.digest}
	plain := release.Chart{Name: "note", Version: "1.2.3", AppVersion: "9", Digest: s.digest}
	target := release.Target{Name: "app", Namespace: "prod", StorageNamespace: "prod"}
	artifact := chart.Artifact{URL: s.url + "/chart.tgz", Digest: s.digest}
	helmChart := func(namespace, name string) *sourcev1.HelmChart {
		return &sourcev1.HelmChart{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Status:     sourcev1.HelmChartStatus{Artifact: s.artifact("1.2.3")},
		}
	}
	template := func(namespace string) func(*helmv2.HelmRelease) {
		return func(hr *helmv2.HelmRelease) {
			hr.Spec.ChartRef, hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{Chart: "note"}}
			hr.Spec.Chart.Spec.SourceRef = helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "charts", Namespace: namespace}
		}
	}
	cases := map[string]struct {
		reason  string
		edit    func(*helmv2.HelmRelease)
		objects []client.Object
		want    Want
	}{
		"OCIRepository": {
			reason: "the digest of an OCI artifact becomes part of the version", objects: []client.Object{repository(s)},
			want: Want{
				Desired:  release.Desired{UID: "uid-1", Namespace: "prod", Generation: 3, Target: target, Chart: note, SourceRevision: "1.2.3@" + tagDigest, ConfigDigest: emptyDigest, Policy: policy},
				Artifact: artifact, Values: map[string]any{},
			},
		},
		"KeepClaims": {
			reason: "an annotation excludes a release that holds claims from the uninstall", objects: []client.Object{repository(s)},
			edit: func(hr *helmv2.HelmRelease) { hr.Annotations = map[string]string{helmv2.AnnotationKeepClaims: "true"} },
			want: Want{
				Desired: release.Desired{
					UID: "uid-1", Namespace: "prod", Generation: 3, Target: target, Chart: note, SourceRevision: "1.2.3@" + tagDigest, ConfigDigest: emptyDigest,
					Policy: policyWith(func(p *release.Policy) { p.KeepClaims = true }),
				},
				Artifact: artifact, Values: map[string]any{},
			},
		},
		"Values": {
			reason: "values are parsed and digested", objects: []client.Object{repository(s)},
			edit: func(hr *helmv2.HelmRelease) { hr.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"foo":"bar"}`)} },
			want: Want{
				Desired: release.Desired{
					UID: "uid-1", Namespace: "prod", Generation: 3, Target: target, Chart: note, SourceRevision: "1.2.3@" + tagDigest, Policy: policy,
					ConfigDigest: "sha256:1dabc4e3cbbd6a0818bd460f3a6c9855bfe95d506c74726bc0f2edb0aecb1f4e",
				},
				Artifact: artifact, Values: map[string]any{"foo": "bar"},
			},
		},
		"OtherNamespace": {
			reason:  "a source may live in another namespace",
			objects: []client.Object{repository(s, func(o *sourcev1.OCIRepository) { o.Namespace = "sources" })},
			edit:    func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Namespace = "sources" },
			want: Want{
				Desired:  release.Desired{UID: "uid-1", Namespace: "prod", Generation: 3, Target: target, Chart: note, SourceRevision: "1.2.3@" + tagDigest, ConfigDigest: emptyDigest, Policy: policy},
				Artifact: artifact, Values: map[string]any{},
			},
		},
		"HelmChartRef": {
			reason: "the version of a HelmChart's chart stays as it is", objects: []client.Object{helmChart("prod", "app")},
			edit: func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Kind = helmv2.KindHelmChart },
			want: Want{
				Desired:  release.Desired{UID: "uid-1", Namespace: "prod", Generation: 3, Target: target, Chart: plain, SourceRevision: "1.2.3", ConfigDigest: emptyDigest, Policy: policy},
				Artifact: artifact, Values: map[string]any{},
			},
		},
		"Template": {
			reason: "spec.chart stands for a HelmChart beside the HelmRelease", objects: []client.Object{helmChart("prod", "prod-app")},
			edit: template(""),
			want: Want{
				Desired:  release.Desired{UID: "uid-1", Namespace: "prod", Generation: 3, Target: target, Chart: plain, SourceRevision: "1.2.3", ConfigDigest: emptyDigest, Policy: policy},
				Artifact: artifact, Values: map[string]any{},
			},
		},
		"TemplateElsewhere": {
			reason: "the HelmChart is in the namespace of its repository", objects: []client.Object{helmChart("sources", "prod-app")},
			edit: template("sources"),
			want: Want{
				Desired:  release.Desired{UID: "uid-1", Namespace: "prod", Generation: 3, Target: target, Chart: plain, SourceRevision: "1.2.3", ConfigDigest: emptyDigest, Policy: policy},
				Artifact: artifact, Values: map[string]any{},
			},
		},
		"Namespaces": {
			reason: "target and storage may have different namespaces", objects: []client.Object{repository(s)},
			edit: func(hr *helmv2.HelmRelease) {
				hr.Spec.TargetNamespace, hr.Spec.StorageNamespace = "target", "storage"
			},
			want: Want{
				Desired: release.Desired{
					UID: "uid-1", Namespace: "prod", Generation: 3, Chart: note, SourceRevision: "1.2.3@" + tagDigest, ConfigDigest: emptyDigest, Policy: policy,
					Target: release.Target{Name: "target-app", Namespace: "target", StorageNamespace: "storage"},
				},
				Artifact: artifact, Values: map[string]any{},
			},
		},
		"Timeouts": {
			reason: "each action may have a timeout of its own", objects: []client.Object{repository(s)},
			edit: func(hr *helmv2.HelmRelease) {
				hr.Spec.Timeout = duration(time.Minute)
				hr.Spec.Upgrade = &helmv2.Upgrade{Timeout: duration(2 * time.Minute)}
				hr.Spec.Uninstall = &helmv2.Uninstall{Timeout: duration(3 * time.Minute)}
			},
			want: Want{
				Desired: release.Desired{
					UID: "uid-1", Namespace: "prod", Generation: 3, Target: target, Chart: note, SourceRevision: "1.2.3@" + tagDigest, ConfigDigest: emptyDigest,
					Policy: policyWith(func(p *release.Policy) {
						p.Install.Timeout, p.TestTimeout, p.RollbackTimeout = time.Minute, time.Minute, time.Minute
						p.Upgrade.Timeout, p.UninstallTimeout = 2*time.Minute, 3*time.Minute
						p.DriftTimeout = time.Minute
					}),
				},
				Artifact: artifact, Values: map[string]any{},
			},
		},
		"Requests": {
			reason: "requests come from annotations", objects: []client.Object{repository(s)},
			edit: func(hr *helmv2.HelmRelease) {
				hr.Annotations = map[string]string{
					helmv2.AnnotationReconcileRequest: "1", helmv2.AnnotationForceRequest: "2", helmv2.AnnotationResetRequest: "3",
				}
			},
			want: Want{
				Desired: release.Desired{
					UID: "uid-1", Namespace: "prod", Generation: 3, Target: target, Chart: note, SourceRevision: "1.2.3@" + tagDigest, ConfigDigest: emptyDigest, Policy: policy,
					Requests: release.Requests{Reconcile: "1", Force: "2", Reset: "3"},
				},
				Artifact: artifact, Values: map[string]any{},
			},
		},
		"Deleted": {
			reason: "a deletion needs neither source nor supported fields",
			edit: func(hr *helmv2.HelmRelease) {
				hr.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
				hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "unsupported"}}
			},
			want: Want{Desired: release.Desired{UID: "uid-1", Namespace: "prod", Generation: 3, Target: target, Policy: policy, Deleted: true, DeletedAt: time.Unix(1, 0)}},
		},
		"Suspended": {
			reason: "a suspended HelmRelease needs no source",
			edit: func(hr *helmv2.HelmRelease) {
				hr.Spec.Suspend = true
				hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "unsupported"}}
			},
			want: Want{Desired: release.Desired{UID: "uid-1", Namespace: "prod", Generation: 3, Target: target, Policy: policy, Suspension: suspended}},
		},
		"Retries": {
			reason: "retries are part of the policies",
			edit: func(hr *helmv2.HelmRelease) {
				hr.Spec.Suspend = true
				hr.Spec.Install = &helmv2.Install{Remediation: &helmv2.InstallRemediation{Retries: -1}}
				hr.Spec.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{Retries: 3}}
			},
			want: Want{Desired: release.Desired{
				UID: "uid-1", Namespace: "prod", Generation: 3, Target: target, Suspension: suspended,
				Policy: policyWith(func(p *release.Policy) {
					p.Install.Retries, p.Upgrade.Retries, p.Upgrade.RemediateLast = -1, 3, true
				}),
			}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hr := app()
			if tc.edit != nil {
				tc.edit(hr)
			}
			got, err := NewResolver(reader(t, tc.objects...), nil, s.charts).Resolve(t.Context(), hr, release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, time.Now()))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, compare()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestValuesAreIndependent: values belong to the caller. Helm changes the values that it is given,
// which must not affect later reconciliations or the cached object.
func TestValuesAreIndependent(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	r := NewResolver(reader(t, repository(s)), nil, s.charts)
	const raw = `{"a":{"b":[1]}}`
	hr := app(func(hr *helmv2.HelmRelease) { hr.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(raw)} })
	first, err := r.Resolve(t.Context(), hr, release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	first.Values["a"].(map[string]any)["b"].([]any)[0] = "changed"
	first.Values["new"] = true
	second, err := r.Resolve(t.Context(), hr, release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": map[string]any{"b": []any{1.0}}}, second.Values); diff != "" {
		t.Errorf("values are shared (-want +got):\n%s", diff)
	}
	if string(hr.Spec.Values.Raw) != raw || first.ConfigDigest != second.ConfigDigest {
		t.Errorf("the spec changed: %s", hr.Spec.Values.Raw)
	}
}

// TestReleaseName: the name follows the spec, and names that are too long are shortened.
func TestReleaseName(t *testing.T) {
	t.Parallel()
	letters := strings.Repeat("abcdefghij", 6)
	cases := map[string]struct {
		reason string
		name   string
		spec   helmv2.HelmReleaseSpec
		want   string
	}{
		"Own":       {reason: "the object's name", name: "app", want: "app"},
		"Target":    {reason: "prefixed with the target namespace", name: "app", spec: helmv2.HelmReleaseSpec{TargetNamespace: "prod"}, want: "prod-app"},
		"Explicit":  {reason: "unless it is given", name: "app", spec: helmv2.HelmReleaseSpec{TargetNamespace: "prod", ReleaseName: "web"}, want: "web"},
		"Longest":   {reason: "Helm accepts 53 characters", name: letters[:53], want: letters[:53]},
		"TooLong":   {reason: "54 are shortened, with 12 of sha256 of the whole", name: letters[:54], want: letters[:40] + "-" + sum(letters[:54])},
		"MuchToo":   {reason: "the digest tells long names apart", name: letters[:60], want: letters[:40] + "-" + sum(letters[:60])},
		"TogetherL": {reason: "the limit is on the composed name", name: letters[:50], spec: helmv2.HelmReleaseSpec{TargetNamespace: "prod"}, want: "prod-" + letters[:35] + "-" + sum("prod-"+letters[:50])},
		"ExplicitL": {reason: "a given name is shortened too", name: "app", spec: helmv2.HelmReleaseSpec{ReleaseName: letters[:54]}, want: letters[:40] + "-" + sum(letters[:54])},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ReleaseName(&helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Name: tc.name}, Spec: tc.spec})
			if got != tc.want || len(got) > 53 {
				t.Errorf("%s: got %q (%d characters), want %q", tc.reason, got, len(got), tc.want)
			}
		})
	}
	// This value was not computed by the code under test.
	if got, want := ReleaseName(&helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("a", 54)}}),
		strings.Repeat("a", 40)+"-"+"a3f01b693925"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// sum returns the start of the digest of name.
func sum(name string) string { return digest.SHA256.FromString(name).Encoded()[:12] }

// absent is a worker that cannot be started.
type absent struct{}

func (absent) Call(context.Context, worker.Call, worker.Answer) ([]byte, error) {
	return nil, &worker.Unavailable{Cause: "starting one failed"}
}

// TestNoWorker: a chart that no worker reads is an obstacle like that of an API server that does not
// answer. A chart that ends its worker is one of its source.
func TestNoWorker(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		workers  worker.Caller
		upstream bool
		message  string
	}{
		"Absent": {absent{}, false, " has not been read: no worker process is available: starting one failed"},
		"Dying":  {dying{}, true, " cannot be read: reading the chart took more than 256 MiB of memory, and was ended"},
	} {
		s := newStoreWith(t, chart.Options{Workers: tc.workers})
		_, err := NewResolver(reader(t, repository(s)), nil, s.charts).Resolve(t.Context(), app(), release.Suspension{})
		b := blocked(t, err)
		want := "Could not load chart: chart in " + s.url + "/chart.tgz" + tc.message
		if b == nil || b.Reason != helmv2.ReasonArtifactFailed || b.Upstream != tc.upstream || b.Retry != release.Backoff() || b.Message != want {
			t.Errorf("%s: %+v, want %s", name, b, want)
		}
	}
}

// dying is a worker that dies.
type dying struct{}

func (dying) Call(context.Context, worker.Call, worker.Answer) ([]byte, error) {
	return nil, &worker.Died{Limit: worker.Memory, MaxMemory: 256 << 20}
}
