// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
)

// object parses a manifest; nothing is an object that does not exist.
func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	if manifest == "" {
		return nil
	}
	u := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	// This is how a client reads numbers, too.
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestJudgement(t *testing.T) {
	t.Parallel()
	const (
		deploymentReady = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 1},
  status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: "True"}]}}`
		deploymentWaiting = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 1},
  status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1}}`
		deploymentStalled = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 1},
  status: {observedGeneration: 1, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}`
		deploymentPaused = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2}, spec: {replicas: 1, paused: true}, status: {observedGeneration: 1}}`
		otherPaused      = `{apiVersion: example.com/v1, kind: Rollout, metadata: {name: a, generation: 2}, spec: {paused: true}, status: {observedGeneration: 1}}`
		jobCreated       = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}}`
		jobRunning       = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {startTime: "2026-01-01T00:00:00Z", active: 1, failed: 2}}`
		jobComplete      = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {succeeded: 1, startTime: "2026-01-01T00:00:00Z", conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}}`
		jobFailed        = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {startTime: "2026-01-01T00:00:00Z", failed: 1, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}}`
		jobNotFailed     = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {startTime: "2026-01-01T00:00:00Z", active: 1, conditions: [{type: Failed, status: "False"}]}}`
		jobBroken        = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {conditions: none}}`
		podPending       = `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Pending}}`
		podRunning       = `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`
		podSucceeded     = `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Succeeded}}`
		podFailed        = `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Failed, message: evicted}}`
		podNew           = `{apiVersion: v1, kind: Pod, metadata: {name: a}}`
		podBroken        = `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: 7}}`
		custom           = `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}`
		customLagging    = `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, generation: 2}, status: {observedGeneration: 1}}`
		customStalled    = `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, status: {conditions: [{type: Stalled, status: "True", message: stuck}]}}`
		configMap        = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`
	)
	const (
		done    = status.CurrentStatus
		going   = status.InProgressStatus
		failed  = status.FailedStatus
		trouble = status.Status("error")
	)
	// Columns: Wait, WaitWithJobs, WatchUntilReady, WaitForDelete.
	cases := map[string]struct {
		reason   string
		manifest string
		want     [4]status.Status
	}{
		"Missing":           {"what is not there is gone, and neither ready nor done", "", [4]status.Status{going, going, going, done}},
		"ConfigMap":         {"what has no status is ready once it exists", configMap, [4]status.Status{done, done, done, going}},
		"CustomNoStatus":    {"a kind without status is ready once it exists", custom, [4]status.Status{done, done, done, going}},
		"CustomLagging":     {"a kind that observes generations must have seen this one", customLagging, [4]status.Status{going, going, done, going}},
		"CustomStalled":     {"a kind that says it is stalled will not get there", customStalled, [4]status.Status{failed, failed, done, going}},
		"DeploymentReady":   {"a Deployment that is available is ready", deploymentReady, [4]status.Status{done, done, done, going}},
		"DeploymentWaiting": {"a Deployment without ready Pods is not", deploymentWaiting, [4]status.Status{going, going, done, going}},
		"DeploymentStalled": {"a Deployment past its deadline has failed", deploymentStalled, [4]status.Status{failed, failed, done, going}},
		"DeploymentPaused":  {"nobody waits for a paused rollout", deploymentPaused, [4]status.Status{done, done, done, going}},
		"OtherPaused":       {"only of Deployments is the meaning of paused known", otherPaused, [4]status.Status{going, going, done, going}},
		"JobCreated":        {"a Job that has not started is not ready", jobCreated, [4]status.Status{going, going, going, going}},
		"JobRunning":        {"a Job that runs is ready but not complete, failed Pods or not", jobRunning, [4]status.Status{done, going, going, going}},
		"JobComplete":       {"a Job that is complete is both", jobComplete, [4]status.Status{done, done, done, going}},
		"JobFailed":         {"a Job that has failed stays failed", jobFailed, [4]status.Status{failed, failed, failed, going}},
		"JobNotFailed":      {"a condition that is false says nothing", jobNotFailed, [4]status.Status{done, going, going, going}},
		"JobBroken":         {"a status of the wrong shape is an error, not a verdict", jobBroken, [4]status.Status{trouble, trouble, trouble, going}},
		"PodPending":        {"a Pod that is pending is neither", podPending, [4]status.Status{going, going, going, going}},
		"PodRunning":        {"a Pod that runs is ready; as a hook it has to end", podRunning, [4]status.Status{done, done, going, going}},
		"PodSucceeded":      {"a Pod that has ended is done", podSucceeded, [4]status.Status{done, done, done, going}},
		"PodFailed":         {"a Pod that has ended without success is nothing to wait for; as a hook it has failed", podFailed, [4]status.Status{done, done, failed, going}},
		"PodNew":            {"a Pod without status is neither", podNew, [4]status.Status{going, going, going, going}},
		"PodBroken":         {"a status of the wrong shape is an error, not a verdict", podBroken, [4]status.Status{going, going, trouble, going}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got [4]status.Status
			for i, judge := range []look{ready, readyWithJobs, hookDone, gone} {
				result, err := judge(object(t, tc.manifest))
				if err != nil {
					got[i] = trouble
					continue
				}
				got[i] = result.Status
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: Wait, WaitWithJobs, WatchUntilReady, WaitForDelete (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// patient is a client whose objects are those of manifests, none of which exists
// yet.
func patient(ctx context.Context, t *testing.T, w *world, idle func() func(), manifests string) (*client, kube.ResourceList) {
	t.Helper()
	j := job(release.Install{}, chart.Artifact{}, "1.0.0", nil)
	j.Idle = idle
	r, err := w.runner.prepare(ctx, w.conn, j, redactor{}, false)
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.client.Build(strings.NewReader(manifests), false)
	if err != nil {
		t.Fatal(err)
	}
	return r.client, list
}

const (
	jobPath  = "/apis/batch/v1/namespaces/prod/jobs/migrate"
	jobYAML  = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate}\n"
	oneYAML  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
	onePath  = "/api/v1/namespaces/prod/configmaps/one"
	bothYAML = jobYAML + "---\n" + oneYAML
)

func withStatus(t *testing.T, manifest, jobStatus string) map[string]any {
	t.Helper()
	return object(t, manifest+"status: "+jobStatus+"\n").Object
}

func TestWait(t *testing.T) {
	const failedJob = `{startTime: "2026-01-01T00:00:00Z", conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}`
	type waiting func(*client, kube.ResourceList, time.Duration) error
	cases := map[string]struct {
		reason    string
		wait      waiting
		manifests string
		objects   map[string]string
		refuse    func(method, path string) int
		// want is the error; after is when it comes.
		want  string
		after time.Duration
	}{
		"Nothing": {
			reason: "nothing to wait for is ready", wait: (*client).Wait,
		},
		"Ready": {
			reason: "what is ready at the first look costs no time", wait: (*client).Wait,
			manifests: oneYAML, objects: map[string]string{onePath: oneYAML},
		},
		"Timeout": {
			reason: "the message names what was waited for, and nothing else", wait: (*client).WaitWithJobs,
			manifests: bothYAML, objects: map[string]string{onePath: oneYAML, jobPath: jobYAML},
			want: "timeout waiting for: [Job/prod/migrate status: 'InProgress': Job has not completed]", after: time.Minute,
		},
		"Missing": {
			reason: "what does not exist is not ready", wait: (*client).Wait, manifests: oneYAML,
			want: "timeout waiting for: [ConfigMap/prod/one status: 'InProgress': not found]", after: time.Minute,
		},
		"Unreadable": {
			reason: "a failure to look is no verdict; it is told in the end", wait: (*client).Wait, manifests: oneYAML,
			refuse: func(method, path string) int {
				if method == http.MethodGet && path == onePath {
					return http.StatusForbidden
				}
				return 0
			},
			want: "timeout waiting for: [ConfigMap/prod/one: refused by the test]", after: time.Minute,
		},
		"FailFast": {
			reason: "what will never be ready ends the wait", wait: (*client).WaitWithJobs,
			manifests: bothYAML, objects: map[string]string{jobPath: jobYAML + "status: " + failedJob},
			want: "failed early due to stalled resources: [Job/prod/migrate status: 'Failed': BackoffLimitExceeded: too often]",
		},
		"HookFailed": {
			reason: "a hook's Job that has failed will not try again", wait: (*client).WatchUntilReady,
			manifests: jobYAML, objects: map[string]string{jobPath: jobYAML + "status: " + failedJob},
			want: "failed early due to stalled resources: [Job/prod/migrate status: 'Failed': BackoffLimitExceeded: too often]",
		},
		"HookRetrying": {
			reason: "a hook's Job whose Pods fail gets all its time", wait: (*client).WatchUntilReady,
			manifests: jobYAML, objects: map[string]string{jobPath: jobYAML + "status: {failed: 3, active: 1}"},
			want: "timeout waiting for: [Job/prod/migrate status: 'InProgress': Job has not completed]", after: time.Minute,
		},
		"Vanished": {
			reason: "a Job that the cluster removes once it has ended may be gone before anybody looked", wait: (*client).WaitWithJobs,
			manifests: jobYAML + "spec: {ttlSecondsAfterFinished: 0}\n",
		},
		"VanishedHook": {
			reason: "a hook may vanish just so", wait: (*client).WatchUntilReady,
			manifests: jobYAML + "spec: {ttlSecondsAfterFinished: 0}\n",
		},
		"Lost": {
			reason: "a Job that nobody should have removed is missing", wait: (*client).WaitWithJobs, manifests: jobYAML,
			want: "timeout waiting for: [Job/prod/migrate status: 'InProgress': not found]", after: time.Minute,
		},
		"Deleted": {
			reason: "what does not exist has been deleted", wait: (*client).WaitForDelete, manifests: bothYAML,
		},
		"NotDeleted": {
			reason: "what is still there has not", wait: (*client).WaitForDelete,
			manifests: bothYAML, objects: map[string]string{jobPath: jobYAML + "status: " + failedJob},
			want: "timeout waiting for: [Job/prod/migrate status: 'InProgress': still exists]", after: time.Minute,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for path, manifest := range tc.objects {
				w.put(path, object(t, manifest).Object)
			}
			synctest.Test(t, func(t *testing.T) {
				c, list := patient(t.Context(), t, w, nil, tc.manifests)
				w.refuse = tc.refuse
				begun := time.Now()
				var got string
				if err := tc.wait(c, list, time.Minute); err != nil {
					got = err.Error()
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
				if d := time.Since(begun); d != tc.after {
					t.Errorf("%s: ended after %s, want %s", tc.reason, d, tc.after)
				}
			})
		})
	}
}

// Each object has to be ready once; what was ready is not looked at again, and
// the slot is given back while nothing else happens.
func TestWaitGoesOn(t *testing.T) {
	w := newWorld(t)
	w.put(onePath, object(t, oneYAML).Object)
	w.put(jobPath, object(t, jobYAML).Object)
	synctest.Test(t, func(t *testing.T) {
		var idled, resumed atomic.Int32
		c, list := patient(t.Context(), t, w, func() func() { idled.Add(1); return func() { resumed.Add(1) } }, bothYAML)
		done := make(chan error, 1)
		go func() { done <- c.WaitWithJobs(list, time.Hour) }()
		time.Sleep(time.Minute + time.Millisecond)
		if idled.Load() != 1 || resumed.Load() != 0 {
			t.Errorf("idle %d times, resumed %d times during the wait", idled.Load(), resumed.Load())
		}
		w.mu.Lock()
		delete(w.objects, onePath)
		w.objects[jobPath] = withStatus(t, jobYAML, `{conditions: [{type: Complete, status: "True"}]}`)
		w.mu.Unlock()
		begun := time.Now()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if d := time.Since(begun); d > 2*time.Second {
			t.Errorf("noticed after %s", d)
		}
		if idled.Load() != 1 || resumed.Load() != 1 {
			t.Errorf("idle %d times, resumed %d times", idled.Load(), resumed.Load())
		}
		if len(list) != 2 || list[0] == nil || list[1] == nil {
			t.Errorf("the caller's list was changed: %v", list)
		}
	})
}

func TestWaitIsCancelled(t *testing.T) {
	w := newWorld(t)
	for name, wait := range map[string]func(*client, kube.ResourceList, time.Duration) error{
		"Wait": (*client).Wait, "WaitWithJobs": (*client).WaitWithJobs, "WatchUntilReady": (*client).WatchUntilReady,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				c, list := patient(ctx, t, w, nil, jobYAML)
				done := make(chan error, 1)
				go func() { done <- wait(c, list, time.Hour) }()
				synctest.Wait()
				begun := time.Now()
				cancel()
				if err := <-done; !errors.Is(err, errCancelled) || time.Since(begun) != 0 {
					t.Errorf("%v after %s", err, time.Since(begun))
				}
			})
		})
	}
}

func TestPollEvery(t *testing.T) {
	t.Parallel()
	for elapsed, want := range map[time.Duration]time.Duration{
		0:                100 * time.Millisecond,
		time.Second:      100 * time.Millisecond,
		5 * time.Second:  500 * time.Millisecond,
		20 * time.Second: 2 * time.Second,
		time.Hour:        2 * time.Second,
	} {
		if got := pollEvery(elapsed); got != want {
			t.Errorf("after %s: every %s, want %s", elapsed, got, want)
		}
	}
}

func TestBuildLabels(t *testing.T) {
	w := newWorld(t)
	_, list := patient(t.Context(), t, w, nil,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, labels: {own: kept, "+helmv2.LabelName+": forged}}\n---\n"+
			"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: two}}\n")
	got := map[string]map[string]string{}
	for _, info := range list {
		u, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("object %T", info.Object)
		}
		got[info.Mapping.GroupVersionKind.Kind+" "+info.Namespace+"/"+info.Name] = u.GetLabels()
	}
	want := map[string]map[string]string{
		"ConfigMap prod/one": {"own": "kept", helmv2.LabelName: "app", helmv2.LabelNamespace: "prod"},
		"Namespace /two":     {helmv2.LabelName: "app", helmv2.LabelNamespace: "prod"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("every object, those in lists too, says where it comes from (-want +got):\n%s", diff)
	}
}

func TestLogBuffer(t *testing.T) {
	t.Parallel()
	var passed []string
	log := funcr.New(func(_, args string) { passed = append(passed, args) }, funcr.Options{Verbosity: 1})
	moment := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	b := newLogBuffer(log, func() time.Time { return moment }, redactor{})
	if got := b.lines(); len(got) != 0 {
		t.Errorf("lines %q", got)
	}
	for i := range 13 {
		b.printf("line %d of %s", i, "100%")
	}
	var want []string
	for i := 3; i < 13; i++ {
		want = append(want, fmt.Sprintf("2026-01-02T02:04:05Z line %d of 100%%", i))
	}
	got := b.lines()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the last ten, oldest first (-want +got):\n%s", diff)
	}
	if len(passed) != 13 {
		t.Errorf("%d of 13 lines reached the debug log", len(passed))
	}
	got[0] = "changed"
	if b.lines()[0] == "changed" {
		t.Error("lines are shared")
	}
	quiet := newLogBuffer(logr.Discard(), time.Now, redactor{})
	quiet.printf("kept %s", "anyway")
	if len(quiet.lines()) != 1 {
		t.Error("a line is kept whether or not it is logged")
	}
}
