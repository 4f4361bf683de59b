// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"sync"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/pintle-dev/pintle/internal/readiness"
)

// classes are the StorageClasses that an action has read. It may be used concurrently.
type classes struct {
	mu sync.Mutex
	// late is true for classes whose volumes are bound when a Pod needs them.
	late map[string]bool
}

// bindsLate reports whether volumes of a StorageClass are bound when a Pod needs them. It is false if
// the class cannot be read.
func (c *classes) bindsLate(ctx context.Context, clients func() (*kubernetes.Clientset, error), name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if late, known := c.late[name]; known {
		return late
	}
	if c.late == nil {
		c.late = map[string]bool{}
	}
	c.late[name] = false
	api, err := clients()
	if err != nil {
		return false
	}
	class, err := api.StorageV1().StorageClasses().Get(ctx, name, metav1.GetOptions{})
	if err == nil && class.VolumeBindingMode != nil {
		c.late[name] = *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	}
	return c.late[name]
}

// withUnusedClaims returns a check for which a claim is ready that no Pod needs yet, if its volume is
// bound only then. What has Pods is checked itself.
func (w *Waiter) withUnusedClaims(check readiness.Check) readiness.Check {
	return func(object *unstructured.Unstructured) (*status.Result, error) {
		result, err := check(object)
		if class := readiness.UnusedClaim(object); class != "" && err == nil && w.Clients != nil && w.classes.bindsLate(w.ctx, w.Clients, class) {
			return readiness.Current(), nil
		}
		return result, err
	}
}
