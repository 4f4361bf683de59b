// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

// stub is a policy that selects all releases but those named other. reads counts reads of the cache.
type stub struct {
	*Tracker
	client   client.Client
	enqueued []string
	limited  bool
	reads    int
}

func (s *stub) HasRollouts() bool { return s.limited }

func (s *stub) Selects(_ context.Context, _ policy.Rollout, hr *helmv2.HelmRelease) bool {
	return hr.Name != "other"
}

func newStub(t *testing.T, names ...string) *stub {
	t.Helper()
	s := &stub{limited: true}
	chart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	chart.Status.Artifact, chart.Status.ObservedChartName = &fluxmeta.Artifact{Revision: "2.0.0"}, "web"
	objects := []client.Object{chart}
	for _, name := range names {
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name, Generation: 1}}
		hr.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindHelmChart, Name: "web"}
		objects = append(objects, hr)
	}
	count := interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			s.reads++
			return c.List(ctx, list, opts...)
		},
	}
	s.client = fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(objects...).WithStatusSubresource(&helmv2.HelmRelease{}).
		WithInterceptorFuncs(count).Build()
	now := time.Unix(1000, 0)
	s.Tracker = New(Options{
		Cached: s.client, Policies: s, Now: func() time.Time { return now },
		Enqueue: func(key types.NamespacedName) { s.enqueued = append(s.enqueued, key.Name) },
	})
	return s
}

func (s *stub) get(t *testing.T, name string) *helmv2.HelmRelease {
	t.Helper()
	hr := &helmv2.HelmRelease{}
	if err := s.client.Get(t.Context(), types.NamespacedName{Namespace: "apps", Name: name}, hr); err != nil {
		t.Fatal(err)
	}
	return hr
}

// ask reconciles a release that wants its chart. announce is whether its action is announced.
func (s *stub) ask(t *testing.T, name string, announce bool) string {
	t.Helper()
	hr := s.get(t, name)
	key := client.ObjectKeyFromObject(hr)
	defer s.End(key, s.Begin(key))
	var in release.Input
	in.Desired.Chart = release.Chart{Name: "web", Version: "2.0.0"}
	in.Desired.Demands.Rollouts = []policy.Rollout{{Policy: "ReleasePolicy/fleet", Namespace: "apps", Rollout: v1alpha1.Rollout{MaxConcurrent: 1, MaxFailed: 1}}}
	turn, err := s.Turn(t.Context(), hr, in)
	if err != nil {
		t.Fatal(err)
	}
	if turn.Free && announce {
		after := hr.DeepCopy()
		after.ResourceVersion += "0"
		announced(after)
		s.Wrote(hr, after)
	}
	return turn.Why
}

func announced(hr *helmv2.HelmRelease) {
	hr.Status.LastAttemptedReleaseAction, hr.Status.LastAttemptedRevision = helmv2.ActionInstall, "2.0.0"
	hr.Status.LastAttemptedGeneration, hr.Status.LastAttemptedReleaseActionDuration = 1, nil
	hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReconciling, Status: metav1.ConditionTrue, Reason: helmv2.ReasonProgressing}}
}

