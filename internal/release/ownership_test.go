// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"
)

// TestClassify: objects of another existing release are owned, and all others may be adopted.
func TestClassify(t *testing.T) {
	us := Target{Name: "web", Namespace: "apps", StorageNamespace: "helm"}
	other := OwnershipMetadata{Name: "shop", Namespace: "apps"}
	for name, tc := range map[string]struct {
		absent   bool
		metadata OwnershipMetadata
		owner    Owner
		want     Ownership
		reason   string
	}{
		"Free":                  {absent: true, want: OwnershipFree, reason: "the object does not exist"},
		"BeingMade":             {absent: true, owner: Owner{Busy: true}, want: OwnershipOwned, reason: "another action is about to create it"},
		"BeingAdopted":          {owner: Owner{Busy: true}, want: OwnershipOwned, reason: "another action is about to adopt it"},
		"NoMetadata":            {want: OwnershipOrphan, reason: "it has no ownership metadata"},
		"NameOnly":              {metadata: OwnershipMetadata{Name: "shop"}, owner: Owner{HasObject: true}, want: OwnershipOrphan, reason: "a release needs name and namespace"},
		"NamespaceOnly":         {metadata: OwnershipMetadata{Namespace: "apps"}, owner: Owner{HasObject: true}, want: OwnershipOrphan, reason: "a release needs name and namespace"},
		"OriginOnly":            {metadata: OwnershipMetadata{OriginNamespace: "apps", OriginName: "shop"}, want: OwnershipOrphan, reason: "labels of a HelmRelease are not Helm's ownership metadata"},
		"Ours":                  {metadata: OwnershipMetadata{Name: "web", Namespace: "apps"}, want: OwnershipOurs, reason: "the metadata names this release"},
		"OursWhateverFound":     {metadata: OwnershipMetadata{Name: "web", Namespace: "apps"}, owner: Owner{Stored: true, HasObject: true, Requested: true, Unread: true}, want: OwnershipOurs, reason: "the owner is the release itself"},
		"NameOfOurs":            {metadata: OwnershipMetadata{Name: "web", Namespace: "shop"}, owner: Owner{Stored: true, HasObject: true}, want: OwnershipOwned, reason: "a release with our name in another namespace is another release"},
		"StorageOfOurs":         {metadata: OwnershipMetadata{Name: "web", Namespace: "helm"}, owner: Owner{Stored: true, HasObject: true}, want: OwnershipOwned, reason: "the storage namespace is not the release namespace"},
		"Gone":                  {metadata: other, want: OwnershipOrphan, reason: "the release no longer exists"},
		"HasObject":             {metadata: other, owner: Owner{Stored: true, HasObject: true}, want: OwnershipOwned, reason: "it exists and has the object"},
		"HasObjectAndRequested": {metadata: other, owner: Owner{Stored: true, HasObject: true, Requested: true}, want: OwnershipOwned, reason: "it exists and has the object"},
		"Dropped":               {metadata: other, owner: Owner{Stored: true}, want: OwnershipOrphan, reason: "it exists and has dropped the object"},
		"DroppedAndRequested":   {metadata: other, owner: Owner{Stored: true, Requested: true}, want: OwnershipOrphan, reason: "the stored revision has dropped the object"},
		"RequestedOnly":         {metadata: other, owner: Owner{Requested: true}, want: OwnershipOwned, reason: "it will be installed with unknown objects"},
		"Unread":                {metadata: other, owner: Owner{Unread: true}, want: OwnershipOwned, reason: "it may still exist"},
		"UnreadElsewhere":       {metadata: other, owner: Owner{Stored: true, Unread: true}, want: OwnershipOwned, reason: "some records were not read"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Classify(!tc.absent, tc.metadata, us, tc.owner); got != tc.want {
				t.Errorf("%s, want %s: %s", got, tc.want, tc.reason)
			}
		})
	}
}

// TestLeftover: an object is deleted if a failed revision created it. An adopted one stays, even if
// Helm would delete it.
func TestLeftover(t *testing.T) {
	us := Target{Name: "web", Namespace: "apps", StorageNamespace: "helm"}
	ours := OwnershipMetadata{Name: "web", Namespace: "apps"}
	other := OwnershipMetadata{Name: "web", Namespace: "shop"}
	at := time.Unix(1_000_000, 0)
	for name, tc := range map[string]struct {
		leftover Leftover
		want     string
	}{
		"Created":         {Leftover{Metadata: ours, Created: at.Add(time.Second), Recorded: at, Preceded: true}, ""},
		"SameSecond":      {Leftover{Metadata: ours, Created: at, Recorded: at, Preceded: true}, ""},
		"Adopted":         {Leftover{Metadata: ours, Created: at.Add(-time.Second), Recorded: at, Preceded: true, Version: 2}, "it is older than revision 2, which adopted it and failed"},
		"AdoptedCurrent":  {Leftover{Metadata: ours, Created: at.Add(-time.Second), Recorded: at, Preceded: true, Version: 2, Deletes: true}, "it is older than revision 2, which adopted it and failed"},
		"Truncated":       {Leftover{Metadata: ours, Created: at.Add(-time.Second), Recorded: at, Version: 2}, "whether revision 2 created it is not known"},
		"TruncatedHelm":   {Leftover{Metadata: ours, Created: at.Add(-time.Second), Recorded: at, Deletes: true}, ""},
		"TruncatedLater":  {Leftover{Metadata: ours, Created: at, Recorded: at}, ""},
		"NoTime":          {Leftover{Metadata: ours, Recorded: at, Preceded: true, Version: 2}, "whether revision 2 created it is not known"},
		"NoRecordTime":    {Leftover{Metadata: ours, Created: at, Preceded: true, Version: 2}, "whether revision 2 created it is not known"},
		"NoTimeHelm":      {Leftover{Metadata: ours, Recorded: at, Preceded: true, Deletes: true}, ""},
		"Keep":            {Leftover{Metadata: ours, Created: at, Recorded: at, Preceded: true, Keep: true, Deletes: true}, "its resource policy is keep"},
		"OfOther":         {Leftover{Metadata: other, Created: at, Recorded: at, Preceded: true}, "it is of Helm release shop/web by now"},
		"OfOtherCurrent":  {Leftover{Metadata: other, Created: at, Recorded: at, Preceded: true, Deletes: true}, "it is of Helm release shop/web by now"},
		"OfNone":          {Leftover{Created: at, Recorded: at, Preceded: true}, "it has no metadata of a Helm release"},
		"OfNoneCurrent":   {Leftover{Created: at, Recorded: at, Preceded: true, Deletes: true}, ""},
		"Unproven":        {Leftover{Created: at, Recorded: at, Preceded: true, Deletes: true, Deployed: true, Unproven: true}, "it has no metadata of a Helm release"},
		"UnprovenOurs":    {Leftover{Metadata: ours, Deployed: true, Unproven: true}, ""},
		"Deployed":        {Leftover{Metadata: ours, Created: at, Deployed: true}, ""},
		"DeployedKeep":    {Leftover{Metadata: ours, Created: at, Deployed: true, Keep: true}, "its resource policy is keep"},
		"DeployedOfOther": {Leftover{Metadata: other, Created: at, Deployed: true}, "it is of Helm release shop/web by now"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.leftover.WhyKept(us); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
