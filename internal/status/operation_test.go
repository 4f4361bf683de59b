// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/status"
	"github.com/pintle-dev/pintle/internal/status/message"
)

var noon = time.Date(2026, 5, 28, 12, 0, 0, 0, time.UTC)

// hookInput returns the input of an Operation, with job as its current Job unless it is nil.
func hookInput(phase opsv1alpha1.OperationPhase, job *operation.Job) operation.Input {
	in := operation.Input{
		Object: operation.Object{UID: "op", Namespace: "org-myteam", Name: "op", Generation: 1, Created: noon, Finalizer: true},
		Spec: opsv1alpha1.OperationSpec{
			Type: opsv1alpha1.TypeMigration, Engine: opsv1alpha1.EngineHelmHookJob,
			Parameters: &opsv1alpha1.Parameters{HookName: "nextcloud-myteam-pre-upgrade"},
		},
		Recorded: opsv1alpha1.OperationStatus{Phase: phase},
		Target:   operation.Target{HelmRelease: "nextcloud-myteam"}, LockedReleases: []string{"nextcloud-myteam"}, Now: noon.Add(time.Minute),
	}
	if job != nil {
		in.Jobs = []operation.Job{*job}
		in.Recorded.Outputs = &opsv1alpha1.Outputs{JobName: job.Name, Jobs: []opsv1alpha1.JobResult{{Name: job.Name, UID: job.UID, Phase: opsv1alpha1.PhasePending}}}
	}
	return in
}

func running() operation.Job { return operation.Job{Name: "job", UID: "1", Ours: true, Started: noon} }

// TestStatusMapping: phases and conditions are those of the tables in docs/spec/operations.md.
func TestStatusMapping(t *testing.T) {
	rejected := func(reason string) operation.Input {
		in := hookInput("", nil)
		in.Plan.Refused = &operation.Problem{Reason: reason, Message: "some reason"}
		in.Plan.Hooks = []opsv1alpha1.HookReference{{Name: "other", Kind: "Job"}}
		return in
	}
	complete, failed, code := running(), running(), int32(3)
	complete.Complete, complete.Ended = true, noon.Add(30*time.Second)
	failed.Failed = true
	failed.Result = operation.Result{Pod: "pod", ExitCode: &code, Reason: "BackoffLimitExceeded", Logs: []opsv1alpha1.ContainerLog{{Container: "main", Text: "no such table"}}}
	for row, tc := range map[string]struct {
		in         operation.Input
		phase      opsv1alpha1.OperationPhase
		conditions []string
		check      func(opsv1alpha1.OperationStatus) bool
	}{
		"hook not present in rendered release": {
			rejected(opsv1alpha1.ReasonHookNotFound), opsv1alpha1.PhaseFailed,
			[]string{"Accepted=False/HookNotFound", "Blocked=True/HookNotFound", "Failed=True/HookNotFound"},
			func(s opsv1alpha1.OperationStatus) bool { return len(s.Hooks) == 1 && s.Outputs == nil },
		},
		"Job running": {
			hookInput(opsv1alpha1.PhasePending, new(running())), opsv1alpha1.PhaseRunning,
			[]string{"Accepted=True/Accepted", "Running=True/HelmHookJobActive"},
			func(s opsv1alpha1.OperationStatus) bool {
				return s.StartedAt.Time.Equal(noon) && s.CompletionTime == nil
			},
		},
		"Job complete": {
			hookInput(opsv1alpha1.PhaseRunning, &complete), opsv1alpha1.PhaseSucceeded,
			[]string{"Accepted=True/Accepted", "Running=False/HelmHookJobSucceeded", "Succeeded=True/HelmHookJobSucceeded"},
			func(s opsv1alpha1.OperationStatus) bool {
				return s.Outputs.CompletionTime.Time.Equal(complete.Ended) && s.CompletionTime != nil
			},
		},
		"Job failed": {
			hookInput(opsv1alpha1.PhaseRunning, &failed), opsv1alpha1.PhaseFailed,
			[]string{"Accepted=True/Accepted", "Running=False/HelmHookJobFailed", "Failed=True/HelmHookJobFailed"},
			func(s opsv1alpha1.OperationStatus) bool {
				message := s.Conditions[len(s.Conditions)-1].Message
				return *s.Outputs.ExitCode == 3 && s.Outputs.LogsRef.Name == "pod" && s.Outputs.LogsRef.Namespace == "org-myteam" &&
					strings.Contains(message, "exit code 3") && strings.HasSuffix(message, "\nLast log lines of container main of Pod pod:\n\nno such table") &&
					s.Outputs.LogTail[0].Text != ""
			},
		},
		"pre-install, and the release does not yet exist": {
			rejected(opsv1alpha1.ReasonHookRequiresRelease), opsv1alpha1.PhaseFailed,
			[]string{"Accepted=False/HookRequiresRelease", "Failed=True/HookRequiresRelease"},
			func(s opsv1alpha1.OperationStatus) bool { return s.Outputs == nil },
		},
	} {
		t.Run(row, func(t *testing.T) {
			r := status.Operation(operation.Decide(tc.in), tc.in)
			var got []string
			for _, c := range r.Status.Conditions {
				got = append(got, c.Type+"="+string(c.Status)+"/"+c.Reason)
			}
			slices.Sort(got)
			slices.Sort(tc.conditions)
			if diff := cmp.Diff(tc.conditions, got); diff != "" || r.Status.Phase != tc.phase || !tc.check(r.Status) {
				t.Errorf("phase %s %+v (-want +got):\n%s", r.Status.Phase, r.Status, diff)
			}
			if r.Ended != tc.phase.Final() || len(r.Events) != 1 {
				t.Errorf("ended %v, events %v", r.Ended, r.Events)
			}
			for _, e := range r.Events {
				if strings.Contains(e.Message, "no such table") {
					t.Error("an event has a line of the log")
				}
			}
		})
	}
}

