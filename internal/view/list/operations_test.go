// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package list_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view/list"
)

func operationOf(name string, age time.Duration, phase opsv1alpha1.OperationPhase) opsv1alpha1.Operation {
	op := opsv1alpha1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age))}}
	op.Spec.TargetRef = opsv1alpha1.TargetReference{APIVersion: helmv2.GroupVersion.String(), Kind: "HelmRelease", Name: "web"}
	op.Spec.Parameters = &opsv1alpha1.Parameters{HookName: "migrate"}
	op.Status.Phase = phase
	if phase == opsv1alpha1.PhaseFailed {
		op.Status.Conditions = []metav1.Condition{{Type: opsv1alpha1.ConditionFailed, Status: metav1.ConditionTrue, Reason: "HelmHookJobFailed", Message: "the Job has failed"}}
	}
	return op
}

// TestOperations: Operations are listed from the newest one, in pages, by state, namespace and words.
func TestOperations(t *testing.T) {
	var all []opsv1alpha1.Operation
	for i := range 60 {
		all = append(all, operationOf(fmt.Sprintf("old-%02d", i), time.Hour, opsv1alpha1.PhaseSucceeded))
	}
	all = append(all, operationOf("new", time.Minute, opsv1alpha1.PhaseFailed), operationOf("newest", time.Second, ""))
	releases := []helmv2.HelmRelease{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web"}}}
	q, _ := list.ParseOperations(nil)
	l := list.OperationsOf(all, releases, q, now)
	if l.Rows[0].Name != "newest" || l.Rows[0].State != opsv1alpha1.PhasePending || l.Rows[1].Name != "new" || l.Rows[1].Line != "the Job has failed" {
		t.Errorf("the first rows are %+v", l.Rows[:2])
	}
	if l.Rows[0].Release != "web" || list.OperationsOf(all, nil, q, now).Rows[0].Release != "" {
		t.Error("a row names a release that the user may not get, or none")
	}
	if len(l.Rows) != 50 || l.Pages != 2 || l.Previous != nil || l.Next == nil || l.Next.Parameters()["page"][0] != "2" {
		t.Errorf("the first page has %d rows of %d pages, and next %v", len(l.Rows), l.Pages, l.Next)
	}
	for parameters, want := range map[string]int{"state=Failed": 1, "q=migrate web": 62, "q=nothing": 0, "namespace=b": 0} {
		key, value, _ := strings.Cut(parameters, "=")
		q, wrong := list.ParseOperations(map[string][]string{key: {value}})
		if got := list.OperationsOf(all, releases, q, now); len(wrong) > 0 || got.Matching != want {
			t.Errorf("%s selects %d Operations, not %d %v", parameters, got.Matching, want, wrong)
		}
	}
}
