// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// TestRunning: the commands of docs/running.md do what the page says, with releases that
// helm-controller made.
func TestRunning(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w, p := newWorld(t), readPage(t, "running.md")
	w.releases()
	w.run(`kubectl set image deployment/helm-controller --namespace flux-system manager=registry.example.com/pintle:v1
	kubectl apply --server-side --force-conflicts -k config/crd`)
	w.node.runs(ours)

	w.replay(p, "Suspend")
	if !w.get("web").Spec.Suspend {
		t.Error("web is not suspended")
	}
	w.replay(p, "Resume")
	w.until("web", "to be resumed", func(hr *helmv2.HelmRelease) bool {
		return apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionSuspended) == nil
	})
	w.retries()
	w.replay(p, "Reconcile now")
	w.revision("web", 1)
	w.replay(p, "Force an upgrade")
	w.revision("web", 2)
	w.replay(p, "Reset the retries")
	w.until("broken", "to fail again", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.LastHandledResetAt != "" && is(hr, helmv2.ConditionStalled)
	})

	w.has(w.replay(p, "See what would change"), "Deployment/web-fickle", ".spec.replicas")
	w.revision("web", 3)
	w.has(w.replay(p, "Roll back and hold"), "sh.helm.release.v1.web.v3")
	w.revision("web", 5)
	w.stuck(p)
	w.unlock(p)
	w.replay(p, "Run the tests")
	w.deletions(p)
	p.ended(t, 0)
	p = readPage(t, "troubleshooting.md")
	w.replay(p, "")
	w.replay(p, "Nothing happens")
	p.ended(t, 0)
}

// revision waits until a release is ready at a revision.
func (w *world) revision(name string, want int) {
	w.Helper()
	w.until(name, "to be ready", func(hr *helmv2.HelmRelease) bool { return harness.Ready(hr) && hr.Status.History[0].Version >= want })
	if got := w.get(name).Status.History[0].Version; got != want {
		w.Errorf("%s has revision %d, want %d", name, got, want)
	}
}

// retries: a change of spec.suspend retries a failed release, and the annotation does not.
func (w *world) retries() {
	w.Helper()
	before := w.facts()
	w.run(`kubectl annotate helmrelease broken --namespace apps pintle.dev/suspend=test
	kubectl wait helmrelease broken --namespace apps --for=condition=Suspended --timeout=1h
	kubectl annotate helmrelease broken --namespace apps pintle.dev/suspend-`)
	w.until("broken", "to be resumed", func(hr *helmv2.HelmRelease) bool {
		return apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionSuspended) == nil && is(hr, helmv2.ConditionStalled)
	})
	w.same(before, "after the annotation is removed")
	w.run(`kubectl patch helmrelease broken --namespace apps --type=merge --patch '{"spec":{"suspend":true}}'
	kubectl patch helmrelease broken --namespace apps --type=merge --patch '{"spec":{"suspend":false}}'`)
	w.until("broken", "to fail again", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.History[0].Version == 3 && is(hr, helmv2.ConditionStalled)
	})
}

func (w *world) stuck(p *page) {
	w.Helper()
	out := w.replay(p, "Find what is stuck")
	w.has(out, "broken", "RetriesExceeded", "paused", "true")
	w.has(w.replay(p, "Find out why it fails"), "Stalled=True RetriesExceeded", "apps/broken-fickle", "NotReady")
}

// unlock: another client has left a pending revision.
func (w *world) unlock(p *page) {
	w.Helper()
	storage, err := env.Helm(apps)
	w.must(err)
	last, err := storage.Releases.Last("web")
	w.must(err)
	last.Version++
	last.Info.Status = helmrelease.StatusPendingUpgrade
	last.Labels = nil
	w.must(storage.Releases.Create(last))
	w.run(`kubectl annotate helmrelease web --namespace apps --overwrite reconcile.fluxcd.io/requestedAt=pending`)
	w.until("web", "to wait", func(hr *helmv2.HelmRelease) bool {
		return apimeta.IsStatusConditionPresentAndEqual(hr.Status.Conditions, helmv2.ConditionReady, metav1.ConditionUnknown)
	})
	w.replay(p, "Unlock a pending release")
	w.revision("web", last.Version)
}

func (w *world) deletions(p *page) {
	w.Helper()
	w.replay(p, "Delete and keep the release")
	deployment := &appsv1.Deployment{}
	w.must(env.Client.Get(w.Context(), types.NamespacedName{Namespace: apps, Name: "settings-fickle"}, deployment))
	w.replay(p, "Delete without hooks")
	err := env.Client.Get(w.Context(), types.NamespacedName{Namespace: apps, Name: "broken-fickle"}, deployment)
	if !apierrors.IsNotFound(err) {
		w.Errorf("the Deployment of broken: %v", err)
	}
}
