// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
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
// ended Pod of the previous one and creates another of the same name. PINTLE_UPGRADE_LIMIT is the
// time that each upgrade may take. A wait reads an object without events after 30 seconds. The
// default limit is shorter, so that a missed deletion fails the test on a slow machine too.
func TestUpgradesWithTestPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	count, limit := harness.Repetitions(10), 25*time.Second
	if given := os.Getenv("PINTLE_UPGRADE_LIMIT"); given != "" {
		var err error
		limit, err = time.ParseDuration(given)
		w.Must(err)
	}
	hr := w.play(nil, func(s *helmv2.HelmReleaseSpec) { s.Test = &helmv2.Test{Enable: true} })
	w.UntilRevision(hr, 1)
	var slowest, total time.Duration
	for i := range count {
		begun := time.Now()
		w.change(hr, values{"spare": i})
		w.Until(hr, "to be ready or to have failed its tests", func(hr *helmv2.HelmRelease) bool {
			return harness.Ready(hr) || hr.Status.Failures > 0 || hr.Status.UpgradeFailures > 0
		})
		took := time.Since(begun)
		slowest, total = max(slowest, took), total+took
		switch {
		case !harness.Ready(hr) || !apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionTestSuccess):
			t.Fatalf("upgrade %d failed after %s:\n%s", i+1, took, harness.Summary(hr))
		case took > limit:
			t.Errorf("upgrade %d took %s, more than %s", i+1, took.Round(time.Millisecond), limit)
		case hr.Status.History[0].Version != i+2:
			t.Fatalf("upgrade %d made revision %d", i+1, hr.Status.History[0].Version)
		}
	}
	t.Logf("%d upgrades took %s, the slowest %s", count, total.Round(time.Millisecond), slowest.Round(time.Millisecond))
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
	t.Parallel()
	w := newWorld(t)
	w.Publish(w.policies())
	w.artifact(sourcev1.OCIRepositoryRef{Tag: "0.1.0"})
	hr := w.Draft("hooks", fixture.ChartRef(helmv2.KindOCIRepository, "fickle"), nil)
	w.Create(hr)
	w.UntilRevision(hr, 1)
	for i := range 3 {
		begun := time.Now()
		w.change(hr, values{"spare": i})
		w.UntilRevision(hr, i+2)
		if took := time.Since(begun); took > 25*time.Second {
			t.Errorf("upgrade %d took %s", i+1, took.Round(time.Millisecond))
		}
	}
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
