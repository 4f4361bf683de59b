// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// Dependents finds HelmReleases that depend on others.
type Dependents struct {
	// Client reads HelmReleases from the cache, Live reads past it.
	Client, Live client.Reader
}

// Of returns the HelmReleases that depend on hr, which is being deleted, by name. It returns none
// if the namespace is being deleted: nothing in there can wait, and the objects to act with are
// deleted too.
func (d Dependents) Of(ctx context.Context, hr *helmv2.HelmRelease) []release.Dependent {
	self := client.ObjectKeyFromObject(hr)
	var users helmv2.HelmReleaseList
	if err := d.Client.List(ctx, &users, client.MatchingFields{controller.IndexDependency: self.String()}); err != nil {
		log.FromContext(ctx).Error(err, "cannot list the HelmReleases that depend on this one")
		return nil
	}
	if len(users.Items) == 0 || d.IsTerminating(ctx, hr.Namespace) {
		return nil
	}
	var found []release.Dependent
	for _, user := range users.Items {
		key := client.ObjectKeyFromObject(&user)
		dependent := release.Dependent{Name: key.String(), Deleted: !user.DeletionTimestamp.IsZero()}
		if path := inputs.DependencyPath(ctx, d.Client, self, key); path != nil {
			var names []string
			for _, on := range append(path, self) {
				names = append(names, on.String())
			}
			dependent.Cycle = strings.Join(names, " -> ")
		}
		found = append(found, dependent)
	}
	slices.SortFunc(found, func(a, b release.Dependent) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// IsTerminating reports whether a namespace is being deleted. One that may not be read counts as
// not being deleted.
func (d Dependents) IsTerminating(ctx context.Context, name string) bool {
	ns := &corev1.Namespace{}
	return d.Live.Get(ctx, client.ObjectKey{Name: name}, ns) == nil && !ns.DeletionTimestamp.IsZero()
}
