// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

const hookJob = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: "

// hooked is chart note with a Job as a hook for events.
func hooked(events string) map[string]string {
	files := note()
	files["templates/hook.yaml"] = hookJob + "\"" + events + "\"}\n"
	return files
}

// finished makes all Jobs and Pods complete or fail at once.
func finished(success bool) func(map[string]any) {
	condition, phase := "Complete", "Succeeded"
	if !success {
		condition, phase = "Failed", "Failed"
	}
	return func(object map[string]any) {
		switch object["kind"] {
		case "Job":
			object["status"] = map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True"}}}
		case "Pod":
			object["status"] = map[string]any{"phase": phase}
		}
	}
}

// install installs the chart of artifact as revision 1, and upgrades it once for each further
// message.
func install(t *testing.T, w *world, artifact chart.Artifact, messages ...string) {
	t.Helper()
	for i, m := range messages {
		var a release.HelmAction = release.Upgrade{Timeout: time.Minute}
		if i == 0 {
			a = release.Install{Timeout: time.Minute}
		}
		j := job(a, artifact, "1.0.0", map[string]any{"message": m})
		// Only objects of client-side apply can be replaced.
		j.Spec.Install = &helmv2.Install{ServerSideApply: new(bool)}
		if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
			t.Fatal(out.Err)
		}
	}
}

// statuses returns the statuses of the history, newest first.
func statuses(revisions []release.Revision) []helmv2.ReleaseStatus {
	var all []helmv2.ReleaseStatus
	for _, r := range revisions {
		all = append(all, r.Status)
	}
	return all
}

func TestRollback(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	install(t, w, artifact, "one", "two")
	out := w.runner.Run(t.Context(), w.conn, job(release.Rollback{Timeout: time.Minute, Version: 1}, chart.Artifact{}, "", nil))
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	h := w.history()
	if diff := cmp.Diff([]helmv2.ReleaseStatus{helmv2.StatusDeployed, helmv2.StatusSuperseded, helmv2.StatusSuperseded}, statuses(h)); diff != "" {
		t.Fatalf("history (-want +got):\n%s", diff)
	}
	if h[0].Owner != "uid-1" || h[0].Description != "Rollback to 1" || h[0].ConfigDigest != h[2].ConfigDigest {
		t.Errorf("the new revision is ours and equal to the first: %+v", h[0])
	}
	if diff := cmp.Diff(h[:2], out.Revisions, ignoringMoments()); diff != "" {
		t.Errorf("the outcome has what was stored (-want +got):\n%s", diff)
	}
	if got, _, _ := nested(w, configMapPath, "data", "message"); got != "one" {
		t.Errorf("message is %q", got)
	}
	if len(out.Inventory) != 1 {
		t.Errorf("inventory %+v", out.Inventory)
	}
}

func TestRollbackWithoutTarget(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	install(t, w, artifact, "one", "two")
	moved := w.stored()[0]
	moved.Namespace, moved.Version = "elsewhere", 1
	writeSecret(t, w, moved)
	for version, want := range map[int]string{
		1: "revision prod/app.v1 to return to belongs to release elsewhere/app",
		7: "revision prod/app.v7 to return to: release: not found",
	} {
		out := w.runner.Run(t.Context(), w.conn, job(release.Rollback{Timeout: time.Minute, Version: version}, chart.Artifact{}, "", nil))
		if out.Err == nil || out.Err.Error() != want || out.Stored() {
			t.Errorf("error %v, want %s; revisions %+v", out.Err, want, out.Revisions)
		}
	}
}

// TestRollbackFails: the new revision does not stay pending, whichever request fails.
func TestRollbackFails(t *testing.T) {
	for name, event := range map[string]string{"Before": "pre-rollback", "After": "post-rollback"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			install(t, w, w.chart("1.0.0", hooked(event)), "one", "two")
			w.Created = finished(false)
			out := w.runner.Run(t.Context(), w.conn, job(release.Rollback{Timeout: time.Minute, Version: 1}, chart.Artifact{}, "", nil))
			if out.Err == nil || !strings.Contains(out.Err.Error(), "failed early due to stalled resources: [Job/prod/migrate") {
				t.Fatalf("error %v", out.Err)
			}
			h := w.history()
			if len(h) != 3 || h[0].Status != helmv2.StatusFailed || !strings.HasPrefix(h[0].Description, `Rollback "app" failed: failed early`) || h[0].Interrupted {
				t.Errorf("history %+v", h)
			}
			if len(out.Revisions) == 0 || out.Revisions[0].Status != helmv2.StatusFailed {
				t.Errorf("revisions %+v", out.Revisions)
			}
		})
	}
}

