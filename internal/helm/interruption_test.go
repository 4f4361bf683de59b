// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cancel"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
)

const leavePath = "/apis/batch/v1/namespaces/prod/jobs/leave"

// migration is a chart whose hook migrate runs before its object is applied. The hook is deleted if
// it fails or succeeds.
func migration() map[string]string {
	return map[string]string{
		"templates/cm.yaml": configMap, "values.yaml": "message: default\n",
		"templates/leave.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: leave\n" +
			"  annotations: {helm.sh/hook: pre-delete, helm.sh/hook-delete-policy: hook-failed}\n",
		"templates/migrate.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n" +
			"  annotations: {helm.sh/hook: \"pre-install,pre-upgrade\", helm.sh/hook-delete-policy: \"hook-failed,hook-succeeded\"}\n",
	}
}

// begin begins a job in the background.
func (m *mortal) begin(ctx context.Context, j Job) <-chan release.Outcome {
	done := make(chan release.Outcome, 1)
	go func() { done <- m.runner.Run(ctx, m.conn, j) }()
	return done
}

// complete makes a Job complete.
func (m *mortal) complete(path string) {
	job := m.Object(path)
	if job == nil {
		m.t.Fatalf("%s does not exist", path)
	}
	job.Object["status"] = map[string]any{"succeeded": int64(1), "conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
	m.Put(path, job.Object)
}

// rest waits until unused shared watches have ended.
func (m *mortal) rest() { time.Sleep(time.Hour) }

// running makes new Jobs run until they are completed, but for the Job leave.
func (m *mortal) running() {
	created := m.Created
	m.Created = func(object map[string]any) {
		created(object)
		if u := (&unstructured.Unstructured{Object: object}); u.GetKind() == "Job" && u.GetName() != "leave" {
			object["status"] = map[string]any{"active": int64(1)}
		}
	}
}

// installing returns a job that installs migration, and its artifact.
func (m *mortal) installing(action release.HelmAction) (Job, chart.Artifact) {
	artifact := m.chart("1.0.0", migration())
	return job(action, artifact, "1.0.0", nil), artifact
}

// TestShutdown: a shutdown ends the wait for a hook. It deletes nothing, and stores nothing. The
// next process waits for the hook.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t)
		defer m.rest()
		m.running()
		ctx, cancel := context.WithCancelCause(t.Context())
		j, artifact := m.installing(release.Install{Timeout: time.Hour})
		done := m.begin(ctx, j)
		time.Sleep(time.Minute)
		writes := len(m.Requests)
		cancel(release.ErrShutdown)
		began := time.Now()
		out := <-done
		if out.Err == nil || !out.Cancelled || out.Interrupted != nil || time.Since(began) > 10*time.Second {
			t.Errorf("%v, cancelled %t, interrupted %v after %s", out.Err, out.Cancelled, out.Interrupted, time.Since(began))
		}
		if left := m.Requests[writes:]; len(left) > 0 {
			t.Errorf("requests after the shutdown: %v", left)
		}
		if all := m.history(); len(all) != 1 || !all[0].Pending() || all[0].Attempt.Running != "Job/migrate" {
			t.Fatalf("the history is %+v", all)
		}
		done = m.begin(t.Context(), job(release.Install{Timeout: time.Hour, Resume: 1}, artifact, "1.0.0", nil))
		time.Sleep(10 * time.Minute)
		m.complete(jobPath)
		if out := <-done; out.Err != nil {
			t.Error(out.Err)
		}
		if m.created["migrate"] != 1 || m.Object(jobPath) != nil || m.Object(configMapPath) == nil || m.history()[0].Status != helmv2.StatusDeployed {
			t.Errorf("created %v; history %+v", m.created, m.history())
		}
	})
}

