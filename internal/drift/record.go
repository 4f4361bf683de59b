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

// Recorder takes note of what an action applies, so that it need not be looked at
// afterwards. Its zero value is ready for use, also concurrently.
type Recorder struct {
	mu      sync.Mutex
	objects map[place]*known
}

// Applied takes note of an object: what was sent, and what the API server answered.
func (r *Recorder) Applied(info *resource.Info, sent, answer *unstructured.Unstructured) {
	k := &known{place: placeOf(info), object: objectOf(info)}
	exact := Contains(answer.Object, sent.Object)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.objects == nil {
		r.objects = map[place]*known{}
	}
	if exact {
		k.uid, k.version = string(answer.GetUID()), answer.GetResourceVersion()
	}
	r.objects[k.place] = k
}

// Record makes what a recorder took note of the objects of a revision, and reports
// whether all of them are exactly what was sent. Inventory lists those that there
// should be, CustomResourceDefinitions left aside: they come from elsewhere too.
func (d *Detector) Record(key types.NamespacedName, revision string, r *Recorder, inventory []release.Object) (exact bool) {
	m := d.memoryOf(key, revision)
	now := d.now()
	m.objects, m.complete = nil, len(inventory) > 0
	r.mu.Lock()
	defer r.mu.Unlock()
	recorded := make(map[release.Object]bool, len(r.objects))
	exact = true
	for _, k := range r.objects {
		k.looked = now
		exact = exact && k.version != ""
		recorded[k.object] = true
		m.objects = append(m.objects, k)
	}
	for _, o := range inventory {
		if !recorded[o] && o.Kind != "CustomResourceDefinition" {
			m.complete = false
		}
	}
	return exact && m.complete
}