func TestRollbackOptions(t *testing.T) {
	files := hooked("pre-rollback")
	files["templates/deployment.yaml"] = deployment
	files["templates/job.yaml"] = "{{ if eq .Values.message \"one\" }}\n" + strings.Replace(jobYAML, "migrate", "work", 1) + "{{ end }}\n"
	one := 1
	cases := map[string]struct {
		reason string
		spec   *helmv2.Rollback
		max    *int
		// ready is true if the Deployment and the Job become ready.
		deployment, job bool
		err             string
		hook            bool
		method          string
		revisions       int
	}{
		"Default":     {reason: "everything is waited for", deployment: true, job: true, hook: true, method: "PATCH", revisions: 3},
		"NoJob":       {reason: "a Job has to complete", deployment: true, err: "timeout waiting for: [Job/prod/work", hook: true, method: "PATCH", revisions: 3},
		"WithoutJobs": {reason: "or need not", spec: &helmv2.Rollback{DisableWaitForJobs: true}, deployment: true, hook: true, method: "PATCH", revisions: 3},
		"NotReady":    {reason: "a Deployment has to be ready", job: true, err: "timeout waiting for: [Deployment/prod/app", hook: true, method: "PATCH", revisions: 3},
		"WithoutWait": {reason: "or need not", spec: &helmv2.Rollback{DisableWait: true}, hook: true, method: "PATCH", revisions: 3},
		"NoHooks":     {reason: "hooks can be left out", spec: &helmv2.Rollback{DisableHooks: true}, deployment: true, job: true, method: "PATCH", revisions: 3},
		"ForceServer": {reason: "but not server-side", spec: &helmv2.Rollback{Force: true, DisableWait: true, ServerSideApply: helmv2.ServerSideApplyEnabled}, hook: true, method: "PATCH", revisions: 3},
		"Force":       {reason: "objects can be replaced", spec: &helmv2.Rollback{Force: true, DisableWait: true, ServerSideApply: helmv2.ServerSideApplyDisabled}, hook: true, method: "PUT", revisions: 3},
		"MaxHistory":  {reason: "old revisions make room", max: &one, deployment: true, job: true, hook: true, method: "PATCH", revisions: 2},
		"CleanUp": {
			reason: "what a failed rollback created stays unless its update failed", spec: &helmv2.Rollback{CleanupOnFail: true},
			deployment: true, err: "timeout waiting for: [Job/prod/work", hook: true, method: "PATCH", revisions: 3,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			rolling := false
			w.Created = func(object map[string]any) {
				if n := object["metadata"].(map[string]any)["name"]; n != "work" || tc.job || !rolling {
					finished(true)(object)
				} else {
					object["status"] = map[string]any{"startTime": "2026-01-01T00:00:00Z", "active": 1}
				}
				if object["kind"] == "Deployment" {
					object["spec"].(map[string]any)["paused"] = true
				}
			}
			install(t, w, w.chart("1.0.0", files), "one", "two")
			w.Mu.Lock()
			rolling = true
			w.Objects[deploymentPath]["spec"].(map[string]any)["paused"] = tc.deployment
			w.Requests = nil
			w.Mu.Unlock()
			j := job(release.Rollback{Timeout: time.Minute, Version: 1}, chart.Artifact{}, "", nil)
			j.Spec.Rollback, j.Spec.MaxHistory = tc.spec, tc.max
			synctest.Test(t, func(t *testing.T) {
				out := w.runner.Run(t.Context(), w.conn, j)
				if tc.err == "" && out.Err != nil || tc.err != "" && (out.Err == nil || !strings.Contains(out.Err.Error(), tc.err)) {
					t.Errorf("%s: error %v, want %q", tc.reason, out.Err, tc.err)
				}
			})
			if made := w.Object(jobPath) != nil; made != tc.hook {
				t.Errorf("%s: hook ran: %t", tc.reason, made)
			}
			if !strings.Contains(strings.Join(w.Requests, "\n"), tc.method+" "+configMapPath) {
				t.Errorf("%s: requests %q", tc.reason, w.Requests)
			}
			if n := len(w.history()); n != tc.revisions {
				t.Errorf("%s: %d revisions", tc.reason, n)
			}
		})
	}
}

