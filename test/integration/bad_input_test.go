// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"net/http"
	"slices"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Each test of this file breaks one input, checks the message, repairs the input and waits until
// the release recovers.

func TestMissingSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.release("late", nil)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed,
		"OCIRepository", w.namespace+"/late", "not found")
	w.publish("late", "1.0.0", configMapChart(t, "1.0.0"))
	w.untilReady(hr)
}

func TestSourceWithoutArtifact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	repo := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "empty"}}
	repo.Spec.URL, repo.Spec.Interval = "oci://localhost/charts/empty", metav1.Duration{Duration: time.Hour}
	w.must(suite.client.Create(t.Context(), repo))
	hr := w.release("empty", nil)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady, "OCIRepository '"+w.namespace+"/empty' is not ready")
	w.publish("empty", "1.0.0", configMapChart(t, "1.0.0"))
	w.untilReady(hr)
}

func TestChartThatDoesNotParse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("noise", "1.0.0", []byte("no chart at all"))
	hr := w.release("noise", nil)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "Could not load chart", "noise-1.0.0.tgz")
	w.publish("noise", "1.0.1", configMapChart(t, "1.0.1"))
	w.untilReady(hr)
}

func TestArtifactDigestMismatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	archive := configMapChart(t, "1.0.0")
	w.publish("forged", "1.0.0", archive)
	wrong := digest.SHA256.FromString("something else").String()
	w.offer("forged", fluxmeta.Artifact{
		URL: w.server.URL + "/forged-1.0.0.tgz", Path: "forged-1.0.0.tgz", Digest: wrong,
		Revision: "1.0.0@" + wrong, LastUpdateTime: metav1.Now(),
	})
	hr := w.release("forged", nil)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed,
		digest.SHA256.FromBytes(archive).String(), wrong)
	if len(w.stored("forged")) != 0 {
		t.Error("something was installed")
	}
	w.publish("forged", "1.0.0", archive)
	w.untilReady(hr)
}

func TestArtifactServerDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// A version that no other test has made the controller keep.
	w.publish("away", "5.0.3", configMapChart(t, "5.0.3"))
	w.setAnswer(func(rw http.ResponseWriter, _ *http.Request) {
		http.Error(rw, "no", http.StatusServiceUnavailable)
	})
	hr := w.release("away", nil)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "503", "away-5.0.3.tgz")
	w.setAnswer(nil)
	// No event reports the recovery, so the back-off has to find it.
	w.untilReady(hr)
}

func TestArtifactTooLarge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("huge", "1.0.0", bytes.Repeat([]byte("x"), maxArtifact+1))
	hr := w.release("huge", nil)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "larger than the limit of 1048576 bytes")
}

func TestValuesThatFailTheSchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("strict", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("strict", map[string]any{"message": 7})
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInstallFailed, "message", "string")
	w.untilSays(hr, helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonInstallFailed)
	w.untilSays(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded, "Failed to install after 1 attempt(s)")
	if len(w.stored("strict")) != 0 || hr.Status.InstallFailures != 1 {
		t.Errorf("a rejected install was stored, or not counted once: %d failures", hr.Status.InstallFailures)
	}
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "seven"}) })
	w.untilReady(hr)
}

func TestFailedInstallStallsUntilTheSpecChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("broken", "1.0.0", pack(t, "broken", "1.0.0", map[string]string{
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name | default \"Not-A-Name\" }}\n",
	}))
	// The preflight check would prevent the failed revision.
	hr := w.release("broken", nil, func(hr *helmv2.HelmRelease) { hr.Spec.Install = &helmv2.Install{DisableOpenAPIValidation: true} })
	w.untilSays(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded, "Failed to install after 1 attempt(s)")
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInstallFailed, "Not-A-Name")
	w.settle(hr)
	if n := len(w.stored("broken")); n != 1 {
		t.Errorf("%d revisions, want 1", n)
	}
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"name": "a-name"}) })
	w.untilReady(hr)
	if c := condition(hr, helmv2.ConditionStalled); c.Type != "" {
		t.Errorf("still stalled: %+v", c)
	}
}

