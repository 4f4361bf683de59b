// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

// Marks are what the metadata of an object say of the Helm release it belongs to.
// They are empty where nothing is said.
type Marks struct {
	// Name and Namespace of the release.
	Name      string
	Namespace string
	// OriginNamespace and OriginName are of the HelmRelease that rendered the object.
	OriginNamespace string
	OriginName      string
}

// Claimant is a HelmRelease that asks for a Helm release, or has it in its history.
type Claimant struct {
	Namespace string
	Name      string
	// StorageNamespaces are where revisions of the release may be.
	StorageNamespaces []string
}

// Bearer is what was found out about the release that an object bears the marks of.
type Bearer struct {
	// Stored is true if Helm storage has it, and its newest revision is not uninstalled.
	Stored bool
	// Holds is true if that has the object, or the deployed one: until an
	// upgrade that drops it has ended, the object is still going to be deleted.
	Holds bool
	// Claimed is true if another HelmRelease asks for it, or has it in its history.
	Claimed bool
	// Unread is true if some of it could not be found out.
	Unread bool
	// Busy is true if another release is about to make or adopt the object at this
	// moment, whatever its marks are.
	Busy bool
}

// Standing is whose an object is that a release is about to have.
type Standing string

// The zero Standing is none of these.
const (
	// StandingFree is an object that does not exist.
	StandingFree Standing = "free"
	// StandingOrphan is one that no living release has.
	StandingOrphan Standing = "orphan"
	// StandingOurs is one that bears the marks of the release itself.
	StandingOurs Standing = "ours"
	// StandingOwned is one of another living release, or one of which nothing proves
	// that it is not.
	StandingOwned Standing = "owned"
)

// Classify says whose an object is that the release us is about to have. The bearer
// counts only if the marks are of another release.
func Classify(exists bool, marks Marks, us Target, bearer Bearer) Standing {
	switch {
	case bearer.Busy:
		return StandingOwned
	case !exists:
		return StandingFree
	case !marks.Bear():
		return StandingOrphan
	case marks.Name == us.Name && marks.Namespace == us.Namespace:
		return StandingOurs
	case bearer.Holds, bearer.Unread:
		return StandingOwned
	case bearer.Claimed && !bearer.Stored:
		// It has nothing yet, or not any more, that would tell what it is going to have.
		return StandingOwned
	}
	return StandingOrphan
}

// Bear reports whether the marks name a release. Half a name names none.
func (m Marks) Bear() bool { return m.Name != "" && m.Namespace != "" }
