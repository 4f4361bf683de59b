// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const key = "sh.helm.release.v1.app.v"

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

func TestDriver(t *testing.T) {
	t.Parallel()
	mark := ""
	d, _ := newDriver(t, func() string { return mark })
	if _, ok := d.NewestManifest(); ok || d.Revisions() != nil {
		t.Error("nothing was stored yet")
	}
	shared := map[string]string{
		"mine": "kept", helmv2.LabelRevision: "uid-0.1", helmv2.LabelInterrupted: "true",
		helmv2.LabelOutdated: "true", helmv2.LabelApplied: "1", helmv2.LabelRollback: "1", "modifiedAt": "7", "status": "deployed",
	}
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

	mark = helmv2.LabelInterrupted
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
	mark = ""
	two.Labels = nil
	if err := d.Update(key+"2", two); err != nil || two.Labels[helmv2.LabelInterrupted] != "" {
		t.Errorf("a failure of its own is not marked: %v, %v", err, two.Labels)
	}

	type want struct {
		Version int
		Status  helmv2.ReleaseStatus
	}
	var got []want
	for _, r := range d.Revisions() {
		got = append(got, want{r.Version, r.Status})
	}
	if diff := cmp.Diff([]want{{2, helmv2.StatusFailed}, {1, helmv2.StatusFailed}}, got); diff != "" {
		t.Errorf("each revision once, in its last state, newest first (-want +got):\n%s", diff)
	}
	if manifest, ok := d.NewestManifest(); !ok || manifest != "second" {
		t.Errorf("newest manifest %q, %t", manifest, ok)
	}
}

func TestOwner(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		stamp  string
		want   string
	}{
		"Ours":      {reason: "the label of this very revision has its owner", stamp: "uid-1.2", want: "uid-1"},
		"Inherited": {reason: "Helm copied the label of another revision", stamp: "uid-1.1"},
		"None":      {reason: "there is no revision label"},
		"NoVersion": {reason: "half a label is none", stamp: "uid-1"},
		"Garbage":   {reason: "the part after the dot is no number", stamp: "uid-1.two"},
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
	if got := owner(map[string]string{helmv2.LabelRevision: revisionLabel("uid-1", 2)}, 2); got != "uid-1" {
		t.Errorf("a new label has the owner %q", got)
	}
}

// newDriver returns a driver of prod/app over a fake client.
func newDriver(t *testing.T, mark func() string) (*Driver, *fake.Clientset) {
	t.Helper()
	clients := fake.NewClientset()
	moment := func() time.Time { return time.Unix(1767323045, 0) }
	d := openDriver(t.Context(), accessTo(fakeSecrets{clients.CoreV1().Secrets("prod")}), moment)
	d.options = Options{UID: "uid-1", FailureLabel: mark}
	return d, clients
}

func unmarked() string { return "" }

func secretLabels(t *testing.T, clients *fake.Clientset, name string) map[string]string {
	t.Helper()
	secret, err := clients.CoreV1().Secrets("prod").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret.Labels
}