func TestUninstallAgain(t *testing.T) {
	cases := map[string]struct {
		reason string
		keep   bool
		hook   bool
		refuse func(method, path string) int
		left   []helmv2.ReleaseStatus
	}{
		"Kept": {reason: "an uninstalled release stays", keep: true, left: []helmv2.ReleaseStatus{helmv2.StatusUninstalled}},
		"Stuck": {
			reason: "an interrupted uninstall is completed", keep: true, left: []helmv2.ReleaseStatus{helmv2.StatusUninstalled},
			refuse: func(method, path string) int {
				if method == http.MethodDelete && path == configMapPath {
					return http.StatusForbidden
				}
				return 0
			},
		},
		"StuckHook":   {reason: "a hook may have failed, too", hook: true},
		"StuckOnKept": {reason: "or both", keep: true, hook: true, left: []helmv2.ReleaseStatus{helmv2.StatusUninstalled}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			files := note()
			if tc.hook {
				files = hooked("pre-delete")
			}
			install(t, w, w.chart("1.0.0", files), "one")
			w.Refuse, w.Created = tc.refuse, finished(false)
			j := job(release.Uninstall{Timeout: time.Minute, Target: target(), Remediation: true}, chart.Artifact{}, "", nil)
			j.Spec.Uninstall = &helmv2.Uninstall{KeepHistory: tc.keep}
			stuck := tc.refuse != nil || tc.hook
			out := w.runner.Run(t.Context(), w.conn, j)
			if (out.Err != nil) != stuck || len(out.Revisions) != 1 {
				t.Errorf("error %v, revisions %+v", out.Err, out.Revisions)
			}
			if stuck && out.Revisions[0].Status != helmv2.StatusUninstalling {
				t.Errorf("revisions %+v", out.Revisions)
			}
			w.Refuse, w.Created = nil, finished(true)
			if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil || out.Stored() != (stuck && tc.keep) {
				t.Errorf("%s: error %v, revisions %+v", tc.reason, out.Err, out.Revisions)
			}
			if diff := cmp.Diff(tc.left, statuses(w.history())); diff != "" || w.Object(configMapPath) != nil {
				t.Errorf("%s: what is left (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUninstallWhereItWas: objects without a namespace are in that of the installed release, also
// if the HelmRelease has another one now.
func TestUninstallWhereItWas(t *testing.T) {
	w := newWorld(t)
	install(t, w, w.chart("1.0.0", note()), "one")
	j := job(release.Uninstall{Timeout: time.Minute, Target: target()}, chart.Artifact{}, "", nil)
	j.Desired.Target = release.Target{Name: "other", Namespace: "other", StorageNamespace: "other"}
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
		t.Fatal(out.Err)
	}
	if w.Object(configMapPath) != nil || len(w.history()) > 0 {
		t.Errorf("something is left: %v, %v", w.Object(configMapPath), w.history())
	}
}

// TestUninstallAsksTheServer: an uninstall lists records from the API server, since the index may
// be outdated.
func TestUninstallAsksTheServer(t *testing.T) {
	w := newWorld(t)
	install(t, w, w.chart("1.0.0", note()), "one")
	local, err := cluster.NewConnections(w.Config(), cluster.Options{Now: time.Now}).For(cluster.Identity{})
	if err != nil {
		t.Fatal(err)
	}
	runner := NewRunner(chart.NewStore(chart.Options{Workers: workers(), Client: &http.Client{Transport: w}, MaxBytes: 1 << 20}), workers(), emptyIndex(t, w, "0"), sealKey(), time.Now)
	j := job(release.Uninstall{Timeout: time.Minute, Target: target()}, chart.Artifact{}, "", nil)
	if out := runner.Run(t.Context(), local, j); out.Err != nil {
		t.Fatal(out.Err)
	}
	if w.Object(configMapPath) != nil || len(w.history()) > 0 {
		t.Errorf("something is left: %v, %v", w.Object(configMapPath), w.history())
	}
}

// TestReplace: Helm keeps the name of a release with history, unless spec.install.replace is set.
func TestReplace(t *testing.T) {
	for name, replace := range map[string]bool{"Kept": false, "Replaced": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			artifact := w.chart("1.0.0", note())
			install(t, w, artifact, "one")
			j := job(release.Uninstall{Timeout: time.Minute, Target: target()}, chart.Artifact{}, "", nil)
			j.Spec.Uninstall = &helmv2.Uninstall{KeepHistory: true}
			if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
				t.Fatal(out.Err)
			}
			j = job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil)
			j.Spec.Install.Replace = replace
			out := w.runner.Run(t.Context(), w.conn, j)
			if (out.Err == nil) != replace || out.Stored() != replace {
				t.Errorf("error %v, revisions %+v", out.Err, out.Revisions)
			}
			if out.Err != nil && !strings.Contains(out.Err.Error(), "cannot re-use a name that is still in use") {
				t.Errorf("error %v", out.Err)
			}
		})
	}
}

