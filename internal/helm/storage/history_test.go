// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

func TestToRevision(t *testing.T) {
	t.Parallel()
	rls := revision(3, helmrelease.StatusFailed, map[string]string{
		helmv2.LabelRevision: "uid-1.3", helmv2.LabelInterrupted: "true", "modifiedAt": "1767323045",
	})
	rls.Info.Deleted = helmtime.Time{Time: time.Unix(9, 0)}
	got := toRevision(rls, nil)
	want := release.Revision{
		Name: "app", Namespace: "prod", Version: 3, Status: helmv2.StatusFailed, Description: "described",
		ChartName: "note", ChartVersion: "1.2.3+abc", AppVersion: "9",
		Digest: observationDigest(rls), ConfigDigest: got.ConfigDigest,
		FirstDeployed: rls.Info.FirstDeployed.Time, LastDeployed: rls.Info.LastDeployed.Time, Deleted: time.Unix(9, 0),
		Modified: time.Unix(1767323045, 0), Owner: "uid-1", Interrupted: true,
		Tests: map[string]release.TestRun{"probe": {}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("toRevision (-want +got):\n%s", diff)
	}
	if got.ConfigDigest == "" || got.Digest == "" {
		t.Error("a digest is missing")
	}
	// Another client may have stored a release without any field.
	bare := toRevision(&helmrelease.Release{Name: "app", Labels: map[string]string{"modifiedAt": "yesterday"}}, nil)
	bare.Digest, bare.ConfigDigest = "", ""
	if diff := cmp.Diff(release.Revision{Name: "app"}, bare); diff != "" {
		t.Errorf("a release without anything (-want +got):\n%s", diff)
	}
}

func TestToRevisionLabels(t *testing.T) {
	t.Parallel()
	type want struct{ Interrupted, Superseded, Applied, Rollback bool }
	for name, tc := range map[string]struct {
		reason string
		labels map[string]string
		want   want
	}{
		"None":       {"nothing is said", nil, want{}},
		"Superseded": {"its wait was given up", map[string]string{helmv2.LabelOutdated: "true"}, want{Superseded: true}},
		"Cut off":    {"its action was cut off", map[string]string{helmv2.LabelInterrupted: "true"}, want{Interrupted: true}},
		"Applied":    {"label and number are its own", map[string]string{helmv2.LabelRevision: "uid-1.3", helmv2.LabelApplied: "3"}, want{Applied: true}},
		"Rollback":   {"so they are of a rollback", map[string]string{helmv2.LabelRevision: "uid-1.3", helmv2.LabelRollback: "3"}, want{Rollback: true}},
		"Inherited": {
			"Helm copies labels from one revision to the next",
			map[string]string{helmv2.LabelRevision: "uid-1.2", helmv2.LabelApplied: "2", helmv2.LabelRollback: "2"},
			want{},
		},
		"HalfInherited": {
			"a predecessor's number says nothing of this one",
			map[string]string{helmv2.LabelRevision: "uid-1.3", helmv2.LabelApplied: "2", helmv2.LabelRollback: "2"},
			want{},
		},
		"NotStamped": {"who made it is not known", map[string]string{helmv2.LabelApplied: "3", helmv2.LabelRollback: "3"}, want{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := toRevision(revision(3, helmrelease.StatusFailed, tc.labels), nil)
			if diff := cmp.Diff(tc.want, want{got.Interrupted, got.Outdated, got.Applied, got.Rollback}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestToRevisionModified(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason   string
		labels   map[string]string
		modified time.Time
	}{
		"Both":      {"the write after the creation is the last", map[string]string{"createdAt": "5", "modifiedAt": "7"}, time.Unix(7, 0)},
		"Inherited": {"Helm copied the modification of the revision before", map[string]string{"createdAt": "7", "modifiedAt": "5"}, time.Unix(7, 0)},
		"Created":   {"a new revision was not modified yet", map[string]string{"createdAt": "7"}, time.Unix(7, 0)},
		"Garbage":   {"a label is no time", map[string]string{"createdAt": "x", "modifiedAt": ""}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := toRevision(revision(3, helmrelease.StatusFailed, tc.labels), nil); !got.Modified.Equal(tc.modified) {
				t.Errorf("%s: %s", tc.reason, got.Modified)
			}
		})
	}
}

func TestToRevisionHooks(t *testing.T) {
	t.Parallel()
	moment := helmtime.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	hook := func(name string, events ...helmrelease.HookEvent) *helmrelease.Hook {
		return &helmrelease.Hook{Name: name, Events: events}
	}
	ran := hook("ran", helmrelease.HookPostUpgrade, helmrelease.HookTest)
	ran.LastRun = helmrelease.HookExecution{StartedAt: moment, CompletedAt: moment.Add(time.Second), Phase: helmrelease.HookPhaseFailed}
	type want struct {
		PostInstall, PostUpgrade, PostRollback bool
		Tests                                  map[string]release.TestRun
	}
	for name, tc := range map[string]struct {
		hooks []*helmrelease.Hook
		want  want
	}{
		"None":     {nil, want{}},
		"Before":   {[]*helmrelease.Hook{hook("a", helmrelease.HookPreInstall, helmrelease.HookPreUpgrade, helmrelease.HookPreRollback)}, want{}},
		"Install":  {[]*helmrelease.Hook{hook("a"), hook("b", helmrelease.HookPreInstall, helmrelease.HookPostInstall)}, want{PostInstall: true}},
		"Upgrade":  {[]*helmrelease.Hook{hook("a", helmrelease.HookPostUpgrade)}, want{PostUpgrade: true}},
		"Rollback": {[]*helmrelease.Hook{hook("a", helmrelease.HookPostRollback)}, want{PostRollback: true}},
		"Tests": {
			[]*helmrelease.Hook{ran, hook("never", helmrelease.HookTest), hook("old", "test-success"), hook("a", helmrelease.HookPreInstall)},
			want{PostUpgrade: true, Tests: map[string]release.TestRun{
				"ran":   {Started: moment.Time, Completed: moment.Time.Add(time.Second), Phase: helmv2.TestPhaseFailed},
				"never": {}, "old": {},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rls := revision(3, helmrelease.StatusFailed, nil)
			rls.Hooks = tc.hooks
			got := toRevision(rls, nil)
			if diff := cmp.Diff(tc.want, want{got.PostInstall, got.PostUpgrade, got.PostRollback, got.Tests}); diff != "" {
				t.Errorf("toRevision (-want +got):\n%s", diff)
			}
		})
	}
}
