// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

// Marks are what the metadata of an object say of the Helm release it belongs to.
// They are empty where nothing is said.
type OwnershipMetadata struct {
	// Name and Namespace of the release.
	Name      string
	Namespace string
	// OriginNamespace and OriginName are of the HelmRelease that rendered the object.
	OriginNamespace string
	OriginName      string
}

// Claimant is a HelmRelease that asks for a Helm release, or has it in its history.
type OwnerCandidate struct {
	Namespace string
	Name      string
	// StorageNamespaces are where revisions of the release may be.
	StorageNamespaces []string
}

// Bearer is what was found out about the release that an object bears the marks of.
type Owner struct {
	// Stored is true if Helm storage has it, and its newest revision is not uninstalled.
	Stored bool
	// Holds is true if that has the object, or the deployed one: until an
	// upgrade that drops it has ended, the object is still going to be deleted.
	HasObject bool
	// Claimed is true if another HelmRelease asks for it, or has it in its history.
	Requested bool
	// Unread is true if some of it could not be found out.
	Unread bool
	// Busy is true if another release is about to make or adopt the object at this
	// moment, whatever its marks are.
	Busy bool
}

// Standing is whose an object is that a release is about to have.
type Ownership string

// The zero Standing is none of these.
const (
	// StandingFree is an object that does not exist.
	OwnershipFree Ownership = "free"
	// StandingOrphan is one that no living release has.
	OwnershipOrphan Ownership = "orphan"
	// StandingOurs is one that bears the marks of the release itself.
	OwnershipOurs Ownership = "ours"
	// StandingOwned is one of another living release, or one of which nothing proves
	// that it is not.
	OwnershipOwned Ownership = "owned"
)

// Classify says whose an object is that the release us is about to have. The bearer
// counts only if the marks are of another release.
func Classify(exists bool, marks OwnershipMetadata, us Target, bearer Owner) Ownership {
	switch {
	case bearer.Busy:
		return OwnershipOwned
	case !exists:
		return OwnershipFree
	case !marks.NamesRelease():
		return OwnershipOrphan
	case marks.Name == us.Name && marks.Namespace == us.Namespace:
		return OwnershipOurs
	case bearer.HasObject, bearer.Unread:
		return OwnershipOwned
	case bearer.Requested && !bearer.Stored:
		// It has nothing yet, or not any more, that would tell what it is going to have.
		return OwnershipOwned
	}
	return OwnershipOrphan
}

// Bear reports whether the marks name a release. Half a name names none.
func (m OwnershipMetadata) NamesRelease() bool { return m.Name != "" && m.Namespace != "" }