// TestOperationLastLines: the message of a failed Job ends with the last lines of the first log that
// has any, and is bounded.
func TestOperationLastLines(t *testing.T) {
	for name, tc := range map[string]struct {
		logs []opsv1alpha1.ContainerLog
		want string
	}{
		"none":          {nil, ""},
		"empty":         {[]opsv1alpha1.ContainerLog{{Container: "main", Text: "\n"}}, ""},
		"first":         {[]opsv1alpha1.ContainerLog{{Container: "main", Text: "a\nb\nc\nd\n"}, {Container: "proxy", Text: "bye"}}, "\nLast log lines of container main of Pod pod:\n\nb\nc\nd"},
		"first is mute": {[]opsv1alpha1.ContainerLog{{Container: "main"}, {Container: "proxy", Text: "bye"}}, "\nLast log lines of container proxy of Pod pod:\n\nbye"},
		"long":          {[]opsv1alpha1.ContainerLog{{Container: "main", Text: "x" + strings.Repeat("é", 1000)}}, "\nLast log lines of container main of Pod pod:\n\n" + strings.Repeat("é", 256)},
	} {
		t.Run(name, func(t *testing.T) {
			j := running()
			j.Failed, j.Result = true, operation.Result{Pod: "pod", Reason: "BackoffLimitExceeded", Logs: tc.logs}
			in := hookInput(opsv1alpha1.PhaseRunning, &j)
			s := status.Operation(operation.Decide(in), in).Status
			const head = "Job job failed: BackoffLimitExceeded. The release was not changed. The logs are in status.outputs. An Operation runs once: create another one."
			if got := s.Conditions[len(s.Conditions)-1].Message; got != head+tc.want {
				t.Errorf("the message is %q", got)
			}
			change := message.ChangeOf(message.Operation, nil, s.Conditions)
			if strings.Contains(change.Message, "Last log lines") {
				t.Error("the log of the controller has lines of the hook's log")
			}
		})
	}
}

// TestOperationSettles: a second reconciliation with the same input changes nothing.
func TestOperationSettles(t *testing.T) {
	in := hookInput(opsv1alpha1.PhasePending, new(running()))
	first := status.Operation(operation.Decide(in), in)
	in.Recorded, in.Now = first.Status, in.Now.Add(time.Minute)
	second := status.Operation(operation.Decide(in), in)
	if diff := cmp.Diff(first.Status, second.Status); diff != "" || len(second.Events) > 0 {
		t.Errorf("(-first +second):\n%s%v", diff, second.Events)
	}
}