func TestUninstallThatFailsAtTheEnd(t *testing.T) {
	w := newWorld(t)
	install(t, w, w.chart("1.0.0", hooked("post-delete")), "one")
	w.Created = finished(false)
	j := job(release.Uninstall{Timeout: time.Minute, Target: target()}, chart.Artifact{}, "", nil)
	j.Spec.Uninstall = &helmv2.Uninstall{KeepHistory: true}
	out := w.runner.Run(t.Context(), w.conn, j)
	if out.Err == nil || !strings.Contains(out.Err.Error(), "uninstallation completed with 1 error(s)") {
		t.Errorf("error %v", out.Err)
	}
	if len(out.Revisions) != 1 || out.Revisions[0].Status != helmv2.StatusUninstalled {
		t.Errorf("revisions %+v", out.Revisions)
	}
}

// tested is chart note with three tests, one of which is another hook as well.
func tested() map[string]string {
	files := note()
	pod := func(name, events string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n  annotations: {helm.sh/hook: \"" + events + "\"}\n"
	}
	files["templates/a.yaml"], files["templates/b.yaml"] = pod("first", "test"), pod("second", "test-success")
	files["templates/c.yaml"] = hookJob + "post-upgrade}\n"
	return files
}

func TestTests(t *testing.T) {
	cases := map[string]struct {
		reason  string
		filters []release.TestFilter
		fails   string
		ran     []string
		want    string
	}{
		"All":       {reason: "every test runs", ran: []string{"first", "second"}},
		"Included":  {reason: "only the named tests run", filters: []release.TestFilter{{Name: "second"}}, ran: []string{"second"}},
		"Excluded":  {reason: "all but the named tests run", filters: []release.TestFilter{{Name: "second", Exclude: true}}, ran: []string{"first"}},
		"Both":      {reason: "a test that is named in both ways does not run", filters: []release.TestFilter{{Name: "first"}, {Name: "second"}, {Name: "second", Exclude: true}}, ran: []string{"first"}},
		"None":      {reason: "no test is no failure", filters: []release.TestFilter{{Name: "third"}}},
		"OtherHook": {reason: "filters do not make a hook a test", filters: []release.TestFilter{{Name: "migrate"}}},
		"Failed": {
			reason: "a failure names the test", fails: "second", ran: []string{"first", "second"},
			want: "test second failed: failed early due to stalled resources: [Pod/prod/second status: 'Failed': Pod failed.]",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			install(t, w, w.chart("1.0.0", tested()), "one")
			before := w.history()[0]
			for test, run := range before.Tests {
				if run != (release.TestRun{}) {
					t.Errorf("%s never ran: %+v", test, run)
				}
			}
			w.Created = func(object map[string]any) {
				finished(object["metadata"].(map[string]any)["name"] != tc.fails)(object)
			}
			j := job(release.Test{Timeout: time.Minute}, chart.Artifact{}, "", nil)
			j.Desired.Policy.TestFilters = tc.filters
			out := w.runner.Run(t.Context(), w.conn, j)
			if tc.want == "" && out.Err != nil || tc.want != "" && (out.Err == nil || out.Err.Error() != tc.want) {
				t.Errorf("%s: error %v", tc.reason, out.Err)
			}
			after := w.history()[0]
			if diff := cmp.Diff([]release.Revision{after}, out.Revisions, ignoringMoments()); diff != "" {
				t.Errorf("the outcome has what was stored (-want +got):\n%s", diff)
			}
			if after.Digest != before.Digest || len(after.Tests) != 2 {
				t.Errorf("%s: tests are no change of the release: %+v", tc.reason, after)
			}
			for _, test := range []string{"first", "second"} {
				run, phase := after.Tests[test], helmv2.TestPhase("")
				if strings.Contains(strings.Join(tc.ran, " "), test) {
					phase = helmv2.TestPhaseSucceeded
				}
				if test == tc.fails {
					phase = "Failed"
				}
				if run.Phase != phase || (phase == "") != (run.Started.IsZero() && run.Completed.IsZero()) {
					t.Errorf("%s: %s: %+v", tc.reason, test, run)
				}
			}
		})
	}
}

