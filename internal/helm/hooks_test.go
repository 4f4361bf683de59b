// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/apitest"
)

// TestHookOrder: what a hook Job refers to is created before it, although its name is later. The
// record has the weights of the chart.
func TestHookOrder(t *testing.T) {
	m := newMortal(t)
	complete := m.Created
	var created []string
	m.Created = func(object map[string]any) {
		complete(object)
		if u := (&unstructured.Unstructured{Object: object}); u.GetAnnotations()["helm.sh/hook"] != "" {
			created = append(created, u.GetName())
		}
	}
	const hook = "annotations: {helm.sh/hook: 'pre-install,post-upgrade', helm.sh/hook-weight: '3'}}\n"
	artifact := m.chart("1.0.0", map[string]string{
		"templates/one.yaml":    oneYAML,
		"templates/job.yaml":    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: b-migrate, " + hook + "spec: {template: {spec: {volumes: [{name: a, configMap: {name: z-config}}]}}}\n",
		"templates/first.yaml":  "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a-first, " + hook,
		"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z-config, " + hook,
	})
	out := m.runner.Run(t.Context(), m.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil))
	if out.Err != nil || !slices.Equal(created, []string{"a-first", "z-config", "b-migrate"}) {
		t.Errorf("created %q, error %v", created, out.Err)
	}
	for _, h := range m.stored()[0].Hooks {
		if h.Weight != 3 {
			t.Errorf("the stored weight of %s is %d", h.Name, h.Weight)
		}
	}
}

// TestLeftOverHook: the message about a hook whose object exists names the object and what to do.
func TestLeftOverHook(t *testing.T) {
	w := newWorld(t)
	w.Put(jobPath, apitest.Parse(t, jobYAML).Object)
	artifact := w.chart("1.0.0", map[string]string{
		"templates/job.yaml": strings.Replace(jobYAML, "name: migrate", "name: migrate, annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-succeeded}", 1),
	})
	out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil))
	const want = "Job/prod/migrate already exists, from an earlier run of the hook or from another client; delete it, or add before-hook-creation to the annotation helm.sh/hook-delete-policy of the hook"
	if out.Err == nil || !strings.Contains(out.Err.Error(), want) {
		t.Errorf("error %v", out.Err)
	}
}