// TestOperationKeepsResults: Kubernetes deletes the pods of a Job that exceeds its deadline. Their
// earlier results stay, unless the end of the Job contradicts them.
func TestOperationKeepsResults(t *testing.T) {
	code := int32(143)
	for name, tc := range map[string]struct {
		before, end operation.Result
		complete    bool
		want        string
	}{
		"no image":         {operation.Result{Pod: "a", Reason: "ImagePull"}, operation.Result{Reason: "DeadlineExceeded"}, false, "ImagePull"},
		"no image, still":  {operation.Result{Pod: "a", Reason: "ImagePull"}, operation.Result{Pod: "a", Reason: "DeadlineExceeded"}, false, "ImagePull"},
		"no image, ending": {operation.Result{Pod: "a", Reason: "ImagePull"}, operation.Result{Pod: "a", Ended: true}, false, "ImagePull"},
		"image available":  {operation.Result{Pod: "a", Reason: "ImagePull"}, operation.Result{Pod: "a"}, false, ""},
		"an earlier pod":   {operation.Result{Pod: "a", Reason: "OOMKilled"}, operation.Result{Reason: "DeadlineExceeded"}, false, "DeadlineExceeded"},
		"the only reason":  {operation.Result{Pod: "a", Reason: "OOMKilled"}, operation.Result{Reason: "BackoffLimitExceeded"}, false, "OOMKilled"},
		"success":          {operation.Result{Pod: "a", Reason: "OOMKilled"}, operation.Result{}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := running()
			tc.before.ExitCode, tc.before.Logs = &code, []opsv1alpha1.ContainerLog{{Container: "main", Text: "last words"}}
			j.Result = tc.before
			in := hookInput(opsv1alpha1.PhasePending, &j)
			in.Recorded = status.Operation(operation.Decide(in), in).Status
			j.Result, j.Complete, j.Failed = tc.end, tc.complete, !tc.complete
			in.Jobs = []operation.Job{j}
			o := status.Operation(operation.Decide(in), in).Status.Outputs
			if o.Reason != tc.want || o.LogsRef.Name != "a" || *o.ExitCode != 143 || len(o.LogTail) != 1 || o.Jobs[0].Reason != tc.want {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestOperationReportsOnePod: the logs and the exit code in the outputs are of the same pod, and
// the message of the condition contains that of Kubernetes.
func TestOperationReportsOnePod(t *testing.T) {
	code := int32(4)
	log := func(container, text string) opsv1alpha1.ContainerLog {
		return opsv1alpha1.ContainerLog{Container: container, Text: text}
	}
	first := operation.Result{Pod: "a", ExitCode: &code, Reason: "ImagePull", Message: "no such image", Logs: []opsv1alpha1.ContainerLog{log("init", "one"), log("main", "two")}}
	for name, tc := range map[string]struct {
		then    operation.Result
		want    []opsv1alpha1.ContainerLog
		code    *int32
		message string
	}{
		"another pod":            {operation.Result{Pod: "b"}, nil, nil, ""},
		"the pod is deleted":     {operation.Result{Reason: "DeadlineExceeded"}, first.Logs, &code, "no such image"},
		"one log cannot be read": {operation.Result{Pod: "a", Logs: []opsv1alpha1.ContainerLog{log("main", "three")}}, []opsv1alpha1.ContainerLog{log("main", "three"), log("init", "one")}, &code, ""},
		"a long message":         {operation.Result{Pod: "a", Reason: "Killed", Message: strings.Repeat("x", 2000)}, first.Logs, &code, strings.Repeat("x", 1021) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			j := running()
			j.Result = first
			in := hookInput(opsv1alpha1.PhasePending, &j)
			in.Recorded = status.Operation(operation.Decide(in), in).Status
			j.Result, j.Failed = tc.then, true
			in.Jobs = []operation.Job{j}
			s := status.Operation(operation.Decide(in), in).Status
			o := s.Outputs
			if diff := cmp.Diff([]any{tc.want, tc.code, tc.message}, []any{o.LogTail, o.ExitCode, o.Message}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text := s.Conditions[len(s.Conditions)-1].Message; !strings.Contains(text, tc.message) {
				t.Errorf("message: %s", text)
			}
		})
	}
}

// TestOperationTransitionTimes: the transition time changes with the message, without an event.
func TestOperationTransitionTimes(t *testing.T) {
	in := hookInput("", nil)
	in.Target.Action = "upgrade"
	in.LockedReleases = nil
	in.Plan = operation.Plan{Made: true, Steps: []operation.Step{{Hook: "hook", Job: "job"}}}
	first := status.Operation(operation.Decide(in), in)
	in.Recorded, in.Now = first.Status, in.Now.Add(time.Minute)
	in.Target.Action, in.Target.Pending = "", "revision 4 is pending-upgrade"
	second := status.Operation(operation.Decide(in), in)
	at := func(s opsv1alpha1.OperationStatus, kind string) metav1.Time {
		i := slices.IndexFunc(s.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
		return s.Conditions[i].LastTransitionTime
	}
	if a, b := at(first.Status, "Blocked"), at(second.Status, "Blocked"); a.Equal(&b) {
		t.Error("Blocked has another message and the same transition time")
	}
	if len(second.Events) > 0 {
		t.Errorf("events without a change of the reason: %v", second.Events)
	}
}