// TestTracker: a turn counts from the moment it is given, and then its announcement, even though the cache
// has neither. A turn that led to none is given back. Others are enqueued one by one.
func TestTracker(t *testing.T) {
	t.Parallel()
	s := newStub(t, "a", "b", "c", "other")
	drain := func() string {
		select {
		case <-s.changed:
		default:
			return "none"
		}
		names := make([]string, 0, 3)
		for _, key := range s.next(t.Context()) {
			names = append(names, key.Name)
		}
		return strings.Join(names, " ")
	}
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	expect("the first one", s.ask(t, "a", false), "")
	drain()
	expect("its turn was given back", s.ask(t, "b", true), "")
	expect("one is in flight", s.ask(t, "c", true), "ReleasePolicy/fleet: place 3 of 3 for web 2.0.0")
	expect("it is still in flight", s.ask(t, "a", true), "ReleasePolicy/fleet: place 1 of 3 for web 2.0.0")
	// The cache receives the announcement.
	hr := s.get(t, "b")
	announced(hr)
	if err := s.client.Status().Update(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
	s.Received(hr, false)
	expect("nothing has changed", drain(), "")
	expect("the cache has it", s.ask(t, "c", true), "ReleasePolicy/fleet: place 3 of 3 for web 2.0.0")
	// It fails.
	hr.Status.InstallFailures, hr.Status.LastAttemptedReleaseActionDuration = 1, &metav1.Duration{Duration: time.Second}
	hr.Status.Conditions = []metav1.Condition{
		{Type: helmv2.ConditionReady, Status: metav1.ConditionFalse, Reason: helmv2.ReasonInstallFailed, Message: "no\nsuch image"},
	}
	hr.Status.Conditions[0].LastTransitionTime = metav1.Unix(900, 0)
	if err := s.client.Status().Update(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
	s.Received(hr, false)
	expect("all say that it is halted", drain(), "a c")
	expect("a halt", s.ask(t, "c", true), "ReleasePolicy/fleet halts web 2.0.0: apps/b failed: no such image; place 3 of 3")
	s.ask(t, "a", true)
	// It is suspended.
	hr.Spec.Suspend = true
	if err := s.client.Update(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
	s.Received(hr, false)
	expect("the halt ends: one may start, the other one says so", drain(), "a c")
	expect("one starts", s.ask(t, "a", true), "")
	expect("the other one waits", s.ask(t, "c", true), "ReleasePolicy/fleet: place 3 of 3 for web 2.0.0")
	if err := s.client.Delete(t.Context(), s.get(t, "a")); err != nil {
		t.Fatal(err)
	}
	s.Received(&helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "a"}}, true)
	expect("it was deleted", drain(), "c")
}

// TestUnused: without rollouts, nothing is read, kept or allocated.
func TestUnused(t *testing.T) {
	s := newStub(t, "a")
	s.limited = false
	hr := s.get(t, "a")
	key := client.ObjectKeyFromObject(hr)
	if n := testing.AllocsPerRun(100, func() {
		waited := s.Begin(key)
		s.Wrote(hr, hr)
		s.Received(hr, false)
		s.End(key, waited)
	}); n != 0 || s.reads != 0 || len(s.changed) != 0 {
		t.Errorf("%v allocations, %d reads", n, s.reads)
	}
}

// TestManyWait: of many that wait, as many are enqueued as may start, in order.
func TestManyWait(t *testing.T) {
	t.Parallel()
	names := make([]string, 0, 20)
	for i := range 20 {
		names = append(names, fmt.Sprintf("r%02d", i))
	}
	s := newStub(t, names...)
	slices.Reverse(names)
	for _, name := range names {
		s.ask(t, name, false)
	}
	s.ask(t, "r05", false)
	if s.ask(t, "r05", true) != "" {
		t.Error("nothing is in flight")
	}
	for _, name := range names {
		if name != "r05" && s.ask(t, name, true) == "" {
			t.Errorf("%s does not wait", name)
		}
	}
	if next := s.next(t.Context()); len(next) != 0 {
		t.Errorf("%v are enqueued", next)
	}
	hr := s.get(t, "r05")
	hr.Spec.Suspend = true
	if err := s.client.Update(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
	s.Received(hr, false)
	if next := s.next(t.Context()); len(next) != 1 || next[0].Name != "r00" {
		t.Errorf("%v are enqueued", next)
	}
}

// TestValues: a release waits for one of an earlier stage whose values come from the same object, until that
// one has been reconciled with its content, and was found in sync.
func TestValues(t *testing.T) {
	t.Parallel()
	s := newStub(t, "a", "b", "c")
	for _, name := range []string{"a", "b"} {
		hr := s.get(t, name)
		hr.Labels = map[string]string{"stage": map[string]string{"a": "production", "b": "canary"}[name]}
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: helmv2.KindConfigMap, Name: "common"}}
		if err := s.client.Update(t.Context(), hr); err != nil {
			t.Fatal(err)
		}
		hr.Status.History = helmv2.Snapshots{{Version: 1, ChartName: "web", ChartVersion: "2.0.0", ConfigDigest: "sha256:1", Status: helmv2.StatusDeployed}}
		if err := s.client.Status().Update(t.Context(), hr); err != nil {
			t.Fatal(err)
		}
	}
	fleet := policy.Rollout{Policy: "ReleasePolicy/fleet", Namespace: "apps", Rollout: v1alpha1.Rollout{
		By: v1alpha1.RolloutByValues, Order: []metav1.LabelSelector{{MatchLabels: map[string]string{"stage": "canary"}}},
	}}
	reconcile := func(name, content, config string, synced bool) string {
		t.Helper()
		hr := s.get(t, name)
		key := client.ObjectKeyFromObject(hr)
		defer s.End(key, s.Begin(key))
		var in release.Input
		in.Desired.Chart, in.Desired.ConfigDigest = release.Chart{Name: "web", Version: "2.0.0"}, config
		in.Desired.ValuesFrom = []release.ValuesContent{{Object: "ConfigMap/apps/common:values.yaml", Digest: content}}
		in.Desired.Demands.Rollouts = []policy.Rollout{fleet}
		s.Read(hr, in, synced)
		if synced {
			return ""
		}
		turn, err := s.Turn(t.Context(), hr, in)
		if err != nil {
			t.Fatal(err)
		}
		return turn.Why
	}
	const waits = "ReleasePolicy/fleet: place 2 of 2 for values of ConfigMap/apps/common:values.yaml, stage 2 of 2"
	if why := reconcile("a", "2", "sha256:2", false); why != waits+"; apps/b of an earlier stage has not read these values yet" {
		t.Errorf("%q", why)
	}
	if why := reconcile("b", "2", "sha256:2", false); why != "" {
		t.Errorf("the canary waits: %q", why)
	}
	if why := reconcile("a", "2", "sha256:2", false); why != waits {
		t.Errorf("%q", why)
	}
	// The content leaves the values of the canary as they are.
	<-s.changed
	reconcile("b", "2", "sha256:1", true)
	if next := s.next(t.Context()); len(s.changed) != 1 || len(next) != 1 || next[0].Name != "a" {
		t.Errorf("%v are enqueued", next)
	}
	if why := reconcile("a", "2", "sha256:2", false); why != "" {
		t.Errorf("%q", why)
	}
	// It has the content: a change of its own values is its own.
	reconcile("b", "2", "sha256:1", true)
	fleet.MaxConcurrent = 1
	hr := s.get(t, "a")
	announced(hr)
	hr.Status.LastAttemptedConfigDigest = "sha256:2"
	s.Wrote(s.get(t, "a"), hr)
	if why := reconcile("b", "2", "sha256:own", false); why != "" {
		t.Errorf("%q", why)
	}
	if why := reconcile("b", "3", "sha256:3", false); why != "" {
		t.Errorf("the other wave has no release in flight: %q", why)
	}
}
