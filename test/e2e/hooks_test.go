// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
)

// eventHooks are Jobs for each of the nine events. The alphabetical order of their names is not the
// order of their weights. The last hook of pre-upgrade fails on request.
const eventHooks = `
{{- define "hook" }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .event }}-{{ .name }}
  annotations: {helm.sh/hook: {{ .event }}, helm.sh/hook-weight: {{ .weight | quote }}, helm.sh/hook-delete-policy: {{ .policy | quote }}}
spec:
  backoffLimit: 0
  template:
    metadata:
      annotations: {simulate.pintle.dev/exit-code: {{ .code | default 0 | quote }}}
    spec:
      restartPolicy: Never
      containers: [{name: hook, image: example.com/pintle/hook}]
{{- end }}
{{- range $event := list "pre-install" "post-install" "pre-upgrade" "post-upgrade" "pre-rollback" "post-rollback" "pre-delete" "post-delete" "test" }}
{{ template "hook" dict "event" $event "name" "c" "weight" -5 "policy" "before-hook-creation" }}
---
{{ template "hook" dict "event" $event "name" "a" "weight" 10 "policy" "hook-succeeded" }}
---
{{ template "hook" dict "event" $event "name" "b" "weight" 9 "policy" "before-hook-creation,hook-succeeded,hook-failed" }}
---
{{- end }}
{{- if .Values.fails }}
{{ template "hook" dict "event" "pre-upgrade" "name" "fails" "weight" 100 "policy" "hook-failed" "code" 1 }}
{{- end }}
`

// createdHooks are the names of Jobs in the order of their creation, without the hashes in the names of
// an Operation's.
type createdHooks struct {
	world

	mu    sync.Mutex
	seen  map[types.UID]bool
	names []string
}

func (c *createdHooks) saw(job *batchv1.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.seen[job.UID] {
		c.seen[job.UID] = true
		name := job.Name
		if hook := job.Annotations[opsv1alpha1.AnnotationSourceHook]; hook != "" {
			name = "operation " + hook
		}
		c.names = append(c.names, name)
	}
}

// were waits until a number of hooks were created since the last call, and checks that they are those of
// the events in the order of their weights, and the others.
func (c *createdHooks) were(others []string, events ...string) {
	c.Helper()
	var want []string
	for _, event := range events {
		want = append(want, event+"-c", event+"-b", event+"-a")
		if event == "pre-upgrade" {
			want = append(want, others...)
		}
	}
	var got []string
	c.Must(env.Until(c.Context(), "the watch of Jobs", func() (string, bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		got = slices.Clone(c.names)
		return strings.Join(got, " "), len(got) >= len(want)
	}))
	c.mu.Lock()
	defer c.mu.Unlock()
	if diff := cmp.Diff(want, c.names); diff != "" {
		c.Errorf("hooks in order (-want +got):\n%s", diff)
	}
	c.names = nil
}

// TestHookEvents: the hooks of all nine events run in the order of their weights and are deleted by their
// policies, in an install, an upgrade, a failed upgrade with its rollback, an Operation for the event
// test, and an uninstall.
func TestHookEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	w.Publish(&helmchart.Chart{
		Metadata:  &helmchart.Metadata{APIVersion: "v2", Name: "events", Version: "0.1.0"},
		Templates: []*helmchart.File{{Name: "templates/hooks.yaml", Data: []byte(eventHooks)}},
		Values:    map[string]any{"fails": false},
	})
	w.Source("events", env.Registry.Address, "events", fixture.Newest())
	hooks := &createdHooks{world: w, seen: map[types.UID]bool{}}
	w.watchJobs(w.Namespace, hooks.saw)
	hr := w.Draft("play", fixture.ChartRef(helmv2.KindOCIRepository, "events"), values{"n": 1})
	hr.Spec.Test = &helmv2.Test{Enable: true}
	hr.Spec.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{RemediateLastFailure: ptr(true)}}
	w.Create(hr)
	w.UntilRevision(hr, 1)
	hooks.were(nil, "pre-install", "post-install", "test")

	w.change(hr, values{"n": 2})
	w.UntilRevision(hr, 2)
	hooks.were(nil, "pre-upgrade", "post-upgrade", "test")

	if os.Getenv("PINTLE_CRDS") == "" {
		op := &opsv1alpha1.Operation{
			ObjectMeta: w.Meta("test"),
			Spec: opsv1alpha1.OperationSpec{
				TargetRef: opsv1alpha1.TargetReference{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: hr.Name},
				Engine:    opsv1alpha1.EngineHelmHookJob, Parameters: &opsv1alpha1.Parameters{Event: "test"},
			},
		}
		w.Create(op)
		w.untilPhase(op, opsv1alpha1.PhaseSucceeded)
		hooks.were(nil, "operation test")
	}

	w.change(hr, values{"n": 3, "fails": true})
	w.settles(hr, conditions{helmv2.ConditionRemediated: yes, helmv2.ConditionReady: no})
	w.rolledBack(hr, 4, 2)
	hooks.were([]string{"pre-upgrade-fails"}, "pre-upgrade", "pre-rollback", "post-rollback")

	w.Must(env.Client.Delete(t.Context(), hr))
	w.gone(hr)
	hooks.were(nil, "pre-delete", "post-delete")
	w.left()
}

// left checks that of the hooks those are left that only have the policy before-hook-creation.
func (w world) left() {
	w.Helper()
	want := []string{
		"post-delete-c", "post-install-c", "post-rollback-c", "post-upgrade-c", "pre-delete-c", "pre-install-c", "pre-rollback-c",
		"pre-upgrade-c", "test-c",
	}
	var got []string
	w.Must(env.Until(w.Context(), "hooks to be deleted", func() (string, bool) {
		var list batchv1.JobList
		w.Must(env.Client.List(w.Context(), &list, client.InNamespace(w.Namespace)))
		got = nil
		for _, job := range list.Items {
			if job.Labels[opsv1alpha1.LabelOperation] == "" {
				got = append(got, job.Name)
			}
		}
		slices.Sort(got)
		return strings.Join(got, " "), slices.Equal(got, want)
	}, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace}}))
}
