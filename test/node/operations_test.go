// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
)

// shellHook installs test/charts/shell. Helm has not run its hook, which is for upgrades.
func (w world) shellHook(hook values) *helmv2.HelmRelease {
	w.Helper()
	hr := w.release("app", values{"hook": hook})
	w.UntilReady(hr)
	return hr
}

func TestOperationSucceeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.operate(w.shellHook(values{"script": "seq 1 1000"}), "app-pre-upgrade")
	w.ends(op, opsv1alpha1.PhaseSucceeded, "", new(int32))
	var last []string
	for i := 981; i <= 1000; i++ {
		last = append(last, fmt.Sprint(i))
	}
	w.logsAre(op, "hook", strings.Join(last, "\n"))
	// The reported Pod still exists.
	if pod := w.podOf(op.Status.Outputs.JobName); pod.Name != op.Status.Outputs.LogsRef.Name {
		t.Errorf("the pod is %s, and not %s", pod.Name, op.Status.Outputs.LogsRef.Name)
	}
}

func TestOperationFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.operate(w.shellHook(values{"script": "echo cannot migrate; exit 3"}), "app-pre-upgrade")
	w.fails(op, "BackoffLimitExceeded", 3, "cannot migrate")
	w.logsAre(op, "hook", "cannot migrate")
}

func TestOperationRunsOutOfMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.operate(w.shellHook(values{
		"script": "echo it takes a lot; " + tooMuch, "resources": values{"limits": values{"memory": "32Mi"}},
	}), "app-pre-upgrade")
	w.fails(op, opsv1alpha1.ResultOOMKilled, 137, "it takes a lot")
}

// TestOperationTakesTooLong: the chart's deadline, which is shorter than that of the Operation,
// ends it. Kubernetes deletes the Pod of a Job that exceeds its deadline, with its log.
func TestOperationTakesTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.operate(w.shellHook(values{"script": "echo it takes long; sleep 600", "activeDeadlineSeconds": 8}), "app-pre-upgrade")
	w.UntilOperation(op, "to end", func(op *opsv1alpha1.Operation) bool { return op.Status.Phase.Final() })
	w.ends(op, opsv1alpha1.PhaseFailed, opsv1alpha1.ResultDeadlineExceeded, op.Status.Outputs.ExitCode)
	w.operationMessage(op, opsv1alpha1.ConditionFailed, opsv1alpha1.ResultDeadlineExceeded)
	w.logsAre(op, "hook", "it takes long")
}

// TestOperationHasManyContainers: the logs of all containers are reported, however they ended, first
// of the one that failed.
func TestOperationHasManyContainers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	always := corev1.ContainerRestartPolicyAlways
	op := w.operate(w.hookOnly(shell("sleep 3; echo in the middle; exit 5", func(pod *corev1.PodSpec) {
		another := func(name, script string) corev1.Container {
			c := *pod.Containers[0].DeepCopy()
			c.Name, c.Command = name, []string{"sh", "-c", script}
			return c
		}
		beside := another("sidecar", "echo beside; sleep 600")
		beside.RestartPolicy = &always
		pod.InitContainers = []corev1.Container{another("init", "echo at first"), beside}
		pod.Containers = append(pod.Containers, another("second", "echo at last"))
	}), ""), "work")
	w.fails(op, "BackoffLimitExceeded", 5)
	w.logsAre(op, "main", "in the middle", "init", "at first", "sidecar", "beside", "second", "at last")
}

// TestOperationDoesNotBegin: a failed init container is reported as the cause.
func TestOperationDoesNotBegin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.operate(w.hookOnly(shell("echo in vain", func(pod *corev1.PodSpec) {
		c := *pod.Containers[0].DeepCopy()
		c.Name, c.Command = "init", []string{"sh", "-c", "echo no database; exit 6"}
		pod.InitContainers = []corev1.Container{c}
	}), ""), "work")
	w.fails(op, "BackoffLimitExceeded", 6, "no database")
	w.logsAre(op, "init", "no database")
}

func onFailure(pod *corev1.PodSpec) { pod.RestartPolicy = corev1.RestartPolicyOnFailure }

