// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// config makes source-controller fetch the repository with values.
func (w world) config() *sourcev1.GitRepository {
	return &sourcev1.GitRepository{
		ObjectMeta: w.Meta("config"),
		Spec: sourcev1.GitRepositorySpec{
			URL: env.git.URL(w.Namespace + "-config"), Interval: metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.GitRepositoryRef{Branch: harness.GitBranch},
		},
	}
}

// commitConfig commits files to the repository with values.
func (w world) commitConfig(files map[string]string) (revision string) {
	w.Helper()
	revision, err := env.git.CommitFiles(w.Context(), w.Namespace+"-config", files)
	w.Must(err)
	return revision
}

// fetch makes source-controller fetch GitRepositories now.
func (w world) fetch(names ...string) {
	w.Helper()
	for _, name := range names {
		o := &sourcev1.GitRepository{}
		w.Get(name, o)
		w.requestReconciliation(o)
	}
}

// untilUpgraded waits until a release is ready with a revision.
func (w world) untilUpgraded(hr *helmv2.HelmRelease, revision int) {
	w.Helper()
	w.Until(hr, fmt.Sprint("to have revision ", revision), func(hr *helmv2.HelmRelease) bool {
		return harness.Ready(hr) && hr.Status.History[0].Version >= revision
	})
	w.equal("the revision", hr.Status.History[0].Version, revision)
}

func fromRepository(path string) []helmv2.ValuesReference {
	return []helmv2.ValuesReference{{Kind: helmv2.KindGitRepository, Name: "config", ValuesKey: path}}
}

// valuesFromFiles: the chart and the values are in two repositories. Commits in both whose artifacts come
// together are one upgrade, and so is one in the repository of values alone.
func valuesFromFiles(w world) {
	w.Must(env.git.Commit(w.Context(), w.Namespace, w.fickle("0.1.0")))
	w.commitConfig(map[string]string{"envs/prod/play.yaml": "note: one\n", "envs/dev/play.yaml": "note: dev\n"})
	hr := w.Draft("play", w.chartOf(sourcev1.GitRepositoryKind, "git", "./charts/fickle"), nil)
	hr.Spec.ValuesFrom = fromRepository("envs/prod/*.yaml")
	w.Create(w.clone(), w.config(), hr)
	w.UntilRevision(hr, 1)

	note := func() string {
		stored := w.stored(hr)
		return fmt.Sprint(stored[len(stored)-1].Config["note"])
	}
	w.equal("the note", note(), "one")

	w.commitConfig(map[string]string{"envs/dev/play.yaml": "note: another\n"})
	w.fetch("config")
	revision := w.commitConfig(map[string]string{"envs/prod/play.yaml": "note: two\n"})
	w.fetch("config")
	w.untilUpgraded(hr, 2)
	w.equal("the note", note(), "two")

	w.Must(env.git.Commit(w.Context(), w.Namespace, w.fickle("0.2.0")))
	latest := w.commitConfig(map[string]string{"envs/prod/play.yaml": "note: three\n"})
	w.fetch("git", "config")
	w.Until(hr, "to be upgraded", func(hr *helmv2.HelmRelease) bool {
		return harness.Ready(hr) && hr.Status.History[0].ChartVersion == "0.2.0"
	})
	if hr.Status.History[0].Version != 3 || note() != "three" {
		w.Errorf("revision %d has note %q, want 3 and three", hr.Status.History[0].Version, note())
	}
	if latest == revision {
		w.Error("the commits are the same")
	}
}

// TestRepositoryOfManyReleases: a commit that changes the file of one of 50 releases, in a repository of
// 500 files, upgrades that one.
func TestRepositoryOfManyReleases(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	const releases, all = 50, 500
	w.push("1.0.0")
	path := func(i int) string { return fmt.Sprintf("apps/%03d/values.yaml", i) }
	files := map[string]string{}
	for i := range all {
		files[path(i)] = fmt.Sprintf("message: \"%d\"\nreplicas: 0\nhook: {enabled: false}\n", i)
	}
	w.commitConfig(files)
	w.Create(w.config())
	w.source("hello", env.Registry.Address)
	hrs := make([]*helmv2.HelmRelease, releases)
	for i := range hrs {
		hr := w.Draft(fmt.Sprint("many-", i), helmv2.HelmReleaseSpec{ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: "hello"}}, nil)
		hr.Spec.ValuesFrom = fromRepository(path(i))
		w.Create(hr)
		hrs[i] = hr
	}
	for _, hr := range hrs {
		w.UntilRevision(hr, 1)
	}
	revision := w.commitConfig(map[string]string{path(7): "message: changed\nreplicas: 0\nhook: {enabled: false}\n", path(333): "message: changed\n"})
	w.fetch("config")
	w.untilUpgraded(hrs[7], 2)
	for i, hr := range hrs {
		w.Get(hr.Name, hr)
		if n := hr.Status.History[0].Version; i != 7 && n != 1 {
			t.Errorf("%s has revision %d", hr.Name, n)
		}
	}
	stored := w.stored(hrs[7])
	if got := stored[len(stored)-1].Config["message"]; got != "changed" || !strings.HasPrefix(revision, harness.GitBranch+"@") {
		t.Errorf("message %v at %s", got, revision)
	}
}