// TestClusterWithoutGate: a kubeconfig that needs ServiceAccount tokens is rejected with the name
// of the missing feature gate.
func TestClusterWithoutGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("eager", "1.0.0", configMapChart(t, "1.0.0"))
	w.must(suite.client.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "there"},
		Data:       map[string]string{"provider": "generic", "address": "https://127.0.0.1:1", "serviceAccountName": "tenant"},
	}))
	hr := w.release("eager", nil, func(hr *helmv2.HelmRelease) {
		hr.Spec.KubeConfig = &helmv2.KubeConfigReference{ConfigMapRef: &helmv2.LocalObjectReference{Name: "there"}}
	})
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRESTClientError, "/there': provider generic is for tokens of ServiceAccounts, which need the feature gate ObjectLevelWorkloadIdentity")
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.KubeConfig = nil })
	w.untilReady(hr)
}

// TestOthersGoOn: a release that cannot be installed does not block another one.
func TestOthersGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("bad", "1.0.0", []byte("noise"))
	w.publish("good", "1.0.0", configMapChart(t, "1.0.0"))
	bad, good := w.release("bad", nil), w.release("good", nil)
	w.untilReady(good)
	w.untilSays(bad, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed)
}

// TestNoSharedValues: two releases of one artifact, whose chart changes its values while it
// renders, have separate values.
func TestNoSharedValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	archive := configMapChart(t, "1.0.0")
	for _, name := range []string{"left", "right"} {
		w.publish(name, "1.0.0", archive)
	}
	left := w.release("left", map[string]any{"message": "left", "unset": "leaked"})
	right := w.release("right", nil)
	w.untilReady(left)
	w.untilReady(right)
	if got := w.configMap("right").Data; got["message"] != "default" || got["secret"] != "none" {
		t.Errorf("values of one release reached the other: %v", got)
	}
}

// TestMissingNamespace: a rejection by the API server counts as a failure, and stalls the release
// when no retries are left. After the cause is removed, the release recovers without a change of
// the spec.
func TestMissingNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("web", "1.0.0", configMapChart(t, "1.0.0"))
	late := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-late"}}
	hr := w.release("web", map[string]any{"message": "hello"}, func(hr *helmv2.HelmRelease) {
		hr.Spec.TargetNamespace, hr.Spec.ReleaseName = late.Name, "web"
		hr.Spec.Install = &helmv2.Install{Remediation: &helmv2.InstallRemediation{Retries: 1}}
	})
	w.untilSays(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded, "Failed to install after 2 attempt(s)")
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInstallFailed, `namespaces "`+late.Name+`" not found`)
	s, generation := hr.Status, hr.Generation
	if s.InstallFailures != 2 || s.UpgradeFailures != 0 || s.Failures != 2 || len(s.History) != 0 || s.ObservedGeneration != generation {
		t.Errorf("status is %+v", s)
	}
	if stored := w.stored("web"); len(stored) > 0 {
		t.Errorf("stored is %+v", stored)
	}
	// The retries in between raise the count of the event.
	stalled := condition(hr, helmv2.ConditionStalled).LastTransitionTime
	w.until(hr, "another try", func(hr *helmv2.HelmRelease) bool {
		return stalled.Time.Before(condition(hr, helmv2.ConditionStalled).LastTransitionTime.Time)
	})
	if hr.Status.Failures != 2 || condition(hr, helmv2.ConditionReady).Reason != helmv2.ReasonInstallFailed {
		t.Errorf("after another try it is %+v", hr.Status)
	}
	w.must(suite.client.Create(t.Context(), late))
	w.untilReady(hr)
	if hr.Generation != generation || hr.Status.History[0].Version != 1 {
		t.Errorf("generation is %d, and history %+v", hr.Generation, hr.Status.History)
	}
	// Events are sent after the status.
	untilTrue(w, "one event of all failures", func() bool {
		var events corev1.EventList
		w.must(suite.client.List(t.Context(), &events, client.InNamespace(hr.Namespace)))
		failures := slices.DeleteFunc(events.Items, func(e corev1.Event) bool { return e.Reason != helmv2.ReasonInstallFailed })
		return len(failures) == 1 && failures[0].Count > 2
	})
}
