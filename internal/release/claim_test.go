// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"math/rand/v2"
	"testing"
	"time"
)

// claimTime is when the oldest HelmReleases were created.
var claimTime = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// candidate returns a HelmRelease, which is older the smaller hour is.
func candidate(uid, namespace string, hour int, recorded ...int) claimCandidate {
	return claimCandidate{UID: uid, Namespace: namespace, Created: claimTime.Add(time.Duration(hour) * time.Hour), Recorded: recorded}
}

// TestClaimOwner: labels of records decide, then histories, then the storage namespace and the age.
func TestClaimOwner(t *testing.T) {
	t.Parallel()
	moved := candidate("b", "team-b", 1)
	moved.Elsewhere = true
	for name, tc := range map[string]struct {
		reason    string
		revisions []claimRevision
		self      claimCandidate
		others    []claimCandidate
		want      string
	}{
		"Alone":             {reason: "there is no other one", self: candidate("a", "team-a", 2), want: "a"},
		"Near":              {reason: "in one namespace the older one", self: candidate("a", "team-a", 2), others: []claimCandidate{candidate("b", "team-a", 1)}, want: "b"},
		"NearYounger":       {reason: "in one namespace the older one", self: candidate("a", "team-a", 1), others: []claimCandidate{candidate("b", "team-a", 2)}, want: "a"},
		"NearSameAge":       {reason: "or the smaller UID", self: candidate("b", "team-a", 1), others: []claimCandidate{candidate("a", "team-a", 1)}, want: "a"},
		"Far":               {reason: "a spec in another namespace does not count", self: candidate("a", "team-a", 2), others: []claimCandidate{candidate("b", "team-b", 1)}, want: "a"},
		"FarBoth":           {reason: "for neither of the two", self: candidate("b", "team-b", 1), others: []claimCandidate{candidate("a", "team-a", 2)}, want: "b"},
		"Storage":           {reason: "one in the storage namespace counts", self: candidate("a", "team-a", 1), others: []claimCandidate{candidate("b", "vault", 2)}, want: "b"},
		"StorageSelf":       {reason: "and precedes others", self: candidate("a", "vault", 2), others: []claimCandidate{candidate("b", "team-b", 1)}, want: "a"},
		"StorageBoth":       {reason: "of two, the older one", self: candidate("a", "vault", 2), others: []claimCandidate{candidate("c", "team-c", 0), candidate("b", "vault", 1)}, want: "b"},
		"Created":           {reason: "a label decides", revisions: []claimRevision{{Version: 1, Creator: "b"}}, self: candidate("a", "vault", 1, 1), others: []claimCandidate{candidate("b", "team-b", 2)}, want: "b"},
		"CreatedSelf":       {reason: "a label decides", revisions: []claimRevision{{Version: 1, Creator: "a"}}, self: candidate("a", "team-a", 2), others: []claimCandidate{candidate("b", "vault", 1, 1)}, want: "a"},
		"CreatedNewest":     {reason: "the newest one", revisions: []claimRevision{{Version: 2, Creator: "b"}, {Version: 1, Creator: "a"}}, self: candidate("a", "vault", 1), others: []claimCandidate{candidate("b", "team-b", 2)}, want: "b"},
		"CreatedByGone":     {reason: "of a HelmRelease that exists", revisions: []claimRevision{{Version: 2, Creator: "x"}, {Version: 1, Creator: "a"}}, self: candidate("a", "team-a", 1), others: []claimCandidate{candidate("b", "vault", 2)}, want: "a"},
		"CreatedByMoved":    {reason: "also if it requests another release now", revisions: []claimRevision{{Version: 1, Creator: "b"}}, self: candidate("a", "team-a", 2), others: []claimCandidate{moved}, want: "b"},
		"MovedWithoutProof": {reason: "but not without a record", self: candidate("a", "team-a", 2), others: []claimCandidate{{UID: "b", Namespace: "team-a", Elsewhere: true}}, want: "a"},
		"Uninstalled":       {reason: "a release that is uninstalled proves nothing", revisions: []claimRevision{{Version: 1, Creator: "b", Uninstalled: true}}, self: candidate("a", "team-a", 2), others: []claimCandidate{candidate("b", "team-b", 1, 1)}, want: "a"},
		"Recorded":          {reason: "a history decides", revisions: []claimRevision{{Version: 1}}, self: candidate("a", "vault", 1), others: []claimCandidate{candidate("b", "team-b", 2, 1)}, want: "b"},
		"RecordedSelf":      {reason: "a history decides", revisions: []claimRevision{{Version: 1}}, self: candidate("a", "team-a", 2, 1), others: []claimCandidate{candidate("b", "team-b", 1), candidate("c", "vault", 1)}, want: "a"},
		"RecordedNewest":    {reason: "that of the newest revision", revisions: []claimRevision{{Version: 2}, {Version: 1}}, self: candidate("a", "team-a", 1, 1), others: []claimCandidate{candidate("b", "team-b", 2, 2)}, want: "b"},
		"RecordedOld":       {reason: "an older label does not matter then", revisions: []claimRevision{{Version: 2}, {Version: 1, Creator: "a"}}, self: candidate("a", "team-a", 1), others: []claimCandidate{candidate("b", "team-b", 2, 2)}, want: "b"},
		"RecordedGone":      {reason: "a revision that is not stored proves nothing", self: candidate("a", "team-a", 2), others: []claimCandidate{candidate("b", "team-b", 1, 1)}, want: "a"},
		"RecordedBoth":      {reason: "of two histories, that in the storage namespace", revisions: []claimRevision{{Version: 1}}, self: candidate("a", "vault", 2, 1), others: []claimCandidate{candidate("b", "team-b", 1, 1)}, want: "a"},
		"RecordedBothFar":   {reason: "or the older one", revisions: []claimRevision{{Version: 1}}, self: candidate("a", "team-a", 2, 1), others: []claimCandidate{candidate("b", "team-b", 1, 1)}, want: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tc.self.UID
			if i := claimOwner(claimedRelease{StorageNamespace: "vault", Revisions: tc.revisions, Self: tc.self, Others: tc.others}); i >= 0 {
				got = tc.others[i].UID
			}
			if got != tc.want {
				t.Errorf("the owner is %s, want %s: %s", got, tc.want, tc.reason)
			}
		})
	}
}

