// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Observation is what is known of one object without asking for it.
type Observation struct {
	// Known is true if the kind is being watched and all objects of it were listed.
	// Nothing else is set otherwise.
	Known bool
	// Present is true if the object exists and has the label of a release.
	Present bool
	// UID of the object.
	UID types.UID
	// Version is its resourceVersion at the last change that matters, or when it was
	// first seen.
	Version string
	// At is the newest resourceVersion of which the watch has heard.
	At string
}

// ChangedSince reports whether an object has to be looked at again that was looked at, or
// written by ourselves, at a version. If in doubt, it has.
func (m Observation) ChangedSince(uid, version string) bool {
	switch {
	case !m.Known || uid == "" || version == "":
		return true
	case m.Present && string(m.UID) == uid:
		return !notAfter(m.Version, version)
	default:
		// It is gone, or another one has its name; unless the watch is not there yet.
		return notAfter(version, m.At) || !ordered(version, m.At)
	}
}

// Observed returns what is known of an object. The namespace is empty if the kind has
// none.
func (r *Registry) Observed(cluster string, resource schema.GroupVersionResource, namespace, name string) Observation {
	if r.options.Namespace != "" && r.options.Namespace != namespace {
		return Observation{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.kinds[kindKey{cluster, Target{Resource: resource}}]
	if k == nil || !k.known() {
		return Observation{}
	}
	o, present := k.objects[nameOf(namespace, name)]
	return Observation{Known: true, Present: present, UID: o.uid, Version: o.version, At: k.at}
}

// notAfter reports whether version a is certainly not later than b.
func notAfter(a, b string) bool {
	if a == b {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order <= 0
}

// ordered reports whether it can be said which of two versions is later.
func ordered(a, b string) bool {
	_, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil
}
