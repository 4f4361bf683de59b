// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/runtime/leaderelection"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// lease returns the Lease of a controller with a label selector.
func lease(selector string) client.ObjectKey {
	key := client.ObjectKey{Namespace: fluxSystem, Name: leaseName}
	if selector != "" {
		key.Name = leaderelection.GenerateID(leaseName, selector)
	}
	return key
}

// TestFromFlux: the commands of docs/from-flux.md move five releases from helm-controller to Pintle
// and back. No revision is created, no hook runs, no workload changes, not even of the release that
// has failed.
func TestFromFlux(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w, p := newWorld(t), readPage(t, "from-flux.md")
	w.releases()
	before := w.facts()
	w.has(w.replay(p, "Before you start"), "from ghcr.io/fluxcd/helm-controller:v1.6.4 to registry.example.com/pintle:v1")
	out := w.replay(p, "Check")
	w.has(out, "--enable-leader-election", "paused", "UpgradeFailed")

	out = w.replay(p, "Try it on one release")
	w.node.runs(reference, ours)
	w.node.leader(lease("!sharding.fluxcd.io/key"), reference)
	w.node.leader(lease("sharding.fluxcd.io/key=pintle"), ours)
	w.has(out, "nothing has changed")
	w.same(before, "with one release moved")

	w.replay(p, "Undo the trial")
	w.node.runs(reference)
	w.node.leader(lease(""), reference)
	w.same(before, "after the trial")

	w.replay(p, "With kubectl")
	w.node.runs(ours)
	w.node.leader(lease(""), ours)
	w.run(`kubectl set image deployment/helm-controller --namespace flux-system manager="$OLD"`)
	w.node.runs(reference)
	out = w.replay(p, "With Git")
	w.has(out, "image: registry.example.com/pintle:v1")
	// Flux applies the commit like this.
	w.run("kubectl apply --server-side --force-conflicts -k flux-system")
	w.replay(p, "With the Flux Operator")
	w.node.runs(ours)
	w.has(w.replay(p, "After the switch"), "nothing has changed")
	w.same(before, "with Pintle")

	w.replay(p, "Alerts and monitoring")
	w.replay(p, "From a Kustomization to a chart")
	w.leastPrivilege(p)
	w.run(`kubectl annotate helmrelease settings --namespace apps pintle.dev/suspend=test
	kubectl wait helmrelease settings --namespace apps --for=condition=Suspended --timeout=1h`)
	before = w.facts()

	w.has(w.replay(p, "Go back"), "nothing has changed")
	w.node.runs(reference)
	w.same(before, "after the way back")
	if c := apimeta.FindStatusCondition(w.get("settings").Status.Conditions, helmv2.ConditionSuspended); c != nil {
		t.Errorf("helm-controller keeps the condition %v", c)
	}
	p.ended(t, 8)
	w.cutShort(ours, "45s")
	w.cutShort(reference, "46s")
}

// cutShort switches to the controller of an image while the upgrade of web waits for Pods, which
// become ready after a delay. The page says that another upgrade follows.
func (w *world) cutShort(image, delay string) {
	w.Helper()
	last := w.get("web").Status.History[0].Version
	w.run(`kubectl patch helmrelease web --namespace apps --type=merge \
	  --patch '{"spec":{"values":{"podAnnotations":{"simulate.pintle.dev/delay":"` + delay + `"}}}}'`)
	pending := fmt.Sprintf("sh.helm.release.v1.web.v%d pending-upgrade", last+1)
	w.must(env.Until(w.Context(), pending, func() (string, bool) {
		facts := w.facts()
		return facts, strings.Contains(facts, pending)
	}))
	w.run("kubectl set image deployment/helm-controller --namespace flux-system manager=" + image + ":v1.6.4")
	w.node.runs(image)
	w.until("web", "to be upgraded again", func(hr *helmv2.HelmRelease) bool {
		return harness.Ready(hr) && hr.Status.History[0].Version == last+2
	})
	w.has(w.facts(), fmt.Sprintf("sh.helm.release.v1.web.v%d failed", last+1))
}

// leastPrivilege checks that Helm acts as the ServiceAccounts of the page, and returns.
func (w *world) leastPrivilege(p *page) {
	w.Helper()
	w.replay(p, "Least privilege")
	w.node.runs(ours)
	w.run(`kubectl patch helmrelease web --namespace apps --type=merge --patch '{"spec":{"values":{"replicas":2}}}'`)
	w.until("web", "to be upgraded", func(hr *helmv2.HelmRelease) bool {
		return harness.Ready(hr) && hr.Status.History[0].Version == 2
	})
	if yes := w.run("kubectl auth can-i create deployments --namespace apps --as=system:serviceaccount:flux-system:helm-controller || true"); yes != "no\n" {
		w.Errorf("the controller itself may create Deployments: %s", yes)
	}
	w.must(env.Until(w.Context(), "the notification of the upgrade", func() (string, bool) {
		return "", w.events.has("web", helmv2.ReasonUpgradeSucceeded)
	}))
	before := w.facts()
	w.replay(p, "Return to all rights")
	w.node.runs(ours)
	w.same(before, "with all rights again")
}