func TestStoreApplied(t *testing.T) {
	t.Parallel()
	d, clients := newDriver(t, unmarked)
	if err := d.StoreApplied(); err != nil || len(clients.Actions()) != 0 {
		t.Errorf("nothing was created, but %v was done: %v", clients.Actions(), err)
	}
	one, two := revision(1, helmrelease.StatusDeployed, nil), revision(2, helmrelease.StatusPendingUpgrade, nil)
	for i, rls := range []*helmrelease.Release{one, two} {
		if err := d.Create(Key("app", i+1), rls); err != nil {
			t.Fatal(err)
		}
	}
	before := secretLabels(t, clients, key+"2")
	if err := d.StoreApplied(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(withLabel(before, helmv2.LabelApplied, "2"), secretLabels(t, clients, key+"2")); diff != "" {
		t.Errorf("labels (-before and the label +after):\n%s", diff)
	}
	if all := d.Revisions(); !all[0].Applied || all[1].Applied {
		t.Errorf("revisions %+v", all)
	}
	// Helm knows nothing of the patch, and the predecessor is superseded now.
	one.Info.Status, two.Info.Status = helmrelease.StatusSuperseded, helmrelease.StatusDeployed
	for i, rls := range []*helmrelease.Release{one, two} {
		if err := d.Update(Key("app", i+1), rls); err != nil {
			t.Fatal(err)
		}
	}
	if got := secretLabels(t, clients, key+"2")[helmv2.LabelApplied]; got != "2" {
		t.Errorf("after an update the label is %q", got)
	}
	if got, ok := secretLabels(t, clients, key+"1")[helmv2.LabelApplied]; ok {
		t.Errorf("another revision got the label %q", got)
	}
	if all := d.Revisions(); !all[0].Applied || all[1].Applied {
		t.Errorf("revisions %+v", all)
	}
}

// TestStoreAppliedFails: a label that could not be patched is part of the next update.
func TestStoreAppliedFails(t *testing.T) {
	t.Parallel()
	d, clients := newDriver(t, unmarked)
	one := revision(1, helmrelease.StatusPendingInstall, nil)
	if err := d.Create(key+"1", one); err != nil {
		t.Fatal(err)
	}
	clients.PrependReactor("patch", "secrets", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no")
	})
	if err := d.StoreApplied(); err == nil || err.Error() != "label Secret prod/"+key+"1: no" {
		t.Errorf("error %v", err)
	}
	if err := d.Update(key+"1", one); err != nil || secretLabels(t, clients, key+"1")[helmv2.LabelApplied] != "1" {
		t.Errorf("labels %v, error %v", secretLabels(t, clients, key+"1"), err)
	}
}

func TestApplyMethod(t *testing.T) {
	t.Parallel()
	d, clients := newDriver(t, unmarked)
	if err := d.Create(key+"1", revision(1, helmrelease.StatusDeployed, nil)); err != nil {
		t.Fatal(err)
	}
	d.SetApplyMethod("ssa")
	two := revision(2, helmrelease.StatusPendingUpgrade, nil)
	if err := d.Create(key+"2", two); err != nil {
		t.Fatal(err)
	}
	d.SetApplyMethod("csa")
	two.Info.Status = helmrelease.StatusDeployed
	if err := d.Update(key+"2", two); err != nil {
		t.Fatal(err)
	}
	if err := d.Create(key+"3", revision(3, helmrelease.StatusDeployed, nil)); err != nil {
		t.Fatal(err)
	}
	for _, a := range clients.Actions() {
		if a.GetVerb() == "get" {
			t.Errorf("asked for what it had written itself: %v", a)
		}
	}
	// Another process knows only what is stored.
	other := openDriver(t.Context(), accessTo(fakeSecrets{clients.CoreV1().Secrets("prod")}), time.Now)
	for version, want := range map[int]string{1: "", 2: "ssa", 3: "csa", 4: ""} {
		if got := d.ApplyMethod(version); got != want {
			t.Errorf("revision %d was applied by %q, want %q", version, got, want)
		}
		if got := other.ApplyMethod(version); got != want {
			t.Errorf("revision %d reads as applied by %q, want %q", version, got, want)
		}
	}
	clients.ClearActions()
	_, _ = other.ApplyMethod(2), d.ApplyMethod(2)
	if len(clients.Actions()) != 0 {
		t.Errorf("asked again: %v", clients.Actions())
	}
}

func TestRollbackIsLabelled(t *testing.T) {
	t.Parallel()
	d, clients := newDriver(t, unmarked)
	if err := d.Create(key+"2", revision(2, helmrelease.StatusPendingRollback, map[string]string{helmv2.LabelRollback: "1"})); err != nil {
		t.Fatal(err)
	}
	if got := secretLabels(t, clients, key+"2")[helmv2.LabelRollback]; got != "2" || !d.Revisions()[0].Rollback {
		t.Errorf("label %q, revisions %+v", got, d.Revisions())
	}
}

