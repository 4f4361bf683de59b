// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/readiness"
)

// result is the answer of the API server to a write.
type result struct {
	observation readiness.Observation
	// live is the object in the answer; nil if there was none.
	live *unstructured.Unstructured
}

// results holds the last answers to writes, by object.
type results struct {
	mu  sync.Mutex
	all map[*resource.Info]result
}

// Written keeps the answer to a create, an update or a patch. The next wait uses it instead of a
// read.
func (r *results) Written(info *resource.Info, answer runtime.Object) {
	live, ok := answer.(*unstructured.Unstructured)
	if !ok {
		return
	}
	r.keep(info, result{observation: readiness.ObservationOf(readiness.Write, live), live: live})
}

// Deleted keeps the answer to a delete. The next wait uses it instead of a read.
func (r *results) Deleted(info *resource.Info, answer runtime.Object) {
	switch answer := answer.(type) {
	case *metav1.Status:
		r.keep(info, result{observation: readiness.ObservationOf(readiness.Delete, nil)})
	case *unstructured.Unstructured:
		o := readiness.ObservationOf(readiness.Delete, answer)
		o.Deletion = readiness.DeletionOf(info.Mapping.GroupVersionKind.Group, answer)
		r.keep(info, result{observation: o, live: answer})
	}
}

func (r *results) keep(info *resource.Info, answer result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[*resource.Info]result{}
	}
	r.all[info] = answer
}

// take returns the answer to the last write of an object, once: it does not show later changes.
func (r *results) take(info *resource.Info) (result, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer, ok := r.all[info]
	delete(r.all, info)
	return answer, ok
}
