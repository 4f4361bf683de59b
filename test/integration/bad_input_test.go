// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"net/http"
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
