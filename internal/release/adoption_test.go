// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import "testing"

func TestClassify(t *testing.T) {
	us := Target{Name: "web", Namespace: "apps", StorageNamespace: "helm"}
	other := OwnershipMetadata{Name: "shop", Namespace: "apps"}
	for name, tc := range map[string]struct {
		absent bool
		marks  OwnershipMetadata
		bearer Owner
		want   Ownership
		reason string
	}{
		"Free":              {absent: true, want: OwnershipFree, reason: "nothing is there"},
		"BeingMade":         {absent: true, bearer: Owner{Busy: true}, want: OwnershipOwned, reason: "another action is about to make it"},
		"BeingAdopted":      {bearer: Owner{Busy: true}, want: OwnershipOwned, reason: "another action is about to adopt it"},
		"NoMarks":           {want: OwnershipOrphan, reason: "nobody has marked it"},
		"NameOnly":          {marks: OwnershipMetadata{Name: "shop"}, bearer: Owner{HasObject: true}, want: OwnershipOrphan, reason: "half a name names no release"},
		"NamespaceOnly":     {marks: OwnershipMetadata{Namespace: "apps"}, bearer: Owner{HasObject: true}, want: OwnershipOrphan, reason: "half a name names no release"},
		"OriginOnly":        {marks: OwnershipMetadata{OriginNamespace: "apps", OriginName: "shop"}, want: OwnershipOrphan, reason: "labels of HelmReleases are no marks of Helm's"},
		"Ours":              {marks: OwnershipMetadata{Name: "web", Namespace: "apps"}, want: OwnershipOurs, reason: "the marks are this release's"},
		"OursWhateverFound": {marks: OwnershipMetadata{Name: "web", Namespace: "apps"}, bearer: Owner{Stored: true, HasObject: true, Requested: true, Unread: true}, want: OwnershipOurs, reason: "the bearer is the release itself"},
		"NameOfOurs":        {marks: OwnershipMetadata{Name: "web", Namespace: "shop"}, bearer: Owner{Stored: true, HasObject: true}, want: OwnershipOwned, reason: "a release of our name in another namespace is another release"},
		"StorageOfOurs":     {marks: OwnershipMetadata{Name: "web", Namespace: "helm"}, bearer: Owner{Stored: true, HasObject: true}, want: OwnershipOwned, reason: "where our revisions are is not where our release is"},
		"Gone":              {marks: other, want: OwnershipOrphan, reason: "nothing of the release is left"},
		"Holds":             {marks: other, bearer: Owner{Stored: true, HasObject: true}, want: OwnershipOwned, reason: "it lives and has the object"},
		"HoldsAndClaimed":   {marks: other, bearer: Owner{Stored: true, HasObject: true, Requested: true}, want: OwnershipOwned, reason: "it lives and has the object"},
		"Dropped":           {marks: other, bearer: Owner{Stored: true}, want: OwnershipOrphan, reason: "it lives, and has dropped the object"},
		"DroppedAndClaimed": {marks: other, bearer: Owner{Stored: true, Requested: true}, want: OwnershipOrphan, reason: "what is stored says that it was dropped"},
		"ClaimedOnly":       {marks: other, bearer: Owner{Requested: true}, want: OwnershipOwned, reason: "it is going to be installed, and nothing tells what it will have"},
		"Unread":            {marks: other, bearer: Owner{Unread: true}, want: OwnershipOwned, reason: "nothing proves that it is dead"},
		"UnreadElsewhere":   {marks: other, bearer: Owner{Stored: true, Unread: true}, want: OwnershipOwned, reason: "what was read is not all there is"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Classify(!tc.absent, tc.marks, us, tc.bearer); got != tc.want {
				t.Errorf("%s, want %s: %s", got, tc.want, tc.reason)
			}
		})
	}
}
