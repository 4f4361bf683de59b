// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
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

// Written keeps the answer to a create, an update or a patch. The next wait uses it instead of a
// read.
func (w *Waiter) Written(info *resource.Info, answer runtime.Object) {
	live, ok := answer.(*unstructured.Unstructured)
	if !ok {
		return
	}
	w.keep(info, result{observation: readiness.ObservationOf(readiness.Write, live), live: live})
}

// Deleted keeps the answer to a delete. The next wait uses it instead of a read.
func (w *Waiter) Deleted(info *resource.Info, answer runtime.Object) {
	switch answer := answer.(type) {
	case *metav1.Status:
		w.keep(info, result{observation: readiness.ObservationOf(readiness.Delete, nil)})
	case *unstructured.Unstructured:
		o := readiness.ObservationOf(readiness.Delete, answer)
		o.Deletion = readiness.DeletionOf(info.Mapping.GroupVersionKind.Group, answer)
		w.keep(info, result{observation: o, live: answer})
	}
}

func (w *Waiter) keep(info *resource.Info, r result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.results == nil {
		w.results = map[*resource.Info]result{}
	}
	w.results[info] = r
}

// takeResult returns the answer to the last write of an object, once: it says nothing about
// later changes.
func (w *Waiter) takeResult(info *resource.Info) (result, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.results[info]
	delete(w.results, info)
	return r, ok
}
