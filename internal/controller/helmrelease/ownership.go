// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// owners finds the HelmReleases that own a release or its objects.
type owners struct {
	// client reads from the cache, live past it.
	client, live client.Reader
}

// requester is another HelmRelease that requests a release, with its history.
type requester struct {
	release.Conflict
	history helmv2.Snapshots
}

// ofRelease returns the other HelmReleases that request a release.
func (o owners) ofRelease(ctx context.Context, hr *helmv2.HelmRelease, target release.Target) ([]requester, error) {
	var list helmv2.HelmReleaseList
	key := inputs.ReleaseKey(hr, target.StorageNamespace, target.Name)
	if err := o.client.List(ctx, &list, client.MatchingFields{controller.IndexRelease: key}); err != nil {
		return nil, err
	}
	var others []requester
	for i := range list.Items {
		if other := &list.Items[i]; other.UID != hr.UID {
			others = append(others, requester{conflictOf(other, false), other.Status.History})
		}
	}
	return others, nil
}

// maxProofs limits the records that are read to verify the histories of others in one
// reconciliation. Users may write any history.
const maxProofs = 10

// withProofs returns the conflicts of requesters, with the stored revisions that their histories
// prove. read returns a revision in full, with the digest for a history. It is called only if the
// labels of the records do not decide.
func withProofs(want release.Desired, target release.Target, recorded helmv2.Snapshots, revisions []release.Revision, others []requester,
	read func(version int, history helmv2.Snapshots) (*release.Revision, error),
) ([]release.Conflict, error) {
	var conflicts []release.Conflict
	for _, other := range others {
		conflicts = append(conflicts, other.Conflict)
	}
	reads := 0
	want.Target = target
	for _, i := range release.Unproven(want, recorded, revisions, conflicts) {
		for j, other := range others {
			stored := &revisions[i]
			if release.MustReadProof(other.history, stored) {
				if reads++; reads > maxProofs {
					continue
				}
				var err error
				if stored, err = read(stored.Version, other.history); err != nil {
					return nil, err
				}
			}
			if stored != nil && release.Proves(other.history, stored) {
				conflicts[j].Recorded = append(conflicts[j].Recorded, stored.Version)
			}
		}
	}
	return conflicts, nil
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

// ofObjects returns a function that finds the HelmReleases of other Helm releases by the ownership
// metadata of an object.
func (o owners) ofObjects(hr *helmv2.HelmRelease) helm.OwnerCandidates {
	return inputs.OwnerReader{Live: o.live, ByHistory: func(ctx context.Context, key string) ([]helmv2.HelmRelease, error) {
		var list helmv2.HelmReleaseList
		err := o.client.List(ctx, &list, client.MatchingFields{controller.IndexHistory: key})
		return list.Items, err
	}}.OfObjects(hr)
}
