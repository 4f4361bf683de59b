// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestNewerInputsEndTheWait: newer inputs end a wait of minutes, which is no failure.
func TestNewerInputsEndTheWait(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	budget := func(s *helmv2.HelmReleaseSpec) {
		s.Timeout = duration(10 * time.Minute)
		s.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{Retries: 1}}
	}
	hr := w.play(nil, budget)
	w.UntilRevision(hr, 1)
	w.change(hr, unready())
	w.untilWaiting(hr, 2)
	w.change(hr, values{"replicas": 2})
	w.UntilRevision(hr, 3)
	w.newest(hr, 3, helmrelease.StatusDeployed)
	if s := hr.Status; s.Failures != 0 || s.UpgradeFailures != 0 {
		t.Errorf("%d failures are counted, %d of them upgrades", s.Failures, s.UpgradeFailures)
	}
	if second := w.stored(hr)[1]; second.Labels[helmv2.LabelOutdated] != "true" || second.Info.Status != helmrelease.StatusFailed {
		t.Errorf("the revision that was given up is %s and has labels %v", second.Info.Status, second.Labels)
	}
}

// TestLateIsNotNever: a stalled release becomes ready after a user has repaired its objects.
func TestLateIsNotNever(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	hr := w.play(nil, func(s *helmv2.HelmReleaseSpec) { s.Interval = metav1.Duration{Duration: shortly} })
	w.UntilRevision(hr, 1)
	w.change(hr, unready(), func(s *helmv2.HelmReleaseSpec) { s.Timeout = duration(shortly) })
	w.settles(hr, conditions{helmv2.ConditionReady: no, helmv2.ConditionStalled: yes})
	deployment := w.deployment(hr.Name + "-fickle")
	before := deployment.DeepCopy()
	deployment.Spec.Template.Annotations = nil
	w.Must(env.Client.Patch(t.Context(), deployment, client.MergeFrom(before)))
	w.UntilRevision(hr, 2)
	w.newest(hr, 2, helmrelease.StatusDeployed)
	if c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReleased); c == nil || c.Reason != helmv2.ReasonUpgradeSucceeded {
		t.Errorf("Released is %+v", c)
	}
}

// stored returns the revisions of `helm history`.
func (w world) stored(hr *helmv2.HelmRelease) []*helmrelease.Release {
	w.Helper()
	history, err := env.History(hr.Namespace, hr.Name)
	w.Must(err)
	return history
}
