// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
)

// hookOnly is a release whose chart has one hook, "work", that Helm itself never runs, and optional
// further objects.
func (w world) hookOnly(spec corev1.PodSpec, objects string) *helmv2.HelmRelease {
	w.Helper()
	hook, err := yaml.Marshal(batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: "work", Annotations: map[string]string{"helm.sh/hook": "pre-rollback"}},
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}},
	})
	w.Must(err)
	hr := w.releaseOf(&helmchart.Chart{
		Metadata: &helmchart.Metadata{APIVersion: "v2", Name: "hooks", Version: "1.0.0"},
		Templates: []*helmchart.File{
			{Name: "templates/hook.yaml", Data: hook}, {Name: "templates/objects.yaml", Data: []byte(objects)},
		},
	}, "app", nil)
	w.UntilReady(hr)
	return hr
}

// operate creates an Operation that runs a hook once, for a minute at most.
func (w world) operate(hr *helmv2.HelmRelease, hook string, changes ...func(*opsv1alpha1.Parameters)) *opsv1alpha1.Operation {
	w.Helper()
	op := &opsv1alpha1.Operation{ObjectMeta: w.Meta("op"), Spec: opsv1alpha1.OperationSpec{
		TargetRef: opsv1alpha1.TargetReference{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: hr.Name},
		Type:      opsv1alpha1.TypeMigration, Engine: opsv1alpha1.EngineHelmHookJob,
		Parameters: &opsv1alpha1.Parameters{HookName: hook},
	}}
	deadline(60)(op.Spec.Parameters)
	for _, change := range changes {
		change(op.Spec.Parameters)
	}
	w.Must(env.Client.Create(w.Context(), op))
	return op
}

func deadline(seconds int64) func(*opsv1alpha1.Parameters) {
	return func(p *opsv1alpha1.Parameters) { p.ActiveDeadlineSeconds = &seconds }
}

func retries(n int32) func(*opsv1alpha1.Parameters) {
	return func(p *opsv1alpha1.Parameters) { p.BackoffLimit = &n }
}

// ends waits for the final phase of an Operation, and checks the fields that its status always has
// then.
func (w world) ends(op *opsv1alpha1.Operation, phase opsv1alpha1.OperationPhase, reason string, code *int32) {
	w.Helper()
	w.UntilOperation(op, "to end", func(op *opsv1alpha1.Operation) bool { return op.Status.Phase.Final() })
	s := op.Status
	o := s.Outputs
	if s.Phase != phase || o == nil || len(o.Jobs) != 1 {
		w.Fatalf("it did not end as %s: %s", phase, fixture.OperationText(op))
	}
	run := o.Jobs[0]
	if o.Reason != reason || run.Reason != reason || !same(o.ExitCode, code) || !same(run.ExitCode, code) {
		w.Errorf("it is over for reason %q, exit code %s; want %q, %s", o.Reason, number(o.ExitCode), reason, number(code))
	}
	if s.StartedAt == nil || s.CompletionTime == nil || run.StartedAt == nil || run.CompletionTime == nil || o.CompletionTime == nil ||
		s.CompletionTime.Before(s.StartedAt) || run.CompletionTime.Before(run.StartedAt) {
		w.Error("start or end is missing, or the end precedes the start")
	}
	if o.LogsRef == nil || o.LogsRef.Kind != "Pod" || o.LogsRef.Namespace != w.Namespace || !strings.HasPrefix(o.LogsRef.Name, run.Name) {
		w.Errorf("the Pod is reported as %+v", o.LogsRef)
	}
	if w.Failed() {
		w.Logf("status: %s\n%s", fixture.OperationText(op), w.PodsText(w.Context()))
	}
}

// fails is how most of them end. The condition has the reason and the exit code, and the logs in
// the outputs have the parts.
func (w world) fails(op *opsv1alpha1.Operation, reason string, code int32, parts ...string) {
	w.Helper()
	w.ends(op, opsv1alpha1.PhaseFailed, reason, &code)
	w.operationMessage(op, opsv1alpha1.ConditionFailed, reason, fmt.Sprintf("exit code %d", code))
	said := op.Status.Outputs.Message
	for _, l := range op.Status.Outputs.LogTail {
		said += "\n" + l.Text
	}
	for _, part := range parts {
		if !strings.Contains(said, part) {
			w.Errorf("the outputs have %q, want %q in it", said, part)
		}
	}
}

// operationMessage checks the message of a condition.
func (w world) operationMessage(op *opsv1alpha1.Operation, condition string, parts ...string) {
	w.Helper()
	c := apimeta.FindStatusCondition(op.Status.Conditions, condition)
	for _, part := range parts {
		if c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, part) {
			w.Errorf("%s is %+v, want %q in the message", condition, c, part)
		}
	}
}

// logsAre checks the last lines of all containers: name, text, name, text.
func (w world) logsAre(op *opsv1alpha1.Operation, want ...string) {
	w.Helper()
	var got []string
	for _, l := range op.Status.Outputs.LogTail {
		got = append(got, l.Container, l.Text)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.Errorf("the logs are %q, want %q", got, want)
	}
}

func same(a, b *int32) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func number(n *int32) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}
