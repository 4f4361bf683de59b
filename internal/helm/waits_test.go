// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/kube"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/apitest"
)

const (
	secretPath = "/api/v1/namespaces/prod/secrets/one"
	secretYAML = "apiVersion: v1\nkind: Secret\nmetadata: {name: one}\n"
)

// clientOf returns the client of a job, and the objects of manifests.
func clientOf(ctx context.Context, t *testing.T, w *world, manifests string, edit func(*Job)) (*apply.Client, kube.ResourceList) {
	t.Helper()
	j := job(release.Install{}, chart.Artifact{}, "1.0.0", nil)
	edit(&j)
	r, err := w.runner.prepare(ctx, w.conn, j, redact.Redactor{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.client.Build(strings.NewReader(manifests), false)
	if err != nil {
		t.Fatal(err)
	}
	return r.client, list
}

func TestWaitByExpressions(t *testing.T) {
	rules := []helmv2.CustomHealthCheck{
		{APIVersion: "v1", Kind: "Secret", Failed: "has(data.broken)", Current: "data.token != ''"},
		{APIVersion: "batch/v1", Kind: "Job", Current: "has(metadata.labels.done)"},
	}
	type waiting func(*apply.Client, kube.ResourceList, time.Duration) error
	cases := map[string]struct {
		reason    string
		wait      waiting
		manifests string
		objects   map[string]string
		edit      func(*Job)
		want      string
	}{
		"Current": {
			reason: "a current object is ready", wait: (*apply.Client).Wait,
			manifests: secretYAML, objects: map[string]string{secretPath: secretYAML + "data: {token: x}\n"},
		},
		"InProgress": {
			reason: "an object that is not current is not ready", wait: (*apply.Client).WaitWithJobs,
			manifests: secretYAML, objects: map[string]string{secretPath: secretYAML + "data: {token: ''}\n"},
			want: "timeout waiting for: [Secret/prod/one status: 'InProgress': not current by healthCheckExprs]",
		},
		"Failed": {
			reason: "a failed object ends the wait", wait: (*apply.Client).Wait,
			manifests: secretYAML, objects: map[string]string{secretPath: secretYAML + "data: {broken: x}\n"},
			want: "failed early due to stalled resources: [Secret/prod/one status: 'Failed': failed by healthCheckExprs]",
		},
		"Unknown": {
			reason: "an error is no result, but it is in the message", wait: (*apply.Client).Wait,
			manifests: secretYAML, objects: map[string]string{secretPath: secretYAML},
			want: "timeout waiting for: [Secret/prod/one: expression 'has(data.broken)': ",
		},
		"Missing": {
			reason: "an object that does not exist is not ready by any rule", wait: (*apply.Client).Wait, manifests: secretYAML,
			want: "timeout waiting for: [Secret/prod/one status: 'InProgress': not found]",
		},
		"BeforeJobs": {
			reason: "a rule for Jobs replaces the check of Jobs", wait: (*apply.Client).WaitWithJobs,
			manifests: jobYAML, objects: map[string]string{jobPath: strings.Replace(jobYAML, "migrate}", "migrate, labels: {done: 'yes'}}", 1)},
		},
		"Hook": {
			reason: "rules apply to hooks", wait: (*apply.Client).WatchUntilReady,
			manifests: secretYAML, objects: map[string]string{secretPath: secretYAML + "data: {token: ''}\n"},
			want: "timeout waiting for: [Secret/prod/one status: 'InProgress': not current by healthCheckExprs]",
		},
		"HookWithoutWait": {
			reason: "rules apply to hooks only if the action waits", wait: (*apply.Client).WatchUntilReady,
			edit:      func(j *Job) { j.Spec.Install.DisableWait = true },
			manifests: secretYAML, objects: map[string]string{secretPath: secretYAML + "data: {token: ''}\n"},
		},
		"Test": {
			reason: "rules do not apply to tests", wait: (*apply.Client).WatchUntilReady,
			edit:      func(j *Job) { j.Action = release.Test{} },
			manifests: secretYAML, objects: map[string]string{secretPath: secretYAML + "data: {token: ''}\n"},
		},
		"Legacy": {
			reason: "rules do not apply with the checks of Helm", wait: (*apply.Client).Wait,
			edit:      func(j *Job) { j.Spec.WaitStrategy = &helmv2.WaitStrategy{Name: helmv2.WaitLegacy} },
			manifests: secretYAML, objects: map[string]string{secretPath: secretYAML + "data: {token: ''}\n"},
		},
		"NoRule": {
			reason: "an object without a rule has the usual check", wait: (*apply.Client).Wait,
			manifests: oneYAML, objects: map[string]string{onePath: oneYAML},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for path, manifest := range tc.objects {
				w.Put(path, apitest.Parse(t, manifest).Object)
			}
			synctest.Test(t, func(t *testing.T) {
				c, list := clientOf(t.Context(), t, w, tc.manifests, func(j *Job) {
					j.Spec.HealthCheckExprs = rules
					if tc.edit != nil {
						tc.edit(j)
					}
				})
				err := tc.wait(c, list, time.Minute)
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)) {
					t.Errorf("%s: %v", tc.reason, err)
				}
			})
		})
	}
}

