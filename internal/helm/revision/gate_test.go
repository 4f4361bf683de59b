// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// fakeStore is a driver of Helm whose revisions have no attempts.
type fakeStore struct{ driver.Driver }

func (fakeStore) AttemptOn(int) (*release.Attempt, error) { return nil, nil } //nolint:nilnil // there is none

func (fakeStore) Begin(int) (release.Attempt, error) { return release.Attempt{}, nil }

func (fakeStore) SetAttempt(int, release.Attempt) error { return nil }

func (fakeStore) Skip(release.Skip) {}

func (fakeStore) Proven(int) bool { return true }

func (fakeStore) Resume(int) (*helmrelease.Release, release.Attempt, error) {
	return nil, release.Attempt{}, driver.ErrReleaseNotFound
}

// TestGate: all writes are delayed until the new revision has passed the checks.
func TestGate(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{"Passed": nil, "Refused": errors.New("no")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := driver.NewMemory()
			memory.SetNamespace("prod")
			for _, v := range []int{1, 2} {
				if err := memory.Create(keyOf(v), mock(v)); err != nil {
					t.Fatal(err)
				}
			}
			asked := 0
			g := NewGate(fakeStore{Driver: memory}, "app", release.Upgrade{}, time.Now)
			g.Check = func(*helmrelease.Release) error { asked++; return refusal }
			changed := mock(2)
			changed.Info.Status = helmrelease.StatusSuperseded
			_, gone := g.Delete(keyOf(1))
			_, missing := g.Delete(keyOf(9))
			if err := errors.Join(gone, missing, g.Update(keyOf(2), changed)); err != nil {
				t.Fatal(err)
			}
			if err := g.Create(keyOf(3), mock(3)); !errors.Is(err, refusal) {
				t.Errorf("error %v, want %v", err, refusal)
			}
			var left []string
			all, err := memory.List(func(*helmrelease.Release) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range all {
				left = append(left, keyOf(r.Version)+" "+r.Info.Status.String())
			}
			slices.Sort(left)
			want := []string{keyOf(2) + " superseded", keyOf(3) + " deployed"}
			if refusal != nil {
				want = []string{keyOf(1) + " deployed", keyOf(2) + " deployed"}
			}
			if diff := cmp.Diff(want, left); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if refusal != nil {
				return
			}
			if _, err := g.Delete(keyOf(2)); err != nil || asked != 1 {
				t.Errorf("after it has passed: %v, asked %d times", err, asked)
			}
			if _, err := memory.Get(keyOf(2)); !errors.Is(err, driver.ErrReleaseNotFound) {
				t.Errorf("a write after the gate has opened is held: %v", err)
			}
		})
	}
}

func mock(version int) *helmrelease.Release {
	return helmrelease.Mock(&helmrelease.MockReleaseOptions{Name: "app", Namespace: "prod", Version: version, Status: helmrelease.StatusDeployed})
}

func keyOf(version int) string { return storage.Key("app", version) }

// TestInterruptedRevisionsStay: the history limit does not delete interrupted revisions after the
// deployed one. Without a new revision, nothing is kept.
func TestInterruptedRevisionsStay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		action release.HelmAction
		want   []int
	}{
		"Upgrade": {release.Upgrade{}, []int{3}}, "Uninstall": {release.Uninstall{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := driver.NewMemory()
			memory.SetNamespace("prod")
			for version, status := range map[int]helmrelease.Status{1: helmrelease.StatusFailed, 2: helmrelease.StatusDeployed, 3: helmrelease.StatusFailed, 4: helmrelease.StatusFailed} {
				rls := mock(version)
				rls.Info.Status, rls.Labels = status, map[string]string{}
				if version%2 == 1 {
					rls.Labels[helmv2.LabelInterrupted] = "true"
				}
				if err := memory.Create(keyOf(version), rls); err != nil {
					t.Fatal(err)
				}
			}
			g := NewGate(fakeStore{Driver: memory}, "app", tc.action, time.Now)
			if _, err := g.Query(map[string]string{"name": "app", "owner": "helm"}); err != nil {
				t.Fatal(err)
			}
			for version := 1; version <= 4; version++ {
				if _, err := g.Delete(keyOf(version)); err != nil {
					t.Fatal(err)
				}
			}
			var left []int
			all, err := memory.List(func(*helmrelease.Release) bool { return true })
			for _, r := range all {
				left = append(left, r.Version)
			}
			if diff := cmp.Diff(tc.want, left); diff != "" || err != nil {
				t.Errorf("revisions (-want +got):\n%s%v", diff, err)
			}
		})
	}
}
