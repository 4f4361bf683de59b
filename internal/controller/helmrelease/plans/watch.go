// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/controller/optional"
)

// Watched are the plans in the cluster.
type Watched = optional.Kind[*v1alpha1.ReleasePlan]

// Watch returns the plans in a namespace; empty is all. The manager runs it. Changes enqueue the
// HelmReleases of the plans.
func Watch(mgr ctrl.Manager, namespace string, enqueue func(types.NamespacedName), now func() time.Time) (*Watched, error) {
	return optional.New(mgr.GetConfig(), mgr.GetHTTPClient(), optional.Options[*v1alpha1.ReleasePlan]{
		Resource: v1alpha1.GroupVersion.WithResource("releaseplans"), Namespace: namespace,
		New: func() *v1alpha1.ReleasePlan { return &v1alpha1.ReleasePlan{} },
		Changed: func(key types.NamespacedName) {
			if key.Name != "" {
				enqueue(key)
			}
		},
		Log: mgr.GetLogger().WithName("plans"), Now: now,
	})
}