// TestResumedHookTimeout: the timeout of a hook counts from its recorded start, in whichever process.
func TestResumedHookTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t)
		defer m.rest()
		m.running()
		ctx, cancel := context.WithCancelCause(t.Context())
		j, artifact := m.installing(release.Install{Timeout: time.Hour})
		done := m.begin(ctx, j)
		time.Sleep(20 * time.Minute)
		cancel(release.ErrShutdown)
		<-done
		time.Sleep(10 * time.Minute)
		began := time.Now()
		out := m.runner.Run(t.Context(), m.conn, job(release.Install{Timeout: time.Hour, Resume: 1}, artifact, "1.0.0", nil))
		if took := time.Since(began); out.Err == nil || took < 29*time.Minute || took > 31*time.Minute {
			t.Errorf("%v after %s", out.Err, took)
		}
		if all := m.history(); all[0].Status != helmv2.StatusFailed || all[0].Interrupted || m.Object(jobPath) != nil {
			t.Errorf("the history is %+v", all)
		}
	})
}

// TestResumeFindsOtherHook: an existing object of another attempt is an error also when its hook was
// recorded as started.
func TestResumeFindsOtherHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t)
		defer m.rest()
		j, artifact := m.installing(release.Install{Timeout: time.Hour})
		// The start is stored, and the hook is not created.
		m.left, m.answers = 2, true
		m.runner.Run(t.Context(), m.conn, j)
		m.away, m.left = false, -1
		m.Put(jobPath, (&unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{
			"name": "migrate", "namespace": "prod", "annotations": map[string]any{helmv2.AnnotationAttempt: "uid-1.1"},
		}}}).Object)
		if all := m.history(); all[0].Attempt == nil || all[0].Attempt.Running != "Job/migrate" {
			t.Fatalf("the history is %+v", all)
		}
		out := m.runner.Run(t.Context(), m.conn, job(release.Install{Timeout: time.Hour, Resume: 1}, artifact, "1.0.0", nil))
		if out.Err == nil || !strings.Contains(out.Err.Error(), "already exists") || m.history()[0].Status != helmv2.StatusFailed {
			t.Errorf("%v, %+v", out.Err, m.history())
		}
	})
}

// TestTwoProcesses: a process whose action another one has resumed stops and writes nothing more.
func TestTwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t)
		defer m.rest()
		m.running()
		j, artifact := m.installing(release.Install{Timeout: time.Hour})
		first := m.begin(t.Context(), j)
		time.Sleep(time.Minute)
		second := m.begin(t.Context(), job(release.Install{Timeout: time.Hour, Resume: 1}, artifact, "1.0.0", nil))
		time.Sleep(time.Minute)
		m.complete(jobPath)
		overtaken, resumed := <-first, <-second
		if !overtaken.ResumedElsewhere() {
			t.Errorf("the first process: %v", overtaken.Err)
		}
		if resumed.Err != nil || m.created["migrate"] != 1 || m.history()[0].Status != helmv2.StatusDeployed {
			t.Errorf("the second process: %v, created %v, history %+v", resumed.Err, m.created, m.history())
		}
	})
}

// TestShutdownOfAnOutdatedInstall: a shutdown and a deletion end the wait of an install that waits on
// for its hooks although its inputs are outdated. Only the shutdown leaves the record pending.
func TestShutdownOfAnOutdatedInstall(t *testing.T) {
	for name, tc := range map[string]struct {
		cause  error
		status helmv2.ReleaseStatus
	}{
		"Shutdown": {release.ErrShutdown, helmv2.StatusPendingInstall},
		"Deletion": {context.Canceled, helmv2.StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMortal(t)
				defer m.rest()
				m.running()
				files := map[string]string{
					"templates/job.yaml":  jobYAML,
					"templates/hook.yaml": strings.Replace(strings.Replace(hookMap, "%s", "name: hook", 1), "pre-install", "post-install", 1),
				}
				ctx, end := cancel.New(t.Context())
				done := m.begin(ctx, job(release.Install{Timeout: time.Hour}, m.chart("1.0.0", files), "1.0.0", nil))
				time.Sleep(time.Minute)
				end(release.ErrOutdated)
				time.Sleep(time.Minute)
				began := time.Now()
				end(tc.cause)
				out := <-done
				if took := time.Since(began); took > 10*time.Second || out.Err == nil || !out.Cancelled || out.Outdated != (tc.status == helmv2.StatusFailed) {
					t.Errorf("%v after %s, cancelled %t, outdated %t", out.Err, took, out.Cancelled, out.Outdated)
				}
				if all := m.history(); all[0].Status != tc.status {
					t.Errorf("the history is %+v", all)
				}
			})
		})
	}
}

