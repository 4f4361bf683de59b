// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

func nestedString(object map[string]any, fields ...string) (string, bool, error) {
	return unstructured.NestedString(object, fields...)
}

const key = "sh.helm.release.v1.app.v"

// writeSecret replaces a stored revision behind everybody's back.
func writeSecret(t *testing.T, w *world, rls *helmrelease.Release) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(w.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := driver.NewSecrets(clients.CoreV1().Secrets("prod")).Update(key+"1", rls); err != nil {
		t.Fatal(err)
	}
}

func revision(version int, status helmrelease.Status, labels map[string]string) *helmrelease.Release {
	moment := helmtime.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("", 3600))}
	return &helmrelease.Release{
		Name: "app", Namespace: "prod", Version: version, Labels: labels,
		Info: &helmrelease.Info{
			FirstDeployed: moment, LastDeployed: moment, Status: status, Description: "described", Notes: "a < b & c",
		},
		Chart: &helmchart.Chart{Metadata: &helmchart.Metadata{
			APIVersion: "v2", Name: "note", Version: "1.2.3+abc", AppVersion: "9",
			Dependencies: []*helmchart.Dependency{{Name: "sub", Enabled: true, ImportValues: []any{"data"}}},
			Annotations:  map[string]string{},
		}},
		Config:   map[string]any{"n": 1.0, "big": 12345678901234567890.0, "s": "<é>", "l": []any{}, "m": map[string]any{}, "z": nil},
		Manifest: "---\nkind: ConfigMap\n",
		Hooks: []*helmrelease.Hook{
			{Name: "migrate", Kind: "Job", Path: "note/job.yaml", Manifest: "kind: Job", Events: []helmrelease.HookEvent{helmrelease.HookPreUpgrade}},
			{Name: "probe", Kind: "Pod", Path: "note/test.yaml", Manifest: "kind: Pod", Events: []helmrelease.HookEvent{helmrelease.HookTest}},
		},
	}
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	interrupted := false
	d := &recorder{Driver: driver.NewMemory(), uid: "uid-1", interrupted: func() bool { return interrupted }}
	if _, ok := d.newestManifest(); ok || d.revisions() != nil {
		t.Error("nothing was stored yet")
	}
	shared := map[string]string{"mine": "kept", helmv2.LabelRevision: "uid-0.1", helmv2.LabelInterrupted: "true"}
	one := revision(1, helmrelease.StatusPendingInstall, shared)
	if err := d.Create(key+"1", one); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"mine": "kept", helmv2.LabelRevision: "uid-1.1"}, one.Labels); diff != "" {
		t.Errorf("labels of a new revision (-want +got):\n%s", diff)
	}
	if shared[helmv2.LabelRevision] != "uid-0.1" || shared[helmv2.LabelInterrupted] != "true" {
		t.Errorf("the labels of the revision they came from were changed: %v", shared)
	}
	two := revision(2, helmrelease.StatusPendingUpgrade, nil)
	two.Manifest = "second"
	if err := d.Create(key+"2", two); err != nil {
		t.Fatal(err)
	}
	if err := d.Create(key+"2", revision(2, helmrelease.StatusDeployed, nil)); !errors.Is(err, driver.ErrReleaseExists) {
		t.Errorf("a revision was stored twice: %v", err)
	}
	// What storage refused never happened.
	if err := d.Update(key+"7", revision(7, helmrelease.StatusDeployed, nil)); err == nil {
		t.Error("a revision that does not exist was updated")
	}

	interrupted = true
	one.Info.Status = helmrelease.StatusSuperseded
	before := one.Labels
	if err := d.Update(key+"1", one); err != nil || one.Labels[helmv2.LabelInterrupted] != "" {
		t.Errorf("only a failure can have been an interruption: %v, %v", err, one.Labels)
	}
	two.Info.Status, two.Labels = helmrelease.StatusFailed, nil
	if err := d.Update(key+"2", two); err != nil || two.Labels[helmv2.LabelInterrupted] != "true" {
		t.Errorf("an interrupted failure is marked: %v, %v", err, two.Labels)
	}
	one.Info.Status = helmrelease.StatusFailed
	if err := d.Update(key+"1", one); err != nil || before[helmv2.LabelInterrupted] != "" {
		t.Errorf("a map that may be shared was changed: %v, %v", err, before)
	}
	interrupted = false
	two.Labels = nil
	if err := d.Update(key+"2", two); err != nil || two.Labels[helmv2.LabelInterrupted] != "" {
		t.Errorf("a failure of its own is not marked: %v, %v", err, two.Labels)
	}

	type want struct {
		Version int
		Status  helmv2.ReleaseStatus
	}
	var got []want
	for _, r := range d.revisions() {
		got = append(got, want{r.Version, r.Status})
	}
	if diff := cmp.Diff([]want{{2, helmv2.StatusFailed}, {1, helmv2.StatusFailed}}, got); diff != "" {
		t.Errorf("each revision once, in its last state, newest first (-want +got):\n%s", diff)
	}
	manifest, ok := d.newestManifest()
	text := make([]byte, 6)
	if _, err := manifest.Read(text); err != nil || !ok || string(text) != "second" {
		t.Errorf("newest manifest %q, %t, %v", text, ok, err)
	}
}

