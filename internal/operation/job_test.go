// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/redaction"
)

func owned(kind, by string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{Kind: kind, UID: types.UID(by), Controller: &yes}}
}

// pod returns a Pod of Job job-1 with the given status, created the given number of minutes after
// noon.
func pod(t *testing.T, name string, minute int, status string) corev1.Pod {
	t.Helper()
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, OwnerReferences: owned("Job", "job-1"),
		CreationTimestamp: metav1.NewTime(time.Date(2026, 5, 28, 12, minute, 0, 0, time.UTC)),
	}}
	if err := yaml.UnmarshalStrict([]byte(status), &p.Status); err != nil {
		t.Fatal(err)
	}
	return p
}

func deleted(p corev1.Pod) corev1.Pod {
	p.DeletionTimestamp = &p.CreationTimestamp
	return p
}

func sidecar(p corev1.Pod) corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	p.Spec.InitContainers = []corev1.Container{{Name: "side", RestartPolicy: &always}}
	return p
}

// TestPodResultOf: the Pods of a deleted Job have its result, and Pods of other Jobs do not count.
func TestPodResultOf(t *testing.T) {
	pods := []corev1.Pod{pod(t, "p", 0, "{phase: Failed, containerStatuses: [{name: main, image: a, imageID: a, ready: false, restartCount: 0, state: {terminated: {exitCode: 143}}}]}")}
	code := int32(143)
	if diff := cmp.Diff(operation.Result{Pod: "p", Container: "main", ExitCode: &code, Ended: true}, operation.PodResultOf("job-1", pods)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(operation.Result{}, operation.PodResultOf("job-2", pods)); diff != "" {
		t.Errorf("of another (-want +got):\n%s", diff)
	}
}

// TestResults: the status of a Job and its Pods leads to one result.
func TestResults(t *testing.T) {
	failed := func(reason string) *batchv1.JobCondition {
		return &batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: reason, Message: "message of the Job"}
	}
	complete := &batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}
	exit := func(code int32) *int32 { return &code }
	exited := func(name string, minute int, state string) corev1.Pod {
		return pod(t, name, minute, "{phase: Failed, containerStatuses: [{name: main, image: a, imageID: a, ready: false, restartCount: 0, state: {terminated: {"+state+"}}}]}")
	}
	pulling := pod(t, "p", 0, "{phase: Pending, containerStatuses: [{name: main, image: a, imageID: a, ready: false, restartCount: 0, state: {waiting: {reason: ImagePullBackOff, message: no such image}}}]}")
	unschedulable := pod(t, "p", 0, "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: 0/3 nodes}]}")
	for name, tc := range map[string]struct {
		condition *batchv1.JobCondition
		pods      []corev1.Pod
		want      operation.Result
		live      int
	}{
		"success": {complete, []corev1.Pod{pod(t, "p", 0, "{phase: Succeeded}")}, operation.Result{Pod: "p", ExitCode: exit(0)}, 0},
		"success after a failure": {
			complete,
			[]corev1.Pod{exited("a", 0, "exitCode: 3"), pod(t, "b", 1, "{phase: Succeeded}")},
			operation.Result{Pod: "b", ExitCode: exit(0)},
			0,
		},
		"exit 3": {
			failed("BackoffLimitExceeded"),
			[]corev1.Pod{exited("p", 0, "exitCode: 3, reason: Error")},
			operation.Result{Pod: "p", Container: "main", ExitCode: exit(3), Reason: "BackoffLimitExceeded", Message: "message of the Job", Ended: true},
			0,
		},
		"the last that failed": {
			failed("BackoffLimitExceeded"),
			[]corev1.Pod{exited("a", 0, "exitCode: 3"), exited("b", 1, "exitCode: 4"), pod(t, "c", 2, "{phase: Succeeded}")},
			operation.Result{Pod: "b", Container: "main", ExitCode: exit(4), Reason: "BackoffLimitExceeded", Message: "message of the Job", Ended: true},
			0,
		},
		"out of memory": {
			failed("BackoffLimitExceeded"),
			[]corev1.Pod{exited("p", 0, "exitCode: 137, reason: OOMKilled")},
			operation.Result{Pod: "p", Container: "main", ExitCode: exit(137), Reason: "OOMKilled", Message: "container main exceeded its memory limit", Ended: true},
			0,
		},
		"killed": {
			failed("BackoffLimitExceeded"),
			[]corev1.Pod{exited("p", 0, "exitCode: 137, reason: Error")},
			operation.Result{
				Pod: "p", Container: "main", ExitCode: exit(137), Reason: "Killed", Ended: true,
				Message: "a process of container main was killed, and the node reports no cause: often this is a lack of memory",
			},
			0,
		},
		"never begun, and ended": {
			failed("DeadlineExceeded"),
			[]corev1.Pod{deleted(exited("p", 0, "exitCode: 137, reason: ContainerStatusUnknown, message: not found"))},
			operation.Result{Pod: "p", Reason: "DeadlineExceeded", Message: "message of the Job", Ended: true},
			0,
		},
		"never begun, and cancelled": {
			nil,
			[]corev1.Pod{deleted(exited("p", 0, "exitCode: 137, reason: ContainerStatusUnknown, message: not found"))},
			operation.Result{Pod: "p", Ended: true},
			0,
		},
		"lost by its node": {
			failed("BackoffLimitExceeded"),
			[]corev1.Pod{exited("p", 0, "exitCode: 137, reason: ContainerStatusUnknown, message: not found")},
			operation.Result{Pod: "p", Reason: "ContainerStatusUnknown", Message: "container main: not found"},
			0,
		},
		"killed by a deletion": {
			nil,
			[]corev1.Pod{deleted(exited("p", 0, "exitCode: 137, reason: Error"))},
			operation.Result{Pod: "p", Container: "main", ExitCode: exit(137), Ended: true},
			0,
		},
		"killed because the node is short of something": {
			failed("BackoffLimitExceeded"),
			[]corev1.Pod{pod(t, "p", 0, "{phase: Failed, reason: Evicted, message: low on disk, containerStatuses: [{name: main, image: a, imageID: a, ready: false, restartCount: 0, state: {terminated: {exitCode: 137}}}]}")},
			operation.Result{Pod: "p", Container: "main", ExitCode: exit(137), Reason: "Evicted", Message: "low on disk", Ended: true},
			0,
		},
		"a sidecar is killed at the end": {
			failed("BackoffLimitExceeded"),
			[]corev1.Pod{sidecar(pod(t, "p", 0, "{phase: Failed, initContainerStatuses: [{name: side, image: a, imageID: a, ready: false, restartCount: 0, state: {terminated: {exitCode: 137}}}], containerStatuses: [{name: main, image: a, imageID: a, ready: false, restartCount: 0, state: {terminated: {exitCode: 8}}}]}"))},
			operation.Result{Pod: "p", Container: "main", ExitCode: exit(8), Reason: "BackoffLimitExceeded", Message: "message of the Job", Ended: true},
			0,
		},
		"no such key": {
			failed("DeadlineExceeded"),
			[]corev1.Pod{pod(t, "p", 0, "{phase: Pending, containerStatuses: [{name: main, image: a, imageID: a, ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: no key}}}]}")},
			operation.Result{Pod: "p", Reason: "CreateContainerConfigError", Message: "container main: CreateContainerConfigError: no key"},
			1,
		},
		"deadline": {failed("DeadlineExceeded"), nil, operation.Result{Reason: "DeadlineExceeded", Message: "message of the Job"}, 0},
		"deadline, its pod being killed": {
			failed("DeadlineExceeded"),
			[]corev1.Pod{exited("p", 0, "exitCode: 137, reason: OOMKilled")},
			operation.Result{Pod: "p", Container: "main", ExitCode: exit(137), Reason: "DeadlineExceeded", Message: "message of the Job", Ended: true},
			0,
		},
		"no image":             {nil, []corev1.Pod{pulling}, operation.Result{Pod: "p", Reason: "ImagePull", Message: "container main: ImagePullBackOff: no such image"}, 1},
		"no image in time":     {failed("DeadlineExceeded"), []corev1.Pod{pulling}, operation.Result{Pod: "p", Reason: "ImagePull", Message: "container main: ImagePullBackOff: no such image"}, 1},
		"no node":              {nil, []corev1.Pod{unschedulable}, operation.Result{Pod: "p", Reason: "Unschedulable", Message: "0/3 nodes"}, 1},
		"evicted":              {failed("BackoffLimitExceeded"), []corev1.Pod{pod(t, "p", 0, "{phase: Failed, reason: Evicted, message: low on disk}")}, operation.Result{Pod: "p", Reason: "Evicted", Message: "low on disk"}, 0},
		"no reason":            {failed(""), nil, operation.Result{Reason: "Error", Message: "message of the Job"}, 0},
		"started again":        {nil, []corev1.Pod{pod(t, "p", 0, "{phase: Running, containerStatuses: [{name: main, image: a, imageID: a, ready: true, restartCount: 1, state: {running: {}}, lastState: {terminated: {exitCode: 5}}}]}")}, operation.Result{Pod: "p", Container: "main", ExitCode: exit(5), Ended: true}, 1},
		"the first of two":     {failed("BackoffLimitExceeded"), []corev1.Pod{pod(t, "p", 0, "{phase: Failed, initContainerStatuses: [{name: init, image: a, imageID: a, ready: false, restartCount: 0, state: {terminated: {exitCode: 7}}}], containerStatuses: [{name: main, image: a, imageID: a, ready: false, restartCount: 0, state: {terminated: {exitCode: 8}}}]}")}, operation.Result{Pod: "p", Container: "init", ExitCode: exit(7), Reason: "BackoffLimitExceeded", Message: "message of the Job", Ended: true}, 0},
		"nothing wrong so far": {nil, []corev1.Pod{pod(t, "p", 0, "{phase: Running}")}, operation.Result{Pod: "p"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			job := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "migrate", UID: "job-1", OwnerReferences: owned("Operation", opUID)}}
			if tc.condition != nil {
				job.Status.Conditions = []batchv1.JobCondition{*tc.condition}
			}
			other := pod(t, "z", 50, "{phase: Running}")
			other.OwnerReferences = owned("Job", "job-2")
			got := operation.JobOf(opUID, job, append(tc.pods, other))
			if diff := cmp.Diff(tc.want, got.Result); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !got.Ours || got.Active != tc.live || got.Finished() != (tc.condition != nil) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestJobOf: a Job counts as ours by its controller reference, and its fields are read.
func TestJobOf(t *testing.T) {
	yes, ttl, deadline := true, int32(5), int64(60)
	at := metav1.NewTime(time.Date(2026, 5, 28, 12, 0, 0, 0, time.UTC))
	job := batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: "migrate", UID: "job-1", DeletionTimestamp: &at, Annotations: map[string]string{opsv1alpha1.AnnotationHookDigest: "sha256:1"},
			// The label names this Operation, and the controller is another one.
			Labels: map[string]string{opsv1alpha1.LabelOperation: opUID}, OwnerReferences: owned("Operation", otherUID),
		},
		Spec:   batchv1.JobSpec{Suspend: &yes, TTLSecondsAfterFinished: &ttl, ActiveDeadlineSeconds: &deadline},
		Status: batchv1.JobStatus{StartTime: &at},
	}
	want := operation.Job{
		Name: "migrate", UID: "job-1", Deleted: true, Suspended: true, Expires: true, Digest: "sha256:1", Deadline: time.Minute, Started: at.Time,
	}
	if diff := cmp.Diff(want, operation.JobOf(opUID, job, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTail: a log is cut to its last lines without secrets.
func TestTail(t *testing.T) {
	lines := strings.Repeat("line\n", 100)
	for name, tc := range map[string]struct {
		text, want string
		secrets    []string
	}{
		"nothing":         {"", "", []string{"hunter2"}},
		"a secret":        {"password is hunter2\n", "password is ***", []string{"hunter2"}},
		"encoded":         {"aHVudGVyMg== it is", "*** it is", []string{"hunter2"}},
		"one in another":  {"hunter2hunter", "******", []string{"hunter", "hunter2"}},
		"a short one":     {"abc abcd a=abc", "abc abcd a=abc", []string{"abc"}},
		"several lines":   {"second line\nthird line", "***\n***", []string{"first line\nsecond line\nthird line\n"}},
		"before the cut":  {"hunter2" + strings.Repeat("x", operation.MaxLogBytes-2), strings.Repeat("x", operation.MaxLogBytes-2), []string{"hunter2"}},
		"not UTF-8":       {"a\xff", "a\uFFFD", nil},
		"an empty secret": {"text", "text", []string{"", " ", "\n"}},
		"lines":           {lines, strings.TrimSuffix(strings.Repeat("line\n", operation.MaxLogLines), "\n"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := operation.Tail(tc.text, redaction.New(tc.secrets))
			if name == "before the cut" {
				// Two of the three asterisks are left.
				got = strings.TrimLeft(got, "*")
			}
			if got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
	if n := len(operation.Tail(strings.Repeat("é", 10000)+"z", redaction.Redactor{})); n > operation.MaxLogBytes || n < operation.MaxLogBytes-2 {
		t.Errorf("%d bytes", n)
	}
}

// TestNeedsLogs: logs are read when they are complete or about to be gone.
func TestNeedsLogs(t *testing.T) {
	w := newWorld()
	for _, line := range []string{"run", "job starts", "run"} {
		if err := w.do(line); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		change func(*operation.Input)
		want   bool
	}{
		"it runs":                {func(*operation.Input) {}, false},
		"it has ended":           {func(in *operation.Input) { in.Jobs[0].Complete = true }, true},
		"it is deleted":          {func(in *operation.Input) { in.Jobs[0].Deleted = true }, true},
		"a container has failed": {func(in *operation.Input) { in.Jobs[0].Result.Ended = true }, true},
		"it is stopped":          {func(in *operation.Input) { in.Spec.Cancel = true }, true},
		"its deadline is near":   {func(in *operation.Input) { in.Now = in.Now.Add(30*time.Minute - time.Second) }, true},
		"it is recorded":         {func(in *operation.Input) { in.Jobs[0].Failed, in.Recorded.Phase = true, opsv1alpha1.PhaseFailed }, false},
		"it is another one":      {func(in *operation.Input) { in.Jobs[0].Failed, in.Jobs[0].UID = true, "x" }, false},
	} {
		in := w.input()
		if tc.change(&in); operation.NeedsLogs(in, in.Jobs[0]) != tc.want {
			t.Errorf("%s: not %v", name, tc.want)
		}
	}
}
