// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

const (
	// committers is the number of releases that change in each round.
	committers = 10
	// commitTakes is the time in which the parts of a commit are applied.
	commitTakes = time.Second
)

// committer is a release whose chart version, values, and values from a ConfigMap change together.
type committer struct {
	world
	hr     *helmv2.HelmRelease
	source *sourcev1.OCIRepository
	config *corev1.ConfigMap
	// revisions are how many there were before the last commit, and late is true if
	// that took longer to apply than a commit takes.
	revisions int
	late      bool
}

// TestOneCommitOneRevision: the changes of a commit arrive separately, in any order. Each commit
// results in exactly one revision, and no revision mixes two commits.
func TestOneCommitOneRevision(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	// Commits that took too long to apply are not counted, so there may be five times as many rounds.
	commits := harness.Repetitions(2 * committers)
	rounds := 5 * commits / committers
	for n := range rounds + 1 {
		w.push(versionOf(n))
	}
	w.Must(env.Client.Create(t.Context(), &sourcev1.HelmRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "charts"},
		Spec: sourcev1.HelmRepositorySpec{
			Type: sourcev1.HelmRepositoryTypeOCI, URL: "oci://" + env.Registry.Address + "/" + w.Namespace, Insecure: true,
		},
	}))
	var all []*committer
	for i := range committers {
		all = append(all, w.committer(fmt.Sprintf("commits-%d", i), i%2 == 0))
	}
	for _, c := range all {
		c.UntilRevision(c.hr, 1)
		c.revisions = 1
	}
	counted := 0
	for n := 1; counted < commits; n++ {
		if n > rounds {
			t.Fatalf("%d of %d commits were applied within %s: the machine is too busy to show anything", counted, rounds*committers, commitTakes)
		}
		// One after the other, since a busy machine does not apply all of them within a second.
		for _, c := range all {
			c.commit(n)
		}
		for _, c := range all {
			c.Until(c.hr, "to be ready with "+versionOf(n), c.has(n))
		}
		// Time for a second upgrade that must not happen.
		time.Sleep(commitTakes)
		for _, c := range all {
			counted += c.check(n)
		}
	}
}

func versionOf(n int) string { return "1.0." + strconv.Itoa(n) }

func inline(n int) values {
	return values{"message": strconv.Itoa(n), "replicas": 0, "hook": values{"enabled": false}}
}

func configured(n int) map[string]string {
	return map[string]string{"values.yaml": fmt.Sprintf("service: {port: %d}", 8000+n)}
}

// committer makes a release, its source and its values as one Kustomization would.
func (w world) committer(name string, own bool) *committer {
	w.Helper()
	labels := map[string]string{"kustomize.toolkit.fluxcd.io/name": name, "kustomize.toolkit.fluxcd.io/namespace": w.Namespace}
	c := &committer{world: w}
	c.config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name, Labels: labels}, Data: configured(0)}
	w.Must(env.Client.Create(w.Context(), c.config))
	spec := helmv2.HelmReleaseSpec{
		Interval: metav1.Duration{Duration: time.Hour}, Values: w.Raw(inline(0)), MaxHistory: new(0),
		ValuesFrom: []helmv2.ValuesReference{{Kind: helmv2.KindConfigMap, Name: name}},
	}
	if own {
		c.source = w.source(name, env.Registry.Address)
		before := c.source.DeepCopy()
		c.source.Labels, c.source.Spec.Reference = labels, &sourcev1.OCIRepositoryRef{Tag: versionOf(0)}
		w.Must(env.Client.Patch(w.Context(), c.source, client.MergeFrom(before)))
		spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: name}
	} else {
		spec.Chart = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
			Chart: "hello", Version: versionOf(0), SourceRef: helmv2.CrossNamespaceObjectReference{Kind: sourcev1.HelmRepositoryKind, Name: "charts"},
		}}
	}
	c.hr = &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name, Labels: labels}, Spec: spec}
	w.Must(env.Client.Create(w.Context(), c.hr))
	return c
}

// commit changes the version, the values and the ConfigMap, in any order, within a second.
func (c *committer) commit(n int) {
	type piece struct {
		after  time.Duration
		change func()
	}
	var pieces []piece
	for _, change := range []func(){
		func() { c.version(n) },
		func() { c.Edit(c.hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = c.Raw(inline(n)) }) },
		func() {
			before := c.config.DeepCopy()
			c.config.Data = configured(n)
			c.Must(env.Client.Patch(c.Context(), c.config, client.MergeFrom(before)))
		},
	} {
		pieces = append(pieces, piece{rand.N(commitTakes * 9 / 10), change})
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.after, b.after) })
	began := time.Now()
	first := began.Add(pieces[0].after)
	for _, p := range pieces {
		time.Sleep(time.Until(began.Add(p.after)))
		p.change()
	}
	c.late = time.Since(first) > commitTakes
}

// has returns whether a release is ready with all that a commit changes.
func (c *committer) has(n int) func(*helmv2.HelmRelease) bool {
	return func(hr *helmv2.HelmRelease) bool {
		if !harness.Ready(hr) || hr.Status.History[0].ChartVersion != versionOf(n) && !strings.HasPrefix(hr.Status.History[0].ChartVersion, versionOf(n)+"+") {
			return false
		}
		stored := c.stored(hr)
		return c.made(stored[len(stored)-1]) == c.wanted(n)
	}
}

// made returns the inputs of a revision, and wanted those of a commit.
func (c *committer) made(rel *helmrelease.Release) string {
	service, _ := rel.Config["service"].(map[string]any)
	version, _, _ := strings.Cut(rel.Chart.Metadata.Version, "+")
	return fmt.Sprint(version, " ", rel.Config["message"], " ", service["port"])
}

func (c *committer) wanted(n int) string {
	return fmt.Sprint(versionOf(n), " ", n, " ", 8000+n)
}

func (c *committer) version(n int) {
	if c.source == nil {
		c.Edit(c.hr, func(hr *helmv2.HelmRelease) { hr.Spec.Chart.Spec.Version = versionOf(n) })
		return
	}
	c.Get(c.source.Name, c.source)
	before := c.source.DeepCopy()
	c.source.Spec.Reference.Tag = versionOf(n)
	c.Must(env.Client.Patch(c.Context(), c.source, client.MergeFrom(before)))
}

// check compares the stored revisions with a commit. It returns 0 for a commit that took too long
// to apply, which may have more than one revision.
func (c *committer) check(n int) (counted int) {
	stored := c.stored(c.hr)
	before := c.revisions
	c.revisions = len(stored)
	if c.late {
		return 0
	}
	if len(stored) != before+1 {
		c.Errorf("%s: commit %d made %d revisions", c.hr.Name, n, len(stored)-before)
	}
	return 1
}