// TestInstallWaitsForItsHooks: newer inputs do not end the wait of an install while hooks of the
// install have not run, since an upgrade would not run them.
func TestInstallWaitsForItsHooks(t *testing.T) {
	for name, tc := range map[string]struct {
		hook string
		want helmv2.ReleaseStatus
	}{
		"HooksLeft": {"post-install", helmv2.StatusDeployed},
		"NoneLeft":  {"post-upgrade", helmv2.StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMortal(t)
				defer m.rest()
				m.running()
				files := map[string]string{
					"templates/job.yaml":  jobYAML,
					"templates/hook.yaml": strings.Replace(strings.Replace(hookMap, "%s", "name: hook", 1), "pre-install", tc.hook, 1),
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				done := m.begin(ctx, job(release.Install{Timeout: time.Hour}, m.chart("1.0.0", files), "1.0.0", nil))
				time.Sleep(time.Minute)
				cancel(release.ErrOutdated)
				time.Sleep(time.Minute)
				m.complete(jobPath)
				out := <-done
				if all := m.history(); all[0].Status != tc.want || (out.Err == nil) != (tc.want == helmv2.StatusDeployed) {
					t.Errorf("%v, history %+v", out.Err, all)
				}
				if hook := slices.Contains(m.Requests, http.MethodPost+" /api/v1/namespaces/prod/configmaps"); hook != (tc.want == helmv2.StatusDeployed) {
					t.Errorf("requests %v", m.Requests)
				}
			})
		})
	}
}

// TestReinstallDeletesHooks: a hook of an interrupted install that no policy deletes is deleted before
// the release is installed anew. A hook that the install has not created stays.
func TestReinstallDeletesHooks(t *testing.T) {
	for name, tc := range map[string]struct {
		reinstall bool
		attempt   string
		left      bool
	}{
		"Reinstall": {true, "", false},
		"Uninstall": {false, "", true},
		"Other":     {true, "uid-9.1.abc", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMortal(t)
				defer m.rest()
				m.running()
				ctx, cancel := context.WithCancelCause(t.Context())
				j, _ := m.installing(release.Install{Timeout: time.Hour})
				done := m.begin(ctx, j)
				time.Sleep(time.Minute)
				cancel(release.ErrShutdown)
				<-done
				if tc.attempt != "" {
					hook := m.Object(jobPath)
					hook.SetAnnotations(map[string]string{helmv2.AnnotationAttempt: tc.attempt})
					m.Put(jobPath, hook.Object)
				}
				// An earlier uninstall has left its hook.
				old := m.Object(jobPath)
				old.SetName("leave")
				old.SetAnnotations(map[string]string{helmv2.AnnotationAttempt: cmp.Or(tc.attempt, "uid-1.1.earlier")})
				m.Put(leavePath, old.Object)
				m.runner.Run(t.Context(), m.conn, job(release.Unlock{Version: 1, Status: helmv2.StatusPendingInstall, Target: target()}, chart.Artifact{}, "", nil))
				out := m.runner.Run(t.Context(), m.conn, job(release.Uninstall{Timeout: time.Hour, Target: target(), Reinstall: tc.reinstall}, chart.Artifact{}, "", nil))
				if tc.left {
					if out.Err == nil || !strings.Contains(out.Err.Error(), "already exists") || m.Object(jobPath) == nil {
						t.Errorf("%v, the hook is %v", out.Err, m.Object(jobPath))
					}
					return
				}
				if out.Err != nil || m.Object(jobPath) != nil || m.created["leave"] != 1 || len(m.history()) > 0 {
					t.Errorf("%v, the hook is %v, created %v, history %+v", out.Err, m.Object(jobPath), m.created, m.history())
				}
			})
		})
	}
}
