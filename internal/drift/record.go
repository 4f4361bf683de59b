// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/release"
)

// Recorder records the objects that an action applies, so that they need not be compared
// afterwards. Its zero value is ready for use. It is safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex
	objects map[objectKey]*objectState
}

// Applied records an applied object and the answer of the API server.
func (r *Recorder) Applied(info *resource.Info, sent, answer *unstructured.Unstructured) {
	k := &objectState{objectKey: keyOf(info), object: objectOf(info)}
	exact := Contains(answer.Object, sent.Object)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.objects == nil {
		r.objects = map[objectKey]*objectState{}
	}
	if exact {
		k.uid, k.version = string(answer.GetUID()), answer.GetResourceVersion()
	}
	r.objects[k.objectKey] = k
}

// Record stores the recorded objects as the objects of a revision. It reports whether all of them
// have exactly the applied content, and the record covers the inventory. CustomResourceDefinitions
// in the inventory may be missing in the record.
func (d *Detector) Record(key types.NamespacedName, revision string, r *Recorder, inventory []release.Object) (exact bool) {
	m := d.stateOf(key, revision)
	now := d.now()
	m.objects, m.unserved, m.complete = nil, nil, len(inventory) > 0
	r.mu.Lock()
	defer r.mu.Unlock()
	recorded := make(map[release.Object]bool, len(r.objects))
	exact = true
	for _, k := range r.objects {
		k.comparedAt = now
		exact = exact && k.version != ""
		recorded[k.object] = true
		m.objects = append(m.objects, k)
	}
	for _, o := range inventory {
		if !recorded[o] && !mayBeOutsideManifest(o) {
			m.complete = false
		}
	}
	return exact && m.complete
}

// mayBeOutsideManifest reports whether an object of the inventory may come from the chart's crds
// directory. These objects are not part of the manifest, so they are neither recorded nor compared
// nor watched.
func mayBeOutsideManifest(o release.Object) bool { return o.Kind == "CustomResourceDefinition" }