// TestFailedSince: the deployed revision and those after it are read, unless the action has read them.
func TestFailedSince(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	writer := l.recorder(t)
	for version, status := range map[int]helmrelease.Status{1: helmrelease.StatusSuperseded, 2: helmrelease.StatusDeployed} {
		if err := writer.Create(Key("app", version), revision(version, status, nil)); err != nil {
			t.Fatal(err)
		}
	}
	reads := func(d *Driver, before int) (Manifest, []FailedRevision, []string) {
		t.Helper()
		l.since()
		deployed, failed, err := FailedSince(d, before)
		if err != nil {
			t.Fatal(err)
		}
		return deployed, failed, l.since()
	}
	if deployed, failed, requests := reads(l.recorder(t), 3); deployed.Text != "" || failed != nil || !slices.Equal(requests, []string{"get v2"}) {
		t.Errorf("without failed revisions: %+v, %+v, requests %v", deployed, failed, requests)
	}
	for _, version := range []int{4, 5} {
		if err := writer.Create(Key("app", version), revision(version, helmrelease.StatusFailed, nil)); err != nil {
			t.Fatal(err)
		}
	}
	d := l.recorder(t)
	if _, err := d.Get(key + "5"); err != nil {
		t.Fatal(err)
	}
	deployed, failed, requests := reads(d, 6)
	if diff := cmp.Diff([]string{"get v2", "get v4"}, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	manifest := func(version int) Manifest {
		return Manifest{Namespace: "prod", Version: version, Text: "---\nkind: ConfigMap\n"}
	}
	hooks := []string{"kind: Job", "kind: Pod"}
	created := func(version int) time.Time { return l.secrets[Key("app", version)].CreationTimestamp.Time }
	want := []FailedRevision{
		{Manifest: manifest(4), Hooks: hooks, Created: created(4)},
		{Manifest: manifest(5), Hooks: hooks, Created: created(5), Preceded: true},
	}
	if diff := cmp.Diff(want, failed); diff != "" || !created(4).Before(created(5)) {
		t.Errorf("failed revisions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(manifest(2), deployed); diff != "" {
		t.Errorf("deployed revision (-want +got):\n%s", diff)
	}
	if _, failed, requests := reads(d, 5); len(failed) != 1 || requests != nil {
		t.Errorf("before revision 5: %+v, requests %v", failed, requests)
	}
}

// TestUndeployedIsLabelled: Helm replaces the status of a revision that it uninstalls. The label
// has it, also after further updates, and is not copied to another revision.
func TestUndeployedIsLabelled(t *testing.T) {
	t.Parallel()
	for status, want := range map[helmrelease.Status]string{
		helmrelease.StatusDeployed: "", helmrelease.StatusFailed: "1.1", helmrelease.StatusPendingInstall: "1.1",
	} {
		l := newIndexedSecrets(t)
		if err := l.recorder(t).Create(key+"1", revision(1, status, nil)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			d := l.recorder(t)
			rls, err := d.Get(key + "1")
			if err != nil {
				t.Fatal(err)
			}
			rls.Info.Status = helmrelease.StatusUninstalling
			for range 2 {
				// Helm's copy does not get the labels.
				uninstalling := *rls
				if err := d.Update(key+"1", &uninstalling); err != nil {
					t.Fatal(err)
				}
			}
			if got := l.secrets[key+"1"].Labels[helmv2.LabelUndeployed]; got != want {
				t.Errorf("%s: label %q, want %q", status, got, want)
			}
			indexed := mustRecord(t, l.index)
			if d.Revisions()[0].Undeployed != (want != "") || indexed.revision().Undeployed != (want != "") {
				t.Errorf("%s: stored %+v, indexed %+v", status, d.Revisions()[0], indexed)
			}
		}
		d := l.recorder(t)
		rls, err := d.Get(key + "1")
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Create(key+"2", revision(2, helmrelease.StatusPendingInstall, rls.Labels)); err != nil {
			t.Fatal(err)
		}
		if got, copied := l.secrets[key+"2"].Labels[helmv2.LabelUndeployed]; copied {
			t.Errorf("%s: the label %q is copied", status, got)
		}
	}
}
