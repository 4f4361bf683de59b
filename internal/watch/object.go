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

// objectName is the key of an object among those of its kind.
type objectName struct {
	// namespace is one of a few, which thousands of objects share.
	namespace unique.Handle[string]
	name      string
}

func nameOf(namespace, name string) objectName { return objectName{unique.Make(namespace), name} }

// object is all that is kept of one.
type object struct {
	uid types.UID
	// version is its resourceVersion at the last change that matters.
	version    string
	generation int64
	// content is a hash of what of the metadata matters.
	content uint64
	// owned is a hash of the fields that are ours, or those of a manager that is
	// overridden; zero if there are none. Whoever changes a field of ours, or takes it
	// away, takes it from us, so that what is there then is another set.
	owned uint64
	// newest is the time of the newest entry of managedFields, in seconds. Without it,
	// an entry of ours would explain all that somebody does later who leaves none, or
	// one without a time, as who scales does.
	newest int64
	// going is true if it is being deleted.
	going bool
	// owner is the release it says it belongs to. Who says so in part only belongs to none
	// that exists.
	owner unique.Handle[types.NamespacedName]
}

// sight is an object as it is seen once.
type sight struct {
	object
	// by is who has the newest entry.
	by author
}

// author is who made the last change, as far as that is certain.
type author int

const (
	somebody author = iota
	// ourselves, by an apply or a patch.
	ourselves
	// reporter has written the status only.
	reporter
)

// counts reports whether a kind whose objects have a generation counts in it what is
// done to them.
func counts(resource schema.GroupVersionResource) bool {
	// It is set to one and never touched again, whatever is written.
	return resource.GroupResource() != schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}
}

// tells reports whether entries tell who has which field of a kind. Secrets are
// written by fields that are not there afterwards, which nobody is noted to have.
func tells(resource schema.GroupVersionResource) bool {
	return resource.GroupResource() != schema.GroupResource{Resource: "secrets"}
}

// look reads what is kept of an object. Its version is the present one. Unless its
// generation counts, it is as if it had none.
func look(o metav1.Object, resource schema.GroupVersionResource, overridden []string) sight {
	s := sight{object: object{
		uid: o.GetUID(), version: o.GetResourceVersion(), content: contentOf(o), going: o.GetDeletionTimestamp() != nil, owner: unique.Make(ownerOf(o.GetLabels())),
	}}
	if counts(resource) {
		s.generation = o.GetGeneration()
	}
	if tells(resource) {
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
			// Entries tell seconds only: nobody knows which came last.
			s.by = somebody
		}
	}
	return s
}

// minds reports whether the fields of an entry are ours, or to become so.
func minds(entry metav1.ManagedFieldsEntry, overridden []string) bool {
	return entry.Subresource == "" && (entry.Manager == helmv2.FieldManager || slices.Contains(overridden, entry.Manager))
}

func ownedIn(entries []metav1.ManagedFieldsEntry, overridden []string) uint64 {
	h, some := fnv.New64a(), false
	for _, entry := range entries {
		if entry.FieldsV1 == nil || !minds(entry, overridden) {
			continue
		}
		some = true
		word(h, entry.Manager)
		word(h, string(entry.Operation))
		word(h, string(entry.FieldsV1.GetRawBytes()))
	}
	if !some {
		return 0
	}
	return h.Sum64()
}

func authorOf(entry metav1.ManagedFieldsEntry) author {
	switch {
	case entry.Subresource == "status":
		return reporter
	case entry.Subresource == "" && entry.Manager == helmv2.FieldManager:
		return ourselves
	}
	return somebody
}

func ownerOf(labels map[string]string) types.NamespacedName {
	return types.NamespacedName{Namespace: labels[helmv2.LabelNamespace], Name: labels[helmv2.LabelName]}
}

// contentOf hashes what of the metadata matters.
func contentOf(o metav1.Object) uint64 {
	h := fnv.New64a()
	if deleted := o.GetDeletionTimestamp(); deleted != nil {
		word(h, deleted.UTC().String())
	}
	add(h, o.GetLabels(), func(string) bool { return false })
	add(h, o.GetAnnotations(), incidental)
	return h.Sum64()
}

// incidental reports whether an annotation is one that controllers write and nobody
// puts into a chart. Each of them changes without anybody having changed what the
// object asks for.
func incidental(annotation string) bool {
	switch annotation {
	case
		// Written at every rollout, by whoever counts ReplicaSets.
		"deployment.kubernetes.io/revision",
		// kubectl's copy of what it has applied; what that changed shows by itself.
		"kubectl.kubernetes.io/last-applied-configuration",
		// The status of an autoscaler, to those who ask for it as autoscaling/v1.
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
	// So that a label is not taken for an annotation.
	word(h, "")
}

// word adds a word of which the end can be told.
func word(h hash.Hash64, s string) {
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(s)))
	_, _ = h.Write(length[:])
	_, _ = h.Write([]byte(s))
}

// verdict is what to make of a sight.
type verdict int

const (
	// still is nothing that matters.
	still verdict = iota
	// own is a change that we made ourselves.
	own
	// aside is a change by somebody else to what is not ours. It is worth a look, but
	// not a visit: an operator may write its notes into an object all the time.
	aside
	// foreign is any other change.
	foreign
)

// judge compares what was known of an object, nothing if its UID is empty, with how
// it is seen. heard is the newest version the watch had heard of before, of any
// object; listed says that changes may have been missed since, so that the newest
// entry does not explain them all.
//
// An object that has a generation shows by it whether more than its status has
// changed. Others do not, so who has written last has to tell. One request leaves one
// entry at most, with the time of the request; a newest entry that was there before
// explains nothing.
func judge(before object, now sight, heard string, listed bool) verdict {
	if before.uid != now.uid {
		if before.uid == "" && now.by == ourselves {
			return own
		}
		return foreign
	}
	by := now.by
	if listed || now.newest <= before.newest {
		by = somebody
	}
	changed := now.generation != before.generation || now.content != before.content
	if now.generation == 0 && by != reporter && !notAfter(now.version, heard) {
		changed = true
	}
	switch {
	case !changed:
		return still
	case by == ourselves:
		return own
	case before.owned != 0 && before.owned == now.owned && !now.going:
		return aside
	}
	return foreign
}