// TestAgreement: whatever is stored, at most one of several HelmReleases with proof counts itself as
// the owner, and the others agree on it. Without proof, this holds for those that count for each
// other.
func TestAgreement(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func(of ...string) string { return of[r.IntN(len(of))] }
		var all []claimCandidate
		for _, uid := range []string{"a", "b", "c"} {
			c := candidate(uid, pick("vault", "team-a", "team-b"), r.IntN(2))
			for version := range 3 {
				if r.IntN(4) == 0 {
					c.Recorded = append(c.Recorded, version)
				}
			}
			all = append(all, c)
		}
		var revisions []claimRevision
		for version := r.IntN(3); version > 0; version-- {
			revisions = append(revisions, claimRevision{Version: version, Creator: pick("", "", "a", "b", "x"), Uninstalled: r.IntN(5) == 0})
		}
		owners := map[string]bool{}
		for i := range all {
			var others []claimCandidate
			for j := range all {
				if j != i {
					others = append(others, all[j])
				}
			}
			owner := all[i]
			if k := claimOwner(claimedRelease{StorageNamespace: "vault", Revisions: revisions, Self: all[i], Others: others}); k >= 0 {
				owner = others[k]
			}
			owners[owner.UID] = true
			if owner.UID != all[i].UID && owner.Namespace != all[i].Namespace && owner.Namespace != "vault" && len(revisions) == 0 {
				t.Fatalf("seed %d: %+v keeps the release from %+v without proof", seed, owner, all[i])
			}
		}
		proven := false
		for _, revision := range revisions {
			for _, c := range all {
				for _, recorded := range c.Recorded {
					proven = proven || !revision.Uninstalled && (revision.Creator == c.UID || recorded == revision.Version)
				}
				proven = proven || !revision.Uninstalled && revision.Creator == c.UID
			}
		}
		if proven && len(owners) != 1 {
			t.Fatalf("seed %d: %d owners of %+v: %+v", seed, len(owners), revisions, all)
		}
	}
}