// TestBadExpressions: expressions that cannot be compiled end an action before it begins, but not
// an uninstall.
func TestBadExpressions(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	install(t, w, artifact, "one")
	bad := []helmv2.CustomHealthCheck{{APIVersion: "v1", Current: "=="}}
	j := job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", nil)
	j.Spec.HealthCheckExprs = bad
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err == nil || out.Stored() {
		t.Errorf("error %v, revisions %+v", out.Err, out.Revisions)
	}
	j = job(release.Uninstall{Timeout: time.Minute, Target: target()}, artifact, "", nil)
	j.Spec.HealthCheckExprs = bad
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil || len(w.history()) > 0 {
		t.Errorf("error %v", out.Err)
	}
}

// TestLegacyWait: the checks of Helm 3 differ. A Job that has been created is ready, unless it has
// to complete, and a ConfigMap that does not exist is ready.
func TestLegacyWait(t *testing.T) {
	const (
		jobFailed = `status: {failed: 1, conditions: [{type: Failed, status: "True"}]}`
		podYAML   = "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\n"
		podPath   = "/api/v1/namespaces/prod/pods/one"
	)
	cases := map[string]struct {
		reason    string
		jobs      bool
		manifests string
		objects   map[string]string
		refuse    int
		want      string
		after     time.Duration
	}{
		"Unknown":    {reason: "an object of a kind without a check is ready", manifests: oneYAML},
		"JobCreated": {reason: "a Job is not read", manifests: jobYAML},
		"JobRunning": {
			reason: "a Job has to complete", jobs: true, manifests: jobYAML, objects: map[string]string{jobPath: jobYAML + "spec: {completions: 1, backoffLimit: 6}\n"},
			want: "timeout waiting for: [Job/prod/migrate status: 'InProgress': not ready]", after: 5 * time.Minute,
		},
		"JobFailed": {
			reason: "errors are tolerated for a while", jobs: true, manifests: jobYAML, objects: map[string]string{jobPath: jobYAML + "spec: {backoffLimit: 0}\n" + jobFailed},
			want: "failed early due to stalled resources: [Job/prod/migrate status: 'Failed': job is failed: /migrate]", after: time.Minute,
		},
		"Odd": {
			reason: "a panic in a check does not end the process", jobs: true, manifests: jobYAML, objects: map[string]string{jobPath: jobYAML},
			want:  "failed early due to stalled resources: [Job/prod/migrate status: 'Failed': judging Job/prod/migrate panicked: runtime error: invalid memory address or nil pointer dereference]",
			after: time.Minute,
		},
		"Ready":   {reason: "a ready Pod ends the wait", manifests: podYAML, objects: map[string]string{podPath: podYAML + `status: {conditions: [{type: Ready, status: "True"}]}`}},
		"Missing": {reason: "a missing Pod ends the wait", manifests: podYAML, want: "failed early due to stalled resources: [Pod/prod/one status: 'Failed': NotFound]"},
		"Busy": {
			reason: "a server may recover", manifests: podYAML, refuse: http.StatusInternalServerError,
			want: "failed early due to stalled resources: [Pod/prod/one status: 'Failed': refused by the test]", after: time.Minute,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for path, manifest := range tc.objects {
				w.Put(path, apitest.Parse(t, manifest).Object)
			}
			synctest.Test(t, func(t *testing.T) {
				c, list := clientOf(t.Context(), t, w, tc.manifests, func(j *Job) { j.Defaults.Helm3 = true })
				w.Refuse = func(_, path string) int {
					if path == podPath {
						return tc.refuse
					}
					return 0
				}
				begun, wait := time.Now(), c.Wait
				if tc.jobs {
					wait = c.WaitWithJobs
				}
				err := wait(list, 5*time.Minute)
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || err.Error() != tc.want) {
					t.Errorf("%s: %v", tc.reason, err)
				}
				if d := time.Since(begun); d != tc.after {
					t.Errorf("%s: ended after %s", tc.reason, d)
				}
			})
		})
	}
}

// TestSupersededWait: the wait for objects ends if the action is outdated. Waits for hooks, tests
// and deletions do not.
func TestSupersededWait(t *testing.T) {
	legacy := func(j *Job) { j.Spec.WaitStrategy = &helmv2.WaitStrategy{Name: helmv2.WaitLegacy} }
	cases := map[string]struct {
		wait   func(*apply.Client, kube.ResourceList, time.Duration) error
		edit   func(*Job)
		yields bool
	}{
		"Wait":            {wait: (*apply.Client).Wait, yields: true},
		"WaitWithJobs":    {wait: (*apply.Client).WaitWithJobs, yields: true},
		"Legacy":          {wait: (*apply.Client).WaitWithJobs, edit: legacy, yields: true},
		"WatchUntilReady": {wait: (*apply.Client).WatchUntilReady},
		"WaitForDelete":   {wait: (*apply.Client).WaitForDelete},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Put(jobPath, apitest.Parse(t, jobYAML+"spec: {completions: 1, backoffLimit: 6}\n").Object)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				c, list := clientOf(ctx, t, w, jobYAML, func(j *Job) {
					if tc.edit != nil {
						tc.edit(j)
					}
				})
				done := make(chan error, 1)
				go func() { done <- tc.wait(c, list, time.Minute) }()
				synctest.Wait()
				begun := time.Now()
				cancel(release.ErrOutdated)
				err, waited := <-done, time.Since(begun)
				if yielded := errors.Is(err, release.ErrOutdated) && errors.Is(err, wait.ErrCancelled); yielded != tc.yields {
					t.Errorf("ended with %v", err)
				}
				if (waited == 0) != tc.yields {
					t.Errorf("ended after %s", waited)
				}
			})
		})
	}
}
