// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
)

// hookPod is the Pod of the Operation, whose UID is empty in the client of the tests.
func hookPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "migrate-abc", Labels: map[string]string{opsv1alpha1.LabelOperation: ""}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "migrate", EnvFrom: []corev1.EnvFromSource{
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "database"}}},
		}}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "migrate", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}},
	}
}

// ended makes an Operation end.
func ended(phase opsv1alpha1.OperationPhase, condition, message string) func(op *opsv1alpha1.Operation) {
	return func(op *opsv1alpha1.Operation) {
		op.Status = opsv1alpha1.OperationStatus{
			Phase:      phase,
			Conditions: []metav1.Condition{{Type: condition, Status: "True", Message: message}},
			Outputs:    &opsv1alpha1.Outputs{LogTail: []opsv1alpha1.ContainerLog{{Container: "migrate", Text: "stored line\n"}}},
		}
	}
}

func runWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "cluster.yaml")
	w.objects = append(w.objects, hookPod(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "database"}, Data: map[string][]byte{"password": []byte("correct horse")}})
	w.prints("connecting with correct horse\nmigrated 3 tables\n")
	return w
}

// prints makes each container print a text.
func (w *world) prints(text string) {
	w.logs = func(context.Context, string, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}
}

// TestRun: the logs of a hook are shown without values of Secrets, and the result is the exit code.
func TestRun(t *testing.T) {
	w := runWorld(t)
	w.operate = ended(opsv1alpha1.PhaseSucceeded, opsv1alpha1.ConditionSucceeded, "Job web-migrate completed")
	w.golden("run", "run web web-migrate")
	w.golden("run-errors", "run missing hook", "run web")
	var ops opsv1alpha1.OperationList
	if err := w.client.List(t.Context(), &ops); err != nil || len(ops.Items) != 1 || ops.Items[0].Spec.Parameters.HookName != "web-migrate" {
		t.Errorf("%v, the Operations are %v", err, ops.Items)
	}
}

// TestRunFails: the log of a hook cannot control the terminal.
func TestRunFails(t *testing.T) {
	w := runWorld(t)
	w.prints("connecting with correct horse\nmigrated \x1b[1m3 tables\n")
	w.operate = func(op *opsv1alpha1.Operation) {
		ended(opsv1alpha1.PhaseFailed, opsv1alpha1.ConditionFailed, "revision 5 of release web has no hook named web-migrat")(op)
	}
	w.golden("run-failed", "run web web-migrat")
}

// TestRunWithoutSecrets: if a Secret of the Pod cannot be read, only the log that the controller has
// redacted is shown.
func TestRunWithoutSecrets(t *testing.T) {
	w := runWorld(t)
	w.operate = ended(opsv1alpha1.PhaseSucceeded, opsv1alpha1.ConditionSucceeded, "done")
	w.forbidden["Secret"] = true
	w.golden("run-without-secrets", "run web web-migrate")
}

// TestRunExits: the exit code is the one of the container that failed, or 1.
func TestRunExits(t *testing.T) {
	for name, tc := range map[string]struct {
		phase opsv1alpha1.OperationPhase
		code  *int32
		want  int
	}{
		"succeeded":   {opsv1alpha1.PhaseSucceeded, new(int32), 0},
		"failed":      {opsv1alpha1.PhaseFailed, new(int32(42)), 42},
		"not started": {opsv1alpha1.PhaseFailed, nil, 1},
		"deadline":    {opsv1alpha1.PhaseFailed, new(int32), 1},
		"one byte":    {opsv1alpha1.PhaseFailed, new(int32(256)), 1},
		"cancelled":   {opsv1alpha1.PhaseCancelled, new(int32(143)), 1},
	} {
		w := runWorld(t)
		w.operate = func(op *opsv1alpha1.Operation) {
			ended(tc.phase, string(tc.phase), "it has ended")(op)
			op.Status.Outputs.ExitCode = tc.code
		}
		if got := w.run("run", "web", "web-migrate"); got != tc.want {
			t.Errorf("%s: exit code %d, want %d", name, got, tc.want)
		}
	}
}

// TestRunFlags: logs can be left out, and the Operation can have a TTL.
func TestRunFlags(t *testing.T) {
	w := runWorld(t)
	w.operate = ended(opsv1alpha1.PhaseSucceeded, opsv1alpha1.ConditionSucceeded, "Job web-test completed")
	w.golden("run-flags", "run web test --ttl 24h --logs=false", "run web test --ttl -1s", "run web test --ttl 600000h")
	var ops opsv1alpha1.OperationList
	if err := w.client.List(t.Context(), &ops); err != nil || len(ops.Items) != 1 {
		t.Fatalf("%v, the Operations are %v", err, ops.Items)
	}
	if s := ops.Items[0].Spec; s.Parameters.Event != "test" || s.TTLSecondsAfterFinished == nil || *s.TTLSecondsAfterFinished != 86400 {
		t.Errorf("the spec is %+v", s)
	}
}

// TestRunDeletedAtOnce: a TTL of zero is one, unlike none.
func TestRunDeletedAtOnce(t *testing.T) {
	w := runWorld(t)
	w.operate = ended(opsv1alpha1.PhaseSucceeded, opsv1alpha1.ConditionSucceeded, "Job web-test completed")
	if code := w.run("run", "web", "test", "--ttl", "0s"); code != 0 {
		t.Errorf("exit code %d: %s", code, w.err.String())
	}
	var ops opsv1alpha1.OperationList
	if err := w.client.List(t.Context(), &ops); err != nil || len(ops.Items) != 1 || ops.Items[0].Spec.TTLSecondsAfterFinished == nil {
		t.Errorf("%v, the Operations are %+v", err, ops.Items)
	}
}

// TestRunNext: a hook of the next version is run in the name of the user, and only a pre-upgrade hook by
// its name.
func TestRunNext(t *testing.T) {
	w := runWorld(t)
	w.user = "alice"
	w.operate = ended(opsv1alpha1.PhaseSucceeded, opsv1alpha1.ConditionSucceeded, "Job web-migrate completed")
	w.golden("run-next", "run web web-migrate --from=next --skip-in-upgrade --logs=false", "run web web-migrate --skip-in-upgrade", "run web web-migrate --from=tomorrow")
	var ops opsv1alpha1.OperationList
	if err := w.client.List(t.Context(), &ops); err != nil || len(ops.Items) != 1 {
		t.Fatalf("%v, the Operations are %v", err, ops.Items)
	}
	if p := ops.Items[0].Spec.Parameters; p.HookName != "web-migrate" || p.From != opsv1alpha1.FromNext || !p.SkipInUpgrade || p.SkipApprovedBy != "alice" {
		t.Errorf("the parameters are %+v", p)
	}
}
