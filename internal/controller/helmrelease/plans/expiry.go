// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// keep is how long a plan stays after it was applied, and expiryInterval how often they are
	// checked.
	keep           = time.Hour
	expiryInterval = 5 * time.Minute
)

// Expiry deletes plans some time after they were applied. The manager runs it.
type Expiry struct{ *Planner }

// Start implements manager.Runnable.
func (e Expiry) Start(ctx context.Context) error {
	ticker := time.NewTicker(expiryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := e.expire(ctx); err != nil {
				ctrl.LoggerFrom(ctx).Info("plans that were applied are not deleted", "cause", err.Error())
			}
		}
	}
}

// expire deletes the plans that have expired.
func (e Expiry) expire(ctx context.Context) error {
	for _, plan := range e.Known.Objects() {
		if plan.Status.AppliedAt == nil || e.Now().Sub(plan.Status.AppliedAt.Time) < keep {
			continue
		}
		old := client.Preconditions{UID: &plan.UID, ResourceVersion: &plan.ResourceVersion}
		if err := e.Client.Delete(ctx, plan, old); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