func TestOwner(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		stamp  string
		want   string
	}{
		"Ours":      {reason: "a stamp of this very revision names its maker", stamp: "uid-1.2", want: "uid-1"},
		"Inherited": {reason: "Helm copied the stamp of another revision", stamp: "uid-1.1"},
		"None":      {reason: "nobody stamped it"},
		"NoVersion": {reason: "half a stamp is none", stamp: "uid-1"},
		"Garbage":   {reason: "what is no number is no revision", stamp: "uid-1.two"},
		"Longer":    {reason: "the whole number counts", stamp: "uid-1.22"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := owner(map[string]string{helmv2.LabelRevision: tc.stamp}, 2); got != tc.want {
				t.Errorf("%s: owner of %q is %q, want %q", tc.reason, tc.stamp, got, tc.want)
			}
		})
	}
	if got := owner(nil, 2); got != "" {
		t.Errorf("no labels, but owner %q", got)
	}
	if got := owner(map[string]string{helmv2.LabelRevision: stamp("uid-1", 2)}, 2); got != "uid-1" {
		t.Errorf("a stamp that was just made names %q", got)
	}
}

func TestToRevision(t *testing.T) {
	t.Parallel()
	rls := revision(3, helmrelease.StatusFailed, map[string]string{
		helmv2.LabelRevision: "uid-1.3", helmv2.LabelInterrupted: "true", "modifiedAt": "1767323045",
	})
	rls.Info.Deleted = helmtime.Time{Time: time.Unix(9, 0)}
	got := toRevision(rls)
	want := release.Revision{
		Name: "app", Namespace: "prod", Version: 3, Status: helmv2.StatusFailed, Description: "described",
		ChartName: "note", ChartVersion: "1.2.3+abc", AppVersion: "9",
		Digest: observationDigest(rls), ConfigDigest: got.ConfigDigest,
		FirstDeployed: rls.Info.FirstDeployed.Time, LastDeployed: rls.Info.LastDeployed.Time, Deleted: time.Unix(9, 0),
		Modified: time.Unix(1767323045, 0), Owner: "uid-1", Interrupted: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("toRevision (-want +got):\n%s", diff)
	}
	if got.ConfigDigest == "" || got.Digest == "" {
		t.Error("a digest is missing")
	}
	// What somebody else stored may lack anything.
	bare := toRevision(&helmrelease.Release{Name: "app", Labels: map[string]string{"modifiedAt": "yesterday"}})
	bare.Digest, bare.ConfigDigest = "", ""
	if diff := cmp.Diff(release.Revision{Name: "app"}, bare); diff != "" {
		t.Errorf("a release without anything (-want +got):\n%s", diff)
	}
}

