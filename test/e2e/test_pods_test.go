// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// TestUpgradesWithTestPod upgrades a chart with one test Pod repeatedly. Each upgrade deletes the
// ended Pod of the previous one and creates another of the same name, and none misses the deletion.
func TestUpgradesWithTestPod(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	count := harness.Repetitions(10)
	hr := w.play(nil, func(s *helmv2.HelmReleaseSpec) { s.Test = &helmv2.Test{Enable: true} })
	w.UntilRevision(hr, 1)
	var all []time.Duration
	for i := range count {
		begun := time.Now()
		w.change(hr, values{"spare": i})
		w.Until(hr, "to be ready or to have failed its tests", func(hr *helmv2.HelmRelease) bool {
			return harness.Ready(hr) || hr.Status.Failures > 0 || hr.Status.UpgradeFailures > 0
		})
		took := time.Since(begun)
		all = append(all, took)
		switch {
		case !harness.Ready(hr) || !apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionTestSuccess):
			t.Fatalf("upgrade %d failed after %s:\n%s", i+1, took, harness.Summary(hr))
		case hr.Status.History[0].Version != i+2:
			t.Fatalf("upgrade %d made revision %d", i+1, hr.Status.History[0].Version)
		}
	}
	w.noMissedEvent(all)
}

// noMissedEvent fails if one of several upgrades took three times as long as the fast ones, and about
// 30 s: after this time, a wait reads an object of which no event came. A machine with other work is
// slow all the time.
func (w world) noMissedEvent(all []time.Duration) {
	w.Helper()
	const limit = 25 * time.Second
	w.Logf("%d upgrades took %s", len(all), all)
	slices.Sort(all)
	if usual, slowest := all[len(all)/4], all[len(all)-1]; slowest > max(limit, 3*usual) {
		w.Errorf("an upgrade took %s, others %s", slowest, usual)
	}
}

// policies is chart fickle with a Pod and a Job as hooks of upgrades for each delete policy.
func (w world) policies() *helmchart.Chart {
	w.Helper()
	c := w.fickle("0.1.0")
	c.Templates = append(c.Templates, &helmchart.File{Name: "templates/policies.yaml", Data: []byte(`
{{- range $name, $policy := dict "before" "before-hook-creation" "succeeded" "hook-succeeded" "all" "before-hook-creation,hook-succeeded,hook-failed" }}
---
apiVersion: v1
kind: Pod
metadata:
  name: {{ $name }}
  annotations: {helm.sh/hook: post-upgrade, helm.sh/hook-delete-policy: {{ $policy | quote }}}
spec: {restartPolicy: Never, containers: [{name: main, image: example.com/none}]}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $name }}
  annotations: {helm.sh/hook: post-upgrade, helm.sh/hook-delete-policy: {{ $policy | quote }}}
spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: main, image: example.com/none}]}}}
{{- end }}
`)})
	return c
}

// TestUpgradesWithHooks: upgrades with Pods and Jobs as hooks do not wait for hooks that are gone,
// with every delete policy. The last hooks are kept or deleted by their policies.
func TestUpgradesWithHooks(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	w.Publish(w.policies())
	w.artifact(sourcev1.OCIRepositoryRef{Tag: "0.1.0"})
	hr := w.Draft("hooks", fixture.ChartRef(helmv2.KindOCIRepository, "fickle"), nil)
	w.Create(hr)
	w.UntilRevision(hr, 1)
	var all []time.Duration
	for i := range 3 {
		begun := time.Now()
		w.change(hr, values{"spare": i})
		w.UntilRevision(hr, i+2)
		all = append(all, time.Since(begun))
	}
	w.noMissedEvent(all)
	w.equal("failures", hr.Status.Failures, int64(0))
	jobs, pods := &batchv1.JobList{}, &corev1.PodList{}
	w.Must(env.Client.List(t.Context(), jobs, client.InNamespace(w.Namespace)))
	w.Must(env.Client.List(t.Context(), pods, client.InNamespace(w.Namespace)))
	var left []string
	for _, j := range jobs.Items {
		left = append(left, j.Name)
	}
	for _, p := range pods.Items {
		if len(p.OwnerReferences) == 0 {
			left = append(left, p.Name)
		}
	}
	w.equal("hooks that are left", left, []string{"before", "before"})
}