// hookNames returns the hooks of the newest stored revision, in their order.
func hookNames(w *world) []string {
	var names []string
	for _, h := range w.stored()[0].Hooks {
		names = append(names, h.Name)
	}
	return names
}

// TestStoredHooksStayWhole: while filtered tests run, and after they were interrupted, the record
// has all hooks in their order.
func TestStoredHooksStayWhole(t *testing.T) {
	w := newWorld(t)
	install(t, w, w.chart("1.0.0", tested()), "one")
	want := hookNames(w)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		j := job(release.Test{Timeout: time.Minute}, chart.Artifact{}, "", nil)
		j.Desired.Policy.TestFilters = []release.TestFilter{{Name: "second"}}
		done := make(chan release.Outcome, 1)
		go func() { done <- w.runner.Run(ctx, w.conn, j) }()
		synctest.Wait()
		if got := w.history()[0].Tests["second"]; got.Phase != helmv2.TestPhaseRunning || got.Started.IsZero() {
			t.Errorf("the test does not run: %+v", got)
		}
		if diff := cmp.Diff(want, hookNames(w)); diff != "" {
			t.Errorf("hooks during the test (-want +got):\n%s", diff)
		}
		cancel()
		out := <-done
		if out.Err == nil || !out.Cancelled || !errors.Is(out.Err, wait.ErrCancelled) {
			t.Errorf("cancelled %t, error %v", out.Cancelled, out.Err)
		}
	})
	if diff := cmp.Diff(want, hookNames(w)); diff != "" {
		t.Errorf("hooks after the test (-want +got):\n%s", diff)
	}
	if got := w.history()[0]; got.Tests["second"].Phase != helmv2.TestPhaseUnknown || got.Status != helmv2.StatusDeployed {
		t.Errorf("a test that was cut off has not failed: %+v", got)
	}
}

// TestHookOutput: a hook whose logs are to be printed does not end the process.
func TestHookOutput(t *testing.T) {
	for name, success := range map[string]bool{"Succeeded": true, "Failed": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Created = finished(success)
			files := note()
			files["templates/hook.yaml"] = hookJob + "pre-install, helm.sh/hook-output-log-policy: \"hook-succeeded,hook-failed\"}\n"
			out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", nil))
			if (out.Err == nil) != success {
				t.Errorf("error %v", out.Err)
			}
		})
	}
}

