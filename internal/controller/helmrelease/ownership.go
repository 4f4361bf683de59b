// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/release"
)

// owners finds the HelmReleases that own a release or its objects.
type owners struct {
	// client reads from the cache, live past it.
	client, live client.Reader
}

// ofRelease returns the other HelmReleases that request a release.
func (o owners) ofRelease(ctx context.Context, hr *helmv2.HelmRelease, target release.Target) ([]release.Conflict, error) {
	var list helmv2.HelmReleaseList
	key := controller.ReleaseKey(hr, target.StorageNamespace, target.Name)
	if err := o.client.List(ctx, &list, client.MatchingFields{controller.IndexRelease: key}); err != nil {
		return nil, err
	}
	var others []release.Conflict
	for i := range list.Items {
		if other := &list.Items[i]; other.UID != hr.UID {
			others = append(others, conflictOf(other, false))
		}
	}
	return others, nil
}

// withMakers returns known with the other HelmReleases that made revisions of a release and
// request another one by now.
func (o owners) withMakers(ctx context.Context, hr *helmv2.HelmRelease, revisions []release.Revision, known []release.Conflict) ([]release.Conflict, error) {
	seen := map[string]bool{"": true, string(hr.UID): true}
	for _, conflict := range known {
		seen[conflict.UID] = true
	}
	for i := range revisions {
		uid := revisions[i].Owner
		if seen[uid] {
			continue
		}
		seen[uid] = true
		var list helmv2.HelmReleaseList
		if err := o.client.List(ctx, &list, client.MatchingFields{controller.IndexUID: uid}); err != nil {
			return known, err
		}
		for j := range list.Items {
			known = append(known, conflictOf(&list.Items[j], true))
		}
	}
	return known, nil
}

func conflictOf(hr *helmv2.HelmRelease, elsewhere bool) release.Conflict {
	return release.Conflict{
		UID: string(hr.UID), Namespace: hr.Namespace, Name: hr.Name, Created: hr.CreationTimestamp.Time, Elsewhere: elsewhere,
	}
}

// ofObjects returns a function that finds the HelmReleases of other Helm releases in the cluster
// of hr by the ownership metadata of an object. HelmReleases of other shards and namespaces are
// not in the cache: one of them is read if the ownership metadata name it.
func (o owners) ofObjects(hr *helmv2.HelmRelease) helm.OwnerCandidates {
	return func(ctx context.Context, marks release.OwnershipMetadata) ([]release.OwnerCandidate, error) {
		var list helmv2.HelmReleaseList
		key := controller.ReleaseKey(hr, marks.Namespace, marks.Name)
		if err := o.client.List(ctx, &list, client.MatchingFields{controller.IndexHistory: key}); err != nil {
			return nil, err
		}
		if len(list.Items) == 0 && marks.OriginName != "" && marks.OriginNamespace != "" {
			var origin helmv2.HelmRelease
			err := o.live.Get(ctx, client.ObjectKey{Namespace: marks.OriginNamespace, Name: marks.OriginName}, &origin)
			if client.IgnoreNotFound(err) != nil {
				return nil, err
			}
			if err == nil && slices.Contains(controller.HistoryKeys(&origin), key) {
				list.Items = append(list.Items, origin)
			}
		}
		var all []release.OwnerCandidate
		for i := range list.Items {
			if other := &list.Items[i]; other.UID != hr.UID {
				all = append(all, ownerCandidateOf(other))
			}
		}
		return all, nil
	}
}

func ownerCandidateOf(hr *helmv2.HelmRelease) release.OwnerCandidate {
	c := release.OwnerCandidate{Namespace: hr.Namespace, Name: hr.Name, StorageNamespaces: []string{hr.GetStorageNamespace()}}
	if was := hr.Status.StorageNamespace; was != "" && was != c.StorageNamespaces[0] {
		c.StorageNamespaces = append(c.StorageNamespaces, was)
	}
	return c
}
