// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestHookAttempts: the objects of a hook are annotated with the attempt that created them. The Pod
// template of a Job, the other objects and the stored revision are not.
func TestHookAttempts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	archive := pack(t, "note", "1.0.0", map[string]string{
		"templates/hook.yaml": strings.Replace(hook(`"pre-install,pre-upgrade"`, job), "name: app", "name: job", 1),
		"templates/cm.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n",
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go b.endHooks(ctx, false)
	for i, action := range []release.HelmAction{install, upgrade} {
		version := i + 1
		b.mustRun(action, archive, nil, helmv2.HelmReleaseSpec{})
		job := &batchv1.Job{}
		b.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "job"}, job))
		if got, want := job.Annotations[helmv2.AnnotationAttempt], fmt.Sprintf("bench-app.%d.", version); !strings.HasPrefix(got, want) {
			t.Errorf("the Job of revision %d has attempt %q, want %q", version, got, want)
		}
		stored, err := json.Marshal(b.record("app", version))
		b.must(err)
		for name, where := range map[string]string{
			"Pod template": fmt.Sprint(job.Spec.Template.ObjectMeta), "ConfigMap": fmt.Sprint(b.configMap("app").ObjectMeta), "revision": string(stored),
		} {
			if strings.Contains(where, helmv2.AnnotationAttempt) {
				t.Errorf("the %s has the annotation: %s", name, where)
			}
		}
	}
}