// TestOperationStartsAgain: the log of a container before its restart is reported.
func TestOperationStartsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.operate(w.hookOnly(shell("echo no database; exit 4", onFailure), ""), "work", retries(5))
	w.UntilOperation(op, "to report the log before the restart", func(op *opsv1alpha1.Operation) bool {
		o := op.Status.Outputs
		return o != nil && o.ExitCode != nil && len(o.LogTail) == 1 && o.LogTail[0].Text == "no database"
	})
	w.waits(w.podOf(op.Status.Outputs.JobName), "CrashLoopBackOff")
	w.cancel(op)
	code := int32(4)
	w.ends(op, opsv1alpha1.PhaseCancelled, op.Status.Outputs.Reason, &code)
	w.logsAre(op, "main", "no database")
}

// TestOperationIsTriedInPlace: a Pod with restartPolicy OnFailure is deleted at once when its Job
// has failed for good.
func TestOperationIsTriedInPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.operate(w.hookOnly(shell("echo no database; sleep 1; exit 4", onFailure), ""), "work", retries(1))
	w.fails(op, "BackoffLimitExceeded", 4, "no database")
	w.logsAre(op, "main", "no database")
}

// TestOperationIsTriedAgain: of several Pods the last one is reported.
func TestOperationIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.operate(w.hookOnly(shell("echo no database in $HOSTNAME; exit 4"), ""), "work", retries(1))
	w.fails(op, "BackoffLimitExceeded", 4, "no database")
	w.logsAre(op, "main", "no database in "+op.Status.Outputs.LogsRef.Name)
	var pods corev1.PodList
	w.Must(env.Client.List(t.Context(), &pods, client.InNamespace(w.Namespace)))
	if len(pods.Items) != 2 {
		t.Fatalf("there are %d pods", len(pods.Items))
	}
	last := slices.MaxFunc(pods.Items, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	if got := op.Status.Outputs.LogsRef.Name; got != last.Name {
		t.Errorf("it reports %s, and %s is newer", got, last.Name)
	}
}

// TestOperationIsKilled: exit code 137 without further information is reported as killed.
func TestOperationIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.operate(w.hookOnly(shell("echo all is well; sleep 600 & kill -9 $!; wait $!; exit $?"), ""), "work")
	w.fails(op, opsv1alpha1.ResultKilled, 137, "all is well", "main was killed")
}

const secretObject = `apiVersion: v1
kind: Secret
metadata: {name: app}
stringData:
  password: hunter22hunter22
  pin: "77"
  key: |
    -----BEGIN-----
    c2VjcmV0c2VjcmV0
    -----END-----
`

func TestOperationKeepsSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	script := `echo "the password is $password"; echo "pin=$pin and 770"; echo "$key"; echo -n "$password" | base64; exit 9`
	op := w.operate(w.hookOnly(shell(script, func(pod *corev1.PodSpec) {
		pod.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "app"},
		}}}
	}), secretObject), "work")
	w.fails(op, "BackoffLimitExceeded", 9)
	// A text of fewer than four characters is not removed.
	w.logsAre(op, "main", "the password is ***\npin=77 and 770\n***\n\n***")
	for _, secret := range []string{"hunter22", "c2VjcmV0", base64.StdEncoding.EncodeToString([]byte("hunter22hunter22"))} {
		if strings.Contains(fixture.OperationText(op), secret) {
			t.Errorf("the status contains %s", secret)
		}
	}
}

// A log may be of any size.
func TestOperationSaysALot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	script := "exec 2>&1; seq 1 300000; head -c 1000000 /dev/zero | tr '\\0' x; echo; for i in $(seq 1 30); do head -c 300 /dev/zero | tr '\\0' y; echo; done; echo the end; exit 1"
	op := w.operate(w.hookOnly(shell(script), ""), "work")
	w.fails(op, "BackoffLimitExceeded", 1, "the end")
	text := op.Status.Outputs.LogTail[0].Text
	if len(text) != 4096 || !strings.HasSuffix(text, "y\nthe end") {
		t.Errorf("%d bytes that end with %q", len(text), text[max(0, len(text)-100):])
	}
}

func TestOperationHasNoImage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.operate(w.hookOnly(shell("exit 0", func(pod *corev1.PodSpec) { pod.Containers[0].Image = noImage }), ""), "work", deadline(8))
	w.UntilOperation(op, "to report its obstacle", func(op *opsv1alpha1.Operation) bool {
		return op.Status.Outputs != nil && op.Status.Outputs.Reason == opsv1alpha1.ResultImagePull
	})
	w.operationMessage(op, opsv1alpha1.ConditionRunning, opsv1alpha1.ResultImagePull, noImage)
	w.ends(op, opsv1alpha1.PhaseFailed, opsv1alpha1.ResultImagePull, nil)
	w.operationMessage(op, opsv1alpha1.ConditionFailed, opsv1alpha1.ResultImagePull, noImage)
}

func TestOperationHasNoSecretKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.operate(w.hookOnly(shell("exit 0", func(pod *corev1.PodSpec) {
		pod.Containers[0].Env = []corev1.EnvVar{{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "app"}, Key: "token"},
		}}}
	}), secretObject), "work", deadline(8))
	w.ends(op, opsv1alpha1.PhaseFailed, "CreateContainerConfigError", nil)
	w.operationMessage(op, opsv1alpha1.ConditionFailed, "CreateContainerConfigError", "token")
}

func TestOperationHasNoNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.operate(w.hookOnly(shell("exit 0", func(pod *corev1.PodSpec) {
		pod.NodeSelector = map[string]string{"there": "is-none"}
	}), ""), "work", deadline(8))
	w.UntilOperation(op, "to report its obstacle", func(op *opsv1alpha1.Operation) bool {
		return op.Status.Outputs != nil && op.Status.Outputs.Reason == opsv1alpha1.ResultUnschedulable
	})
	w.operationMessage(op, opsv1alpha1.ConditionRunning, opsv1alpha1.ResultUnschedulable, "nodes")
	w.ends(op, opsv1alpha1.PhaseFailed, opsv1alpha1.ResultUnschedulable, nil)
	w.operationMessage(op, opsv1alpha1.ConditionFailed, opsv1alpha1.ResultUnschedulable, "nodes")
}

// cancel waits until a container has logged a line, and cancels the Operation.
func (w world) cancel(op *opsv1alpha1.Operation) {
	w.Helper()
	w.Must(env.Client.Get(w.Context(), client.ObjectKeyFromObject(op), op))
	before := op.DeepCopy()
	op.Spec.Cancel = true
	w.Must(env.Client.Patch(w.Context(), op, client.MergeFrom(before)))
}

func TestOperationIsCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	script := "trap 'echo stopped; exit 7' TERM; echo half of it is done; sleep 600 & wait"
	op := w.operate(w.hookOnly(shell(script, func(pod *corev1.PodSpec) {
		long := int64(30)
		pod.TerminationGracePeriodSeconds = &long
	}), ""), "work")
	w.UntilOperation(op, "to run", func(op *opsv1alpha1.Operation) bool { return op.Status.Phase == opsv1alpha1.PhaseRunning })
	pod := w.speaking(op)
	w.cancel(op)
	w.UntilOperation(op, "to end", func(op *opsv1alpha1.Operation) bool { return op.Status.Phase.Final() })
	w.operationMessage(op, opsv1alpha1.ConditionCancelled, "spec.cancel")
	// The last lines may be lost, since the log is deleted with the Pod.
	if text := op.Status.Outputs.LogTail; len(text) != 1 || !strings.HasPrefix(text[0].Text, "half of it is done") {
		t.Errorf("the logs are %+v", text)
	}
	if code := op.Status.Outputs.ExitCode; code != nil && *code != 7 {
		t.Errorf("the exit code is %d", *code)
	}
	err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)
	if client.IgnoreNotFound(err) != nil || err == nil && pod.Status.Phase == corev1.PodRunning {
		t.Errorf("the Pod still runs, or its state is unknown: %v", err)
	}
}

// speaking waits until the Pod of an Operation has logged a line.
func (w world) speaking(op *opsv1alpha1.Operation) *corev1.Pod {
	w.Helper()
	ctx := w.Context()
	var pods corev1.PodList
	w.Must(env.Until(ctx, "a pod to say something", func() (string, bool) {
		err := env.Client.List(ctx, &pods, client.InNamespace(w.Namespace), client.MatchingLabels{opsv1alpha1.LabelOperation: string(op.UID)})
		if err != nil || len(pods.Items) != 1 {
			return fmt.Sprint(err, len(pods.Items)), false
		}
		// The kubelet may serve the log before it reports the container as running. Until then the
		// controller does not read logs.
		if phase := pods.Items[0].Status.Phase; phase != corev1.PodRunning {
			return string(phase), false
		}
		said, err := env.pods.CoreV1().Pods(w.Namespace).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		return fmt.Sprint(err), len(said) > 0
	}))
	return &pods.Items[0]
}
