// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

// dependentsOf returns the HelmReleases that depend on hr, which is being deleted, by
// name; none if its namespace is being deleted: nothing in there can wait, and much of
// what would be needed is gone.
func (r *HelmReleaseReconciler) dependentsOf(ctx context.Context, hr *helmv2.HelmRelease) []release.Dependent {
	self := client.ObjectKeyFromObject(hr)
	users := r.indexed(ctx, dependencyIndex, self.String())
	if len(users) == 0 || r.terminating(ctx, hr.Namespace) {
		return nil
	}
	var found []release.Dependent
	for _, user := range users {
		key := client.ObjectKeyFromObject(&user)
		d := release.Dependent{Name: key.String(), Deleted: !user.DeletionTimestamp.IsZero()}
		if way := r.wayTo(ctx, key, hr, map[types.NamespacedName]bool{}); way != nil {
			d.Cycle = strings.Join(append(way, self.String()), " -> ")
		}
		found = append(found, d)
	}
	slices.SortFunc(found, func(a, b release.Dependent) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// wayTo returns how one HelmRelease depends on another, from the one to the other;
// nil if it does not.
func (r *HelmReleaseReconciler) wayTo(ctx context.Context, target types.NamespacedName, from *helmv2.HelmRelease, seen map[types.NamespacedName]bool) []string {
	key := client.ObjectKeyFromObject(from)
	if key == target {
		return []string{key.String()}
	}
	if seen[key] {
		return nil
	}
	seen[key] = true
	for _, next := range inputs.DependsOn(from) {
		hr := &helmv2.HelmRelease{}
		if r.client.Get(ctx, next, hr) != nil {
			continue
		}
		if way := r.wayTo(ctx, target, hr, seen); way != nil {
			return append([]string{key.String()}, way...)
		}
	}
	return nil
}

// terminating reports whether a namespace is being deleted. One that may not be read
// is taken not to be.
func (r *HelmReleaseReconciler) terminating(ctx context.Context, name string) bool {
	ns := &corev1.Namespace{}
	return r.live.Get(ctx, client.ObjectKey{Name: name}, ns) == nil && !ns.DeletionTimestamp.IsZero()
}

// bereave tells of those that depend on a release which is uninstalled all the same.
func (r *HelmReleaseReconciler) bereave(hr *helmv2.HelmRelease, d release.Decision, in release.Input) {
	if _, uninstall := d.Action.(release.Uninstall); !uninstall || !in.Desired.Deleted {
		return
	}
	if left := release.DependentsMessage(in); left != "" {
		r.events.Event(hr, corev1.EventTypeWarning, helmv2.EventReasonDependentsLeft, left)
	}
}
