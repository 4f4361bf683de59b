// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func needs(refs ...helmv2.DependencyReference) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = refs }
}

// TestDependencies: changes of dependencies trigger reconciliations. The controller polls
// dependencies only once an hour.
func TestDependencies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("top", "1.0.0", configMapChart(t, "1.0.0"))
	top := w.release("top", nil, needs(helmv2.DependencyReference{Name: "middle"}))
	w.untilSays(top, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonDependencyNotReady, "unable to get '"+w.namespace+"/middle' dependency", "not found")
	w.untilEvent(top, corev1.EventTypeNormal, helmv2.ReasonDependencyNotReady)

	w.publish("middle", "1.0.0", configMapChart(t, "1.0.0"))
	middle := w.release("middle", nil, needs(helmv2.DependencyReference{Name: "base", ReadyExpr: "dep.metadata.annotations['ok'] == self.metadata.name"}))
	// It never becomes ready: its source is missing.
	base := w.release("base", nil)
	w.untilSays(middle, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonDependencyNotReady,
		"dependency '"+w.namespace+"/base' is not ready according to readyExpr eval: ", "no such key: annotations")
	if len(w.stored("top"))+len(w.stored("middle")) != 0 {
		t.Error("something was installed too early")
	}
	w.edit(base, func(hr *helmv2.HelmRelease) { hr.Annotations = map[string]string{"ok": "middle"} })
	w.untilAtRest(middle)
	w.untilAtRest(top)

	// An upgrade of a dependency does not change a release that is in sync.
	settled := top.ResourceVersion
	w.edit(middle, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "two"}) })
	w.untilRevision(middle, 2)
	w.quiet(top)
	if top.ResourceVersion != settled {
		t.Errorf("it was written: %+v", top.Status.Conditions)
	}
	w.edit(top, needs(helmv2.DependencyReference{Name: "base", ReadyExpr: "dep.status"}))
	w.untilSays(top, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonInvalidCELExpression, "configuration error: spec.dependsOn[0].readyExpr", "not bool")
}

func TestExternalArtifact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	external := func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Kind = helmv2.KindExternalArtifact }
	archive := configMapChart(t, "1.0.0")
	w.publish("outer", "1.0.0", archive)
	hr := w.release("outer", nil, external)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "ExternalArtifact", "not found")
	ea := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "outer"}}
	w.must(suite.client.Create(t.Context(), ea))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady, "ExternalArtifact '"+w.namespace+"/outer' is not ready: does not have an artifact")
	ea.Status.Artifact = &fluxmeta.Artifact{
		URL: w.server.URL + "/outer-1.0.0.tgz", Path: "outer-1.0.0.tgz", Digest: digest.SHA256.FromBytes(archive).String(),
		Revision: "1.0.0", LastUpdateTime: metav1.Now(),
	}
	w.must(suite.client.Status().Update(t.Context(), ea))
	w.untilReady(hr)
	if got := hr.Status.LastAttemptedRevision; got != "1.0.0" {
		t.Errorf("the version became %s", got)
	}

	gateOff := w.release("inner", nil, external, w.ownController(config{}))
	w.untilSays(gateOff, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonAccessDenied,
		"can't access 'ExternalArtifact/"+w.namespace+"/inner', ExternalArtifact feature gate is disabled")
}

// untilEvent waits for an event about a HelmRelease.
func (w *world) untilEvent(hr *helmv2.HelmRelease, kind, reason string, texts ...string) {
	w.t.Helper()
	w.until(hr, "event "+reason, func(hr *helmv2.HelmRelease) bool { return w.hasEvent(hr, kind, reason, texts...) })
}

func (w *world) hasEvent(hr *helmv2.HelmRelease, kind, reason string, texts ...string) bool {
	w.t.Helper()
	return w.event(hr, kind, reason, texts...) != nil
}

// event returns an Event about a HelmRelease, nil if there is none.
func (w *world) event(hr *helmv2.HelmRelease, kind, reason string, texts ...string) *corev1.Event {
	w.t.Helper()
	var events corev1.EventList
	w.must(suite.client.List(w.t.Context(), &events, client.InNamespace(hr.Namespace)))
	for i := range events.Items {
		e := &events.Items[i]
		if e.InvolvedObject.Name == hr.Name && e.Type == kind && e.Reason == reason && containsAll(e.Message, texts...) {
			return e
		}
	}
	return nil
}