// stuck stores a deployed revision, and one whose objects did not become ready.
func stuck(t *testing.T, w *world) {
	t.Helper()
	w.Created = func(object map[string]any) {
		if object["kind"] == "Deployment" {
			object["spec"].(map[string]any)["paused"] = true
		}
	}
	artifact := w.chart("1.0.0", neverReady())
	install(t, w, artifact, "one")
	paused(w, false)
	j := job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "two"})
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err == nil {
		t.Fatal("the upgrade succeeded")
	}
}

// paused makes the Deployment of the release ready, by pausing it, or unready.
func paused(w *world, yes bool) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Objects[deploymentPath]["spec"].(map[string]any)["paused"] = yes
}

// TestRecheckCountsFromNowOn: an interrupted revision whose recheck fails counts as failed.
// Otherwise it would be rechecked forever.
func TestRecheckCountsFromNowOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		stuck(t, w)
		for _, rls := range w.stored() {
			if rls.Version == 2 {
				rls.Labels = maps.Clone(rls.Labels)
				if rls.Labels == nil {
					rls.Labels = map[string]string{}
				}
				rls.Labels[helmv2.LabelInterrupted] = "true"
				writeSecret(t, w, rls)
			}
		}
		if h := w.history(); !h[0].Interrupted {
			t.Fatalf("the test is wrong: %+v", h[0])
		}
		j := job(release.Recheck{Timeout: time.Minute, Version: 2}, chart.Artifact{}, "", nil)
		j.History = recorded(w.history())
		out := w.runner.Run(t.Context(), w.conn, j)
		if out.Err == nil || !out.Stored() {
			t.Errorf("the look ends with %v and stores %v", out.Err, out.Revisions)
		}
		if h := w.history(); h[0].Status != helmv2.StatusFailed || h[0].EndedEarly() || h[0].Owner != "uid-1" || !h[0].Applied {
			t.Errorf("the revision is %+v", h[0])
		}
	})
}

func TestRecheck(t *testing.T) {
	cases := map[string]struct {
		reason string
		edit   func(w *world, j *Job)
		want   []helmv2.ReleaseStatus
		err    string
		stored bool
	}{
		"Ready": {
			reason: "a revision whose objects became ready is deployed", stored: true,
			edit: func(w *world, _ *Job) { paused(w, true) },
			want: []helmv2.ReleaseStatus{helmv2.StatusDeployed, helmv2.StatusSuperseded},
		},
		"NotReady": {
			reason: "a revision whose objects are not ready is stored as failed again", stored: true, err: "timeout waiting for: [Deployment/prod/app status: 'InProgress'",
			want: []helmv2.ReleaseStatus{helmv2.StatusFailed, helmv2.StatusDeployed},
		},
		"NotNewest": {
			reason: "only the newest revision defines the objects", err: "revision 1 of release app is not the newest, which is 2",
			edit: func(_ *world, j *Job) { j.Action = release.Recheck{Timeout: time.Minute, Version: 1} },
			want: []helmv2.ReleaseStatus{helmv2.StatusFailed, helmv2.StatusDeployed},
		},
		"CutOff": {
			reason: "a crash in between leaves the revision to be rechecked again", err: "refused by the test", stored: true,
			edit: func(w *world, _ *Job) {
				paused(w, true)
				w.Refuse = func(method, path string) int {
					if method == http.MethodPut && strings.HasSuffix(path, key+"2") {
						return http.StatusForbidden
					}
					return 0
				}
			},
			want: []helmv2.ReleaseStatus{helmv2.StatusFailed, helmv2.StatusSuperseded},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				stuck(t, w)
				w.Mu.Lock()
				w.Requests = nil
				w.Mu.Unlock()
				j := job(release.Recheck{Timeout: time.Minute, Version: 2}, chart.Artifact{}, "", nil)
				if tc.edit != nil {
					tc.edit(w, &j)
				}
				out := w.runner.Run(t.Context(), w.conn, j)
				if tc.err == "" && out.Err != nil || tc.err != "" && (out.Err == nil || !strings.Contains(out.Err.Error(), tc.err)) {
					t.Errorf("%s: error %v", tc.reason, out.Err)
				}
				h := w.history()
				if diff := cmp.Diff(tc.want, statuses(h)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
				if out.Stored() != tc.stored {
					t.Errorf("%s: revisions %+v", tc.reason, out.Revisions)
				}
				for _, r := range w.Requests {
					if !strings.Contains(r, "/secrets/") {
						t.Errorf("a recheck applies nothing: %s", r)
					}
				}
				w.Refuse = nil
				paused(w, true)
				j.Action = release.Recheck{Timeout: time.Minute, Version: 2}
				if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
					t.Fatal(out.Err)
				}
				if h := w.history(); h[0].Status != helmv2.StatusDeployed || h[0].Description != "Upgrade complete" || h[1].Status != helmv2.StatusSuperseded {
					t.Errorf("%s: history in the end %+v", tc.reason, h)
				}
				if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil || out.Stored() {
					t.Errorf("what is deployed needs no recheck: %v, %+v", out.Err, out.Revisions)
				}
			})
		})
	}
}

