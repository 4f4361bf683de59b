// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/view/manifest"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// crash is the diagnosis of the objects that the command passes.
func crash(_ context.Context, q release.DiagnosisRequest) *release.Diagnosis {
	return &release.Diagnosis{
		Code: helmv2.FailureCrashLoop, Object: q.Objects[0].Object,
		Summary: "Deployment apps/shop: CrashLoop: container shop exited with code 3, restarted, CrashLoopBackOff",
		Details: []string{"Deployment apps/shop: " + q.Objects[0].Status},
		Logs:    []release.ContainerLog{{Pod: "shop-abc", Container: "shop", Text: "starting\n" + strings.Repeat("working\n", 20) + "fatal: no database \x1b[31m(red)\n"}},
	}
}

func TestWhy(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.objects = append(w.objects, newWorld(t, "why.yaml").objects...)
	w.examine = crash
	w.golden("why", "why shop", "why shop -o wide", "why shop -o json", "why web", "why cart", "why billing -n finance", "why reports -n finance", "why broken -n other")
}

// TestWhyErrors: only an absent HelmRelease is an error. What cannot be read is listed.
func TestWhyErrors(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.objects = append(w.objects, newWorld(t, "why.yaml").objects...)
	w.forbidden["Event"], w.forbidden["Unstructured"] = true, true
	w.golden("why-errors", "why missing", "why", "why shop")
}

// TestWhyWithoutSecrets: without the Secrets of spec.valuesFrom, no log is shown, because it could
// contain their values.
func TestWhyWithoutSecrets(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	for _, o := range w.objects {
		if hr, ok := o.(*helmv2.HelmRelease); ok && hr.Name == "shop" {
			hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "Secret", Name: "passwords"}}
		}
	}
	w.examine = crash
	w.forbidden["Secret"] = true
	w.run("why", "shop")
	if out := w.out.String(); contains(out, "no database") || !contains(out, "Not read:\n  logs, because of Secrets in spec.valuesFrom") {
		t.Errorf("the output is\n%s", out)
	}
}

// TestWhyFromEvent: if the object is ready or gone, the cause is that of the last event with one.
func TestWhyFromEvent(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.objects = append(w.objects, newWorld(t, "why.yaml").objects...)
	w.golden("why-event", "why shop")
}

// TestWhyRunning: while an action runs, the objects that it makes are shown as they are, and --watch
// follows the action to its end.
func TestWhyRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "cluster.yaml")
		w.stored = func(_ context.Context, _ release.Target, version int) (*read.Record, error) {
			if version != 6 {
				return nil, nil //nolint:nilnil // there is no such revision
			}
			return &read.Record{Side: manifest.Side{
				Manifest: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: new}\n",
			}}, nil
		}
		reads := 0
		w.react = func(hr *helmv2.HelmRelease) {
			if reads++; hr.Name != "web" || reads > 3 {
				return
			}
			apimeta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{
				Type: helmv2.ConditionReady, Status: metav1.ConditionUnknown, Reason: helmv2.ReasonProgressing, Message: "Running 'upgrade' action with timeout of 5m0s",
			})
			apimeta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{
				Type: helmv2.ConditionReconciling, Status: metav1.ConditionTrue, Reason: helmv2.ReasonProgressing, Message: "Running 'upgrade' action with timeout of 5m0s",
				LastTransitionTime: metav1.NewTime(now.Add(-80 * time.Second)),
			})
		}
		w.golden("why-running", "why web --watch", "why web --watch -o json")
		if reads != 4 {
			t.Errorf("the HelmRelease was read %d times", reads)
		}
	})
}
