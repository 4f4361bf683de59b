// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

// OwnershipMetadata holds the Helm release and the HelmRelease that the labels and annotations of
// an object name. Fields are empty if the metadata is missing.
type OwnershipMetadata struct {
	// Name and Namespace name the Helm release.
	Name      string
	Namespace string
	// OriginNamespace and OriginName name the HelmRelease that rendered the object.
	OriginNamespace string
	OriginName      string
}

// OwnerCandidate is a HelmRelease that refers to a Helm release in its spec or its history.
type OwnerCandidate struct {
	Namespace string
	Name      string
	// StorageNamespaces lists the namespaces that may store revisions of the release.
	StorageNamespaces []string
}

// Owner describes the release that the ownership metadata of an object names.
type Owner struct {
	// Stored is true if Helm storage has the release and its newest revision is not uninstalled.
	Stored bool
	// HasObject is true if the newest or the deployed revision contains the object. An upgrade that
	// drops an object deletes it only at its end.
	HasObject bool
	// Requested is true if another HelmRelease refers to the release in its spec or its history.
	Requested bool
	// Unread is true if some of the facts could not be read.
	Unread bool
	// Busy is true if an action of another release is about to create or adopt the object. The
	// metadata of the object does not matter then.
	Busy bool
}

// Ownership classifies an object that a release is about to create or adopt.
type Ownership string

// The zero Ownership is none of these.
const (
	// OwnershipFree is an object that does not exist.
	OwnershipFree Ownership = "free"
	// OwnershipOrphan is an object that no existing release owns.
	OwnershipOrphan Ownership = "orphan"
	// OwnershipOurs is an object with the ownership metadata of the release itself.
	OwnershipOurs Ownership = "ours"
	// OwnershipOwned is an object of another existing release. It is also the result if other
	// ownership cannot be excluded.
	OwnershipOwned Ownership = "owned"
)

// Classify returns the ownership of an object that release us is about to create or adopt. The
// owner matters only if the metadata names another release.
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
		// No stored revision shows which objects the release will contain.
		return OwnershipOwned
	}
	return OwnershipOrphan
}

// NamesRelease reports whether the metadata names a release. Both name and namespace are required.
func (m OwnershipMetadata) NamesRelease() bool { return m.Name != "" && m.Namespace != "" }
