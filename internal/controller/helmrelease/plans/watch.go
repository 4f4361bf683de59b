// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/controller/optional"
)

// Watched are the plans in the cluster.
type Watched = optional.Kind[*v1alpha1.ReleasePlan]

// Watch returns the plans in a namespace; empty is all. The manager runs it. Changes of a
// spec enqueue the HelmRelease of the plan.
func Watch(mgr ctrl.Manager, namespace string, enqueue func(types.NamespacedName), now func() time.Time) (*Watched, error) {
	seen := &generations{of: map[types.NamespacedName]int64{}}
	var kind *Watched
	var err error
	kind, err = optional.New(mgr.GetConfig(), mgr.GetHTTPClient(), optional.Options[*v1alpha1.ReleasePlan]{
		Resource: v1alpha1.GroupVersion.WithResource("releaseplans"), Namespace: namespace,
		New: func() *v1alpha1.ReleasePlan { return &v1alpha1.ReleasePlan{} },
		Changed: func(key types.NamespacedName) {
			if key.Name == "" {
				return
			}
			generation := int64(0)
			if plan, found := kind.Object(key); found {
				generation = plan.Generation
			}
			if seen.changed(key, generation) {
				enqueue(key)
			}
		},
		Log: mgr.GetLogger().WithName("plans"), Now: now,
	})
	return kind, err
}

// generations has the generations of plans. A write of the status, which the controller makes itself,
// does not change them.
type generations struct {
	mu sync.Mutex
	of map[types.NamespacedName]int64
}

// changed records the generation of a plan, 0 for a deleted plan, and reports whether it is new.
func (g *generations) changed(key types.NamespacedName, generation int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if was, known := g.of[key]; known && was == generation {
		return false
	}
	if g.of[key] = generation; generation == 0 {
		delete(g.of, key)
	}
	return true
}