// through stores a release the way Helm does and reads it again.
func through(t *testing.T, rls *helmrelease.Release) *helmrelease.Release {
	t.Helper()
	secrets := driver.NewSecrets(fake.NewClientset().CoreV1().Secrets("prod"))
	if err := secrets.Create(key, rls); err != nil {
		t.Fatal(err)
	}
	got, err := secrets.Get(key)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestObservationDigest(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*helmrelease.Release)
		same   bool
	}{
		"Nothing":     {reason: "storing changes nothing", change: func(*helmrelease.Release) {}, same: true},
		"Labels":      {reason: "labels are ours", change: func(r *helmrelease.Release) { r.Labels = map[string]string{"a": "b"} }, same: true},
		"TestHookRun": {reason: "testing by hand changes nothing", change: func(r *helmrelease.Release) { r.Hooks[1].LastRun.Phase = helmrelease.HookPhaseFailed }, same: true},
		"TestHook":    {reason: "test hooks are not covered at all", change: func(r *helmrelease.Release) { r.Hooks = r.Hooks[:1] }, same: true},
		"Templates": {reason: "the manifest covers what templates make", same: true, change: func(r *helmrelease.Release) {
			r.Chart.Templates = []*helmchart.File{{Name: "templates/x.yaml", Data: []byte("x")}}
		}},
		"Manifest":    {reason: "other objects are a change", change: func(r *helmrelease.Release) { r.Manifest += "#" }},
		"Config":      {reason: "other values are a change", change: func(r *helmrelease.Release) { r.Config["n"] = 2.0 }},
		"NoConfig":    {reason: "no values are a change", change: func(r *helmrelease.Release) { r.Config = nil }},
		"Status":      {reason: "another status is a change", change: func(r *helmrelease.Release) { r.Info.Status = helmrelease.StatusFailed }},
		"Description": {reason: "another description is a change", change: func(r *helmrelease.Release) { r.Info.Description = "edited" }},
		"Deployed":    {reason: "another deployment is a change", change: func(r *helmrelease.Release) { r.Info.LastDeployed = helmtime.Now() }},
		"Version":     {reason: "another revision is a change", change: func(r *helmrelease.Release) { r.Version++ }},
		"Name":        {reason: "another name is a change", change: func(r *helmrelease.Release) { r.Name = "other" }},
		"Namespace":   {reason: "another namespace is a change", change: func(r *helmrelease.Release) { r.Namespace = "other" }},
		"Chart":       {reason: "another chart is a change", change: func(r *helmrelease.Release) { r.Chart.Metadata.Version = "2.0.0" }},
		"Hook":        {reason: "another hook is a change", change: func(r *helmrelease.Release) { r.Hooks[0].Manifest = "kind: Pod" }},
		"HookRun":     {reason: "another run of a hook is a change", change: func(r *helmrelease.Release) { r.Hooks[0].LastRun.Phase = helmrelease.HookPhaseFailed }},
	}
	base := observationDigest(revision(1, helmrelease.StatusDeployed, nil))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rls := revision(1, helmrelease.StatusDeployed, nil)
			tc.change(rls)
			got := observationDigest(rls)
			if (got == base) != tc.same {
				t.Errorf("%s: the same digest: %t", tc.reason, got == base)
			}
			if read := observationDigest(through(t, rls)); read != got {
				t.Errorf("%s: digest %s, and %s once stored and read", tc.reason, got, read)
			}
		})
	}
	// Neither an empty map nor no map is a value.
	none, empty := revision(1, helmrelease.StatusDeployed, nil), revision(1, helmrelease.StatusDeployed, nil)
	none.Config, empty.Config = nil, map[string]any{}
	none.Hooks, empty.Hooks = nil, []*helmrelease.Hook{}
	if observationDigest(none) != observationDigest(empty) || observationDigest(through(t, none)) != observationDigest(through(t, empty)) {
		t.Error("nothing and empty have different digests")
	}
}

// Helm may fill in live objects, which it never stores.
func TestObservationDigestLeavesTheReleaseAlone(t *testing.T) {
	t.Parallel()
	rls := revision(1, helmrelease.StatusDeployed, nil)
	plain := observationDigest(rls)
	rls.Info.Resources = map[string][]runtime.Object{"v1/Pod": {&unstructured.Unstructured{Object: map[string]any{"kind": "Pod"}}}}
	if observationDigest(rls) != plain {
		t.Error("live objects are no part of what was stored")
	}
	if len(rls.Info.Resources) != 1 || len(rls.Hooks) != 2 || len(rls.Config) != 6 {
		t.Errorf("the release was changed: %+v", rls)
	}
}
