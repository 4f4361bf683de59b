// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
)

// rule selects HelmReleases for one finding.
type rule struct {
	level             Level
	what, meaning, do string
	matches           func(f Facts, hr *helmv2.HelmRelease) bool
}

// rules returns the checks of single HelmReleases: what changes when another controller takes over,
// and what is lost on the way back.
func rules() []rule {
	return []rule{
		{
			Failed, "are stalled or failing",
			"A controller that takes over retries a failing release whose retries are not exhausted: its upgrade and its hooks run again.",
			"Correct or suspend them first: kubectl pintle get -A", isFailing,
		},
		{
			Warning, "have a spec that was not reconciled yet",
			"The next controller installs or upgrades them when it starts.",
			"Wait until they are ready, or suspend them.", isBehind,
		},
		{
			Warning, "have a history without digests, by a helm-controller that uses Helm 3",
			"A change of the stored revision by another client is not detected, until the next upgrade writes a digest.",
			"Nothing, or upgrade Flux first.", hasOldHistory,
		},
		{
			Warning, "are stored in another cluster, and act there as the default ServiceAccount",
			"The user of the kubeconfig impersonates that ServiceAccount. Without the right, each action is forbidden.",
			"Set spec.serviceAccountName, or create the ServiceAccount there and let the user of the kubeconfig impersonate it.", isRemoteByDefault,
		},
		{
			Note, "are suspended by annotation, or held at a revision",
			"helm-controller does not know these annotations: on the way back, it reconciles these releases.",
			"Before going back, set spec.suspend.", isHeldByAnnotation,
		},
		{
			Note, "are suspended",
			"No controller changes them, and they are not a part of a test of the migration.",
			"Nothing.", func(_ Facts, hr *helmv2.HelmRelease) bool { return hr.Spec.Suspend },
		},
	}
}

// releases checks HelmReleases one by one.
func releases(f Facts) []Finding {
	if f.unread(ResourceReleases) {
		return nil
	}
	var all []Finding
	surprises := false
	for _, r := range rules() {
		var names []string
		for i := range f.Releases {
			if r.matches(f, &f.Releases[i]) {
				names = append(names, nameOf(&f.Releases[i]))
			}
		}
		if len(names) == 0 {
			continue
		}
		surprises = surprises || r.level != Note
		what := fmt.Sprintf("%d of %s %s", len(names), count(len(f.Releases), "HelmRelease"), r.what)
		all = append(all, Finding{Level: r.level, Check: "Releases", What: what, Meaning: r.meaning, Do: r.do, Objects: names})
	}
	if surprises {
		return all
	}
	return append([]Finding{{Level: OK, Check: "Releases", What: fmt.Sprintf("%s: a controller that takes over changes none of them", count(len(f.Releases), "HelmRelease"))}}, all...)
}

func nameOf(hr *helmv2.HelmRelease) string { return hr.Namespace + "/" + hr.Name }

func isSuspended(f Facts, hr *helmv2.HelmRelease) bool {
	return view.StateOf(hr, f.Now) == view.Suspended
}

func isFailing(f Facts, hr *helmv2.HelmRelease) bool {
	return slices.Contains([]view.State{view.Stalled, view.Failing}, view.StateOf(hr, f.Now))
}

func isBehind(f Facts, hr *helmv2.HelmRelease) bool {
	return !isSuspended(f, hr) && !isFailing(f, hr) && hr.Status.ObservedGeneration != hr.Generation
}

func hasOldHistory(_ Facts, hr *helmv2.HelmRelease) bool {
	return len(hr.Status.History) > 0 && hr.Status.History[0].APIVersion == ""
}

func isRemoteByDefault(f Facts, hr *helmv2.HelmRelease) bool {
	return hr.Spec.KubeConfig != nil && hr.Spec.ServiceAccountName == "" &&
		slices.ContainsFunc(f.Controllers, func(c Controller) bool { return c.DefaultServiceAccount != "" })
}

func isHeldByAnnotation(_ Facts, hr *helmv2.HelmRelease) bool {
	_, suspended := hr.Annotations[helmv2.AnnotationSuspend]
	_, held := hr.Annotations[helmv2.AnnotationRollbackTo]
	return suspended || held
}

// owners checks that no two HelmReleases have the same Helm release.
func owners(f Facts) []Finding {
	type place struct{ cluster, namespace, name string }
	byPlace := map[place][]string{}
	for i := range f.Releases {
		hr := &f.Releases[i]
		p := place{namespace: hr.GetStorageNamespace(), name: hr.GetReleaseName()}
		if k := hr.Spec.KubeConfig; k != nil && k.SecretRef != nil {
			p.cluster = hr.Namespace + "/" + k.SecretRef.Name
		}
		byPlace[p] = append(byPlace[p], nameOf(hr))
	}
	var all []Finding
	for p, names := range byPlace {
		if len(names) < 2 {
			continue
		}
		slices.Sort(names)
		all = append(all, Finding{
			Level: Failed, Check: "Releases", Objects: names,
			What:    fmt.Sprintf("HelmReleases %s have the same Helm release, %s/%s", list(names), p.namespace, p.name),
			Meaning: "With helm-controller both change it. With Pintle one is its owner, and the others stall with reason Contested.",
			Do:      "Delete or rename all but one. Suspend it before deleting it, so that the release stays.",
		})
	}
	slices.SortFunc(all, func(a, b Finding) int { return slices.Compare(a.Objects, b.Objects) })
	return all
}

// pendingAge is the age from which a pending revision is not that of a running action.
const pendingAge = 15 * time.Minute

// pending checks for revisions whose action has ended without a result.
func pending(f Facts) []Finding {
	var names []string
	for _, r := range f.Pending {
		if f.Now.Sub(r.Since) >= pendingAge && isManaged(f.Releases, r) {
			names = append(names, fmt.Sprintf("%s/%s.v%s (%s)", r.Namespace, r.Release, r.Revision, r.Status))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Finding{{
		Level: Warning, Check: "Releases", Objects: names,
		What:    fmt.Sprintf("%s been pending for more than 15 minutes: an action was interrupted", count(len(names), "revision")+has(len(names))),
		Meaning: "The next controller marks such a revision as failed, and upgrades: hooks run again.",
		Do:      "If no action of helm runs there, make the release ready before the migration.",
	}}
}

func has(n int) string {
	if n == 1 {
		return " has"
	}
	return " have"
}

func isManaged(all []helmv2.HelmRelease, r Record) bool {
	return slices.ContainsFunc(all, func(hr helmv2.HelmRelease) bool {
		return hr.GetStorageNamespace() == r.Namespace && hr.GetReleaseName() == r.Release &&
			!apimeta.IsStatusConditionPresentAndEqual(hr.Status.Conditions, helmv2.ConditionReconciling, metav1.ConditionTrue)
	})
}
