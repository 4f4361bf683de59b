// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const canary = "c4nary-0f-a-secret"

func timeout(d time.Duration) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.Spec.Timeout = &metav1.Duration{Duration: d} }
}

// access creates a Secret with the canary in it, and returns an env that has it.
func (w world) access(key string) []any {
	w.Helper()
	w.Must(env.Client.Create(w.Context(), &corev1.Secret{ObjectMeta: w.Meta("access"), StringData: map[string]string{"password": canary}}))
	return []any{values{"name": "PASSWORD", "valueFrom": values{"secretKeyRef": values{"name": "access", "key": key}}}}
}

// event waits for an event of a release that has all the parts in its message or in its
// annotations, and returns it.
func (w world) event(hr *helmv2.HelmRelease, reason string, parts ...string) corev1.Event {
	w.Helper()
	ctx := w.Context()
	var found corev1.Event
	w.Must(env.Until(ctx, "an event "+reason+" with "+strings.Join(parts, ", "), func() (string, bool) {
		texts := w.eventTexts(ctx)
		for _, e := range texts {
			if e.Reason != reason || e.InvolvedObject.Name != hr.Name || e.InvolvedObject.Kind != helmv2.HelmReleaseKind {
				continue
			}
			found = e
			all := true
			for _, part := range parts {
				all = all && (strings.Contains(e.Message, part) || strings.Contains(e.Annotations[helmv2.EventMetadataDetails], part) ||
					strings.Contains(e.Annotations[helmv2.EventMetadataLogs], part))
			}
			if all {
				return "", true
			}
		}
		return found.Message, false
	}))
	return found
}

func (w world) eventTexts(ctx context.Context) []corev1.Event {
	var list corev1.EventList
	if err := env.Client.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
		return nil
	}
	return list.Items
}

// noCanary checks that no output of the controller contains the canary.
func (w world) noCanary(hr *helmv2.HelmRelease) {
	w.Helper()
	w.Must(env.Client.Get(w.Context(), client.ObjectKeyFromObject(hr), hr))
	status, err := json.Marshal(hr.Status)
	w.Must(err)
	if strings.Contains(string(status), canary) {
		w.Errorf("the status has it: %s", status)
	}
	for _, e := range w.eventTexts(w.Context()) {
		if e.InvolvedObject.Kind == helmv2.HelmReleaseKind && strings.Contains(e.Message+fmt.Sprint(e.Annotations), canary) {
			w.Errorf("an event has it: %s %v", e.Message, e.Annotations)
		}
	}
	if strings.Contains(env.Controller.LogTail(1<<22), canary) {
		w.Error("the controller's log has it")
	}
}

// TestReadySaysWhy: the message of Ready begins with the object and names the cause.
func TestReadySaysWhy(t *testing.T) {
	const forever = "exec httpd -f -p 8080"
	small := values{"limits": values{"memory": "32Mi"}}
	for _, tc := range []struct {
		name, code string
		values     values
		parts      []string
		inEvent    []string
	}{
		{"image", helmv2.FailureImagePull, values{"image": noImage}, []string{noImage}, nil},
		{"memory", helmv2.FailureOOMKilled, values{"script": tooMuch, "resources": small}, []string{"container shell"}, nil},
		{"secret-key", helmv2.FailureConfigMissing, values{"env": "other"}, []string{"other"}, nil},
		{"probe", helmv2.FailureProbe, values{"script": forever}, []string{"container shell"}, []string{"Readiness probe failed"}},
		{"crash", "", values{"script": "echo no license for $PASSWORD; exit 5", "env": "password"}, []string{"exited with code 5", "no license for ***"}, []string{"no license for ***"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if key, ok := tc.values["env"].(string); ok {
				tc.values["env"] = w.access(key)
			}
			hr := w.release("app", tc.values, timeout(25*time.Second))
			parts := append([]string{"failed: Deployment app: "}, tc.parts...)
			w.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInstallFailed, parts...)
			e := w.event(hr, helmv2.ReasonInstallFailed, append(parts, tc.inEvent...)...)
			if code := e.Annotations[helmv2.EventMetadataFailure]; code == "" || tc.code != "" && code != tc.code {
				t.Errorf("the event is annotated with %v", e.Annotations)
			}
			w.noCanary(hr)
			t.Log(e.Message)
		})
	}
}

// TestHookSaysWhy: the redacted log of a failed hook is in the event although its Job is deleted at
// once.
func TestHookSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.release("app", values{})
	w.UntilReady(hr)
	script := "for i in 1 2 3; do echo step $i; done; echo I am $PASSWORD; echo the last words; exit 3"
	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = w.Raw(values{"hook": values{"script": script, "env": w.access("password"), "deletePolicy": "hook-failed"}})
	})
	w.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonUpgradeFailed,
		"Hook Job app-pre-upgrade: container ", "exited with code 3", "the last words")
	e := w.event(hr, helmv2.ReasonUpgradeFailed, "step 1\nstep 2\nstep 3\nI am ***\nthe last words", "BackoffLimitExceeded")
	if got := e.Annotations[helmv2.EventMetadataObject]; got != "Job/"+w.Namespace+"/app-pre-upgrade" {
		t.Errorf("the event is annotated with %v", e.Annotations)
	}
	job := &batchv1.Job{ObjectMeta: w.Meta("app-pre-upgrade")}
	if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(job), job); !apierrors.IsNotFound(err) {
		t.Errorf("the Job is there: %v", err)
	}
	w.noCanary(hr)
	t.Log(e.Message)
}

// TestHookTakesTooLong: the log of a hook that timed out is reported, although the Job controller
// deletes the Pod.
func TestHookTakesTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.release("app", values{})
	w.UntilReady(hr)
	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = w.Raw(values{"hook": values{
			"script": "trap 'sleep 10; exit 1' TERM; echo waiting for the lock; sleep 600 & wait", "activeDeadlineSeconds": 4, "gracePeriodSeconds": 30,
		}})
	})
	w.UntilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonUpgradeFailed, "Hook Job app-pre-upgrade: ")
	t.Log(w.event(hr, helmv2.ReasonUpgradeFailed, "waiting for the lock").Annotations)
}

// TestHookLogPolicy: a chart that wants the log of a hook that succeeded gets it.
func TestHookLogPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.release("app", values{})
	w.UntilReady(hr)
	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = w.Raw(values{"hook": values{
			"script": "echo migrated as $PASSWORD", "env": w.access("password"), "logPolicy": "hook-succeeded", "deletePolicy": "hook-succeeded",
		}})
	})
	w.UntilReady(hr)
	w.event(hr, helmv2.ReasonUpgradeSucceeded, "migrated as ***")
	w.noCanary(hr)
}