// TestRecheckRemovesLabels: labels about the failure are removed with it.
func TestRecheckRemovesLabels(t *testing.T) {
	w := newWorld(t)
	install(t, w, w.chart("1.0.0", note()), "one")
	rls := w.stored()[0]
	rls.Info.Status = helmrelease.StatusFailed
	rls.Labels = map[string]string{
		helmv2.LabelRevision: "uid-1.1", helmv2.LabelInterrupted: "true", helmv2.LabelOutdated: "true", helmv2.LabelApplied: "1",
	}
	writeSecret(t, w, rls)
	j := job(release.Recheck{Timeout: time.Minute, Version: 1}, chart.Artifact{}, "", nil)
	j.History = recorded(w.history())
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
		t.Fatal(out.Err)
	}
	l := w.stored()[0].Labels
	if l[helmv2.LabelInterrupted] != "" || l[helmv2.LabelOutdated] != "" || l[helmv2.LabelApplied] != "1" || l[helmv2.LabelRevision] != "uid-1.1" {
		t.Errorf("labels %v", l)
	}
}

func TestActionOf(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		description string
		later       bool
		want        helmv2.ReleaseAction
	}{
		"Install":  {`Release "app" failed: timeout`, false, helmv2.ActionInstall},
		"Upgrade":  {`Upgrade "app" failed: timeout`, true, helmv2.ActionUpgrade},
		"Rollback": {`Release "app" failed: timeout`, true, helmv2.ActionRollback},
		"Hook":     {`Rollback "app" failed: timeout`, true, helmv2.ActionRollback},
		"Unlocked": {`Release unlocked from stale 'pending-upgrade' state`, true, helmv2.ActionUpgrade},
		"Locked":   {`Release unlocked from stale 'pending-rollback' state`, true, helmv2.ActionRollback},
	}
	for name, tc := range cases {
		first := helmtime.Time{Time: time.Unix(1767323045, 0)}
		rls := &helmrelease.Release{Version: 3, Info: &helmrelease.Info{Description: tc.description, FirstDeployed: first, LastDeployed: first}}
		if tc.later {
			rls.Info.LastDeployed = rls.Info.LastDeployed.Add(time.Minute)
		}
		if got := storage.ActionOf(rls); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		stuck(t, w)
		w.Mu.Lock()
		w.Requests = nil
		w.Mu.Unlock()
		got, err := w.runner.Health(t.Context(), w.conn, readRequest(2))
		if err != nil || got.Ready || len(got.Waiting) != 1 || !strings.HasPrefix(got.Waiting[0], "Deployment/prod/app status: 'InProgress'") {
			t.Errorf("%+v, %v", got, err)
		}
		paused(w, true)
		if got, err = w.runner.Health(t.Context(), w.conn, readRequest(2)); err != nil || !got.Ready || got.Waiting != nil {
			t.Errorf("%+v, %v", got, err)
		}
		if len(w.Requests) > 0 {
			t.Errorf("a look writes nothing: %q", w.Requests)
		}
		if _, err = w.runner.Health(t.Context(), w.conn, readRequest(7)); err == nil || !strings.HasPrefix(err.Error(), "revision 7 of release app: ") {
			t.Errorf("error %v", err)
		}
	})
}
