// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import "testing"

func TestClassify(t *testing.T) {
	us := Target{Name: "web", Namespace: "apps", StorageNamespace: "helm"}
	other := Marks{Name: "shop", Namespace: "apps"}
	for name, tc := range map[string]struct {
		absent bool
		marks  Marks
		bearer Bearer
		want   Standing
		reason string
	}{
		"Free":              {absent: true, want: StandingFree, reason: "nothing is there"},
		"BeingMade":         {absent: true, bearer: Bearer{Busy: true}, want: StandingOwned, reason: "another action is about to make it"},
		"BeingAdopted":      {bearer: Bearer{Busy: true}, want: StandingOwned, reason: "another action is about to adopt it"},
		"NoMarks":           {want: StandingOrphan, reason: "nobody has marked it"},
		"NameOnly":          {marks: Marks{Name: "shop"}, bearer: Bearer{Holds: true}, want: StandingOrphan, reason: "half a name names no release"},
		"NamespaceOnly":     {marks: Marks{Namespace: "apps"}, bearer: Bearer{Holds: true}, want: StandingOrphan, reason: "half a name names no release"},
		"OriginOnly":        {marks: Marks{OriginNamespace: "apps", OriginName: "shop"}, want: StandingOrphan, reason: "labels of HelmReleases are no marks of Helm's"},
		"Ours":              {marks: Marks{Name: "web", Namespace: "apps"}, want: StandingOurs, reason: "the marks are this release's"},
		"OursWhateverFound": {marks: Marks{Name: "web", Namespace: "apps"}, bearer: Bearer{Stored: true, Holds: true, Claimed: true, Unread: true}, want: StandingOurs, reason: "the bearer is the release itself"},
		"NameOfOurs":        {marks: Marks{Name: "web", Namespace: "shop"}, bearer: Bearer{Stored: true, Holds: true}, want: StandingOwned, reason: "a release of our name in another namespace is another release"},
		"StorageOfOurs":     {marks: Marks{Name: "web", Namespace: "helm"}, bearer: Bearer{Stored: true, Holds: true}, want: StandingOwned, reason: "where our revisions are is not where our release is"},
		"Gone":              {marks: other, want: StandingOrphan, reason: "nothing of the release is left"},
		"Holds":             {marks: other, bearer: Bearer{Stored: true, Holds: true}, want: StandingOwned, reason: "it lives and has the object"},
		"HoldsAndClaimed":   {marks: other, bearer: Bearer{Stored: true, Holds: true, Claimed: true}, want: StandingOwned, reason: "it lives and has the object"},
		"Dropped":           {marks: other, bearer: Bearer{Stored: true}, want: StandingOrphan, reason: "it lives, and has dropped the object"},
		"DroppedAndClaimed": {marks: other, bearer: Bearer{Stored: true, Claimed: true}, want: StandingOrphan, reason: "what is stored says that it was dropped"},
		"ClaimedOnly":       {marks: other, bearer: Bearer{Claimed: true}, want: StandingOwned, reason: "it is going to be installed, and nothing tells what it will have"},
		"Unread":            {marks: other, bearer: Bearer{Unread: true}, want: StandingOwned, reason: "nothing proves that it is dead"},
		"UnreadElsewhere":   {marks: other, bearer: Bearer{Stored: true, Unread: true}, want: StandingOwned, reason: "what was read is not all there is"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Classify(!tc.absent, tc.marks, us, tc.bearer); got != tc.want {
				t.Errorf("%s, want %s: %s", got, tc.want, tc.reason)
			}
		})
	}
}
