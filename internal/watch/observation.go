// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Observation is the state of one object in a watch.
type Observation struct {
	// Known is true if the watch is established and all objects of the kind were listed. If not,
	// the other fields are zero.
	Known bool
	// Present is true if the object exists and has the label of a release.
	Present bool
	// UID of the object.
	UID types.UID
	// Version is its resourceVersion at the last relevant change, or when it was first listed.
	Version string
	// At is the newest resourceVersion that the watch has received.
	At string
}

// ChangedSince reports whether an object may have changed since it was read, or written by the
// controller, with a UID and version. It returns true if that is not certain.
func (o Observation) ChangedSince(uid, version string) bool {
	switch {
	case !o.Known || uid == "" || version == "":
		return true
	case o.Present && string(o.UID) == uid:
		return !notAfter(o.Version, version)
	default:
		// It was deleted or replaced, unless the watch has not received that version yet.
		return notAfter(version, o.At) || !ordered(version, o.At)
	}
}

// Observed returns the state of an object. The namespace is empty for cluster-scoped kinds. It
// sends no request.
func (r *Registry) Observed(cluster string, resource schema.GroupVersionResource, namespace, name string) Observation {
	if r.options.Namespace != "" && r.options.Namespace != namespace {
		return Observation{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.kinds[kindKey{cluster, Target{Resource: resource}}]
	if k == nil || !k.synced() {
		return Observation{}
	}
	found, present := k.objects[nameOf(namespace, name)]
	return Observation{Known: true, Present: present, UID: found.uid, Version: found.version, At: k.version}
}

// Forbidden returns the kinds of key that must not be watched, in the order of its subscription.
// settled is false while the first attempt to watch one of its kinds has no result.
func (r *Registry) Forbidden(key types.NamespacedName) (kinds []schema.GroupVersionResource, settled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.subscribers[key]
	if s == nil {
		return nil, false
	}
	settled = true
	for _, t := range s.targets {
		k := r.kinds[kindKey{s.cluster, t}]
		switch {
		case k == nil, !k.listed && !k.failing:
			settled = false
		case k.forbidden:
			kinds = append(kinds, t.Resource)
		}
	}
	return kinds, settled
}

// notAfter reports whether version a is certainly not newer than b.
func notAfter(a, b string) bool {
	if a == b {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order <= 0
}

// ordered reports whether two versions can be compared.
func ordered(a, b string) bool {
	_, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil
}
