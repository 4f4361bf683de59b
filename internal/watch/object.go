// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"encoding/binary"
	"hash"
	"hash/fnv"
	"maps"
	"slices"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// objectName is the key of an object among the objects of its kind.
type objectName struct {
	// namespace is shared, because there are few namespaces and thousands of objects.
	namespace unique.Handle[string]
	name      string
}

func nameOf(namespace, name string) objectName { return objectName{unique.Make(namespace), name} }

// object is the stored state of an object.
type object struct {
	uid types.UID
	// version is its resourceVersion at the last relevant change.
	version    string
	generation int64
	// content is a hash of the relevant metadata.
	content uint64
	// owned is a hash of the fields of our field manager and of overridden ones, and of the managers
	// that scaled the object; zero if no field is ours. A manager that changes or removes a field of
	// ours takes it over, so that the hash differs. So does a client that scales the object in place
	// of its autoscaler.
	owned uint64
	// newest is the time of the newest entry of managedFields, in seconds. A change without a
	// newer entry, such as by the scale subresource, must not count as ours.
	newest int64
	// deleting is true if the object has a deletion timestamp.
	deleting bool
	// owner is the HelmRelease in its labels. With only one of the labels it is the name of no
	// HelmRelease.
	owner unique.Handle[types.NamespacedName]
}

// snapshot is an object as received from the API server.
type snapshot struct {
	object
	// by is the author of the newest entry of managedFields.
	by author
}

// author is the author of a change, as far as that is certain.
type author int

const (
	otherAuthor author = iota
	// ownAuthor is this controller, by an apply or a patch.
	ownAuthor
	// statusAuthor has written the status only.
	statusAuthor
)

// usesGeneration reports whether the generation of objects of a kind increases with changes.
func usesGeneration(resource schema.GroupVersionResource) bool {
	// The generation of a PriorityClass stays one.
	return resource.GroupResource() != schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}
}

// tracksFields reports whether managedFields contain the owners of all fields of a kind. Secrets
// are written through stringData, which has no owner.
func tracksFields(resource schema.GroupVersionResource) bool {
	return resource.GroupResource() != schema.GroupResource{Resource: "secrets"}
}

// observe returns the snapshot of an object, with its current version. Its generation is zero if
// the kind does not use it.
func observe(o metav1.Object, resource schema.GroupVersionResource, overridden []string) snapshot {
	s := snapshot{object: object{
		uid: o.GetUID(), version: o.GetResourceVersion(), content: contentOf(o), deleting: o.GetDeletionTimestamp() != nil, owner: unique.Make(ownerOf(o.GetLabels())),
	}}
	if usesGeneration(resource) {
		s.generation = o.GetGeneration()
	}
	if tracksFields(resource) {
		s.owned = ownedIn(o.GetManagedFields(), overridden)
	}
	for _, entry := range o.GetManagedFields() {
		at := int64(0)
		if entry.Time != nil {
			at = entry.Time.Unix()
		}
		by := authorOf(entry)
		switch {
		case at > s.newest:
			s.newest, s.by = at, by
		case at == s.newest && by != s.by:
			// Times have seconds only: the order of the two is not known.
			s.by = otherAuthor
		}
	}
	return s
}

// isOwned reports whether an entry belongs to our field manager or to an overridden one.
func isOwned(entry metav1.ManagedFieldsEntry, overridden []string) bool {
	return entry.Subresource == "" && (entry.Manager == helmv2.FieldManager || slices.Contains(overridden, entry.Manager))
}

// ownedIn returns the hash of owned fields; zero without any.
func ownedIn(entries []metav1.ManagedFieldsEntry, overridden []string) uint64 {
	h, found := fnv.New64a(), false
	for _, entry := range entries {
		if entry.Subresource == "scale" {
			word(h, entry.Manager)
		}
		if entry.FieldsV1 == nil || !isOwned(entry, overridden) {
			continue
		}
		found = true
		word(h, entry.Manager)
		word(h, string(entry.Operation))
		word(h, string(entry.FieldsV1.GetRawBytes()))
	}
	if !found {
		return 0
	}
	return h.Sum64()
}

func authorOf(entry metav1.ManagedFieldsEntry) author {
	switch {
	case entry.Subresource == "status":
		return statusAuthor
	case entry.Subresource == "" && entry.Manager == helmv2.FieldManager:
		return ownAuthor
	}
	return otherAuthor
}

func ownerOf(labels map[string]string) types.NamespacedName {
	return types.NamespacedName{Namespace: labels[helmv2.LabelNamespace], Name: labels[helmv2.LabelName]}
}

// contentOf returns a hash of the relevant metadata.
func contentOf(o metav1.Object) uint64 {
	h := fnv.New64a()
	if deleted := o.GetDeletionTimestamp(); deleted != nil {
		word(h, deleted.UTC().String())
	}
	add(h, o.GetLabels(), func(string) bool { return false })
	add(h, o.GetAnnotations(), isIgnored)
	return h.Sum64()
}

// isIgnored reports whether an annotation is written by controllers, is not part of charts, and
// changes without a change of the desired state.
func isIgnored(annotation string) bool {
	switch annotation {
	case
		// Written by the Deployment controller at every rollout.
		"deployment.kubernetes.io/revision",
		// A copy of the object that kubectl has applied. A change of the object is seen itself.
		"kubectl.kubernetes.io/last-applied-configuration",
		// The status of a HorizontalPodAutoscaler in autoscaling/v1.
		"autoscaling.alpha.kubernetes.io/conditions",
		"autoscaling.alpha.kubernetes.io/current-metrics":
		return true
	}
	return false
}

func add(h hash.Hash64, all map[string]string, without func(string) bool) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !without(key) {
			word(h, key)
			word(h, all[key])
		}
	}
	// Separates labels from annotations.
	word(h, "")
}

// word hashes a text with its length, so that it cannot continue in the next one.
func word(h hash.Hash64, s string) {
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(s)))
	_, _ = h.Write(length[:])
	_, _ = h.Write([]byte(s))
}

// change is the kind of change between two snapshots of an object.
type change int

const (
	// irrelevant is no change, or one of the status.
	irrelevant change = iota
	// own is a change by this controller.
	own
	// unowned is a change by another client of fields that are not ours. The next reconciliation
	// compares the object, but it is not triggered: operators may annotate objects all the time.
	unowned
	// relevant is any other change.
	relevant
)

// classify compares the stored state of an object with a snapshot. The UID of before is empty if
// the object was not known. received is the newest version of any object that the watch had
// received before. listed is true if the watch may have missed changes. The newest entry of
// managedFields need not be the author of all of them then.
//
// The generation of an object increases if more than its status changes. For an object without a
// generation, the author of the newest entry decides. A request adds at most one entry, with its
// time. An entry that is not newer than before does not belong to this change.
func classify(before object, now snapshot, received string, listed bool) change {
	if before.uid != now.uid {
		if before.uid == "" && now.by == ownAuthor {
			return own
		}
		return relevant
	}
	by := now.by
	if listed || now.newest <= before.newest {
		by = otherAuthor
	}
	changed := now.generation != before.generation || now.content != before.content
	if now.generation == 0 && by != statusAuthor && !notAfter(now.version, received) {
		changed = true
	}
	switch {
	case !changed:
		return irrelevant
	case by == ownAuthor:
		return own
	case before.owned != 0 && before.owned == now.owned && !now.deleting:
		return unowned
	}
	return relevant
}
