// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

const (
	// goneWithin is how long a deleted release may delay the creation of one with its name. No
	// controller may run for a while.
	goneWithin = 3 * time.Minute
	lookEvery  = 200 * time.Millisecond
)

// editor applies the state of a fleet to the cluster. Each request uses the newest wanted state, so
// that the last change wins.
type editor struct {
	env *harness.Environment

	mu    sync.Mutex
	fleet *fleet
	lanes map[object]*sync.Mutex
	errs  []error
	work  sync.WaitGroup
}

func newHands(env *harness.Environment, f *fleet) *editor {
	return &editor{env: env, fleet: f, lanes: map[object]*sync.Mutex{}}
}

// change makes a random change and returns its name. The requests for it may take longer.
func (h *editor) change(ctx context.Context) string {
	h.mu.Lock()
	name, o := h.fleet.change()
	h.mu.Unlock()
	h.begin(ctx, o)
	return name
}

// mend removes everything that keeps releases from their wanted state, and returns when all pending
// requests are done.
func (h *editor) mend(ctx context.Context) error {
	h.mu.Lock()
	mended := h.fleet.mend()
	h.mu.Unlock()
	for _, o := range mended {
		h.begin(ctx, o)
	}
	h.work.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(h.errs...)
}

// begin applies the wanted state of an object in the background.
func (h *editor) begin(ctx context.Context, o object) {
	h.work.Go(func() {
		if err := h.bring(ctx, o); err != nil && ctx.Err() == nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.errs = append(h.errs, err)
		}
	})
}

// bring applies the wanted state of an object. Changes of one object are applied one after the
// other.
func (h *editor) bring(ctx context.Context, o object) error {
	h.mu.Lock()
	lane := h.lanes[o]
	if lane == nil {
		lane = &sync.Mutex{}
		h.lanes[o] = lane
	}
	h.mu.Unlock()
	lane.Lock()
	defer lane.Unlock()

	h.mu.Lock()
	wanted := o.kind != aRelease || h.fleet.releases[o.index].exists
	h.mu.Unlock()
	if !wanted {
		return h.remove(ctx, o.index)
	}
	if o.kind == aRelease {
		if err := h.clear(ctx, o.index); err != nil {
			return err
		}
	}
	h.mu.Lock()
	content, err := h.fleet.render(o, h.env.Registry.Address)
	h.mu.Unlock()
	if err != nil {
		return err
	}
	return h.env.Apply(ctx, namespace, content)
}

// remove deletes a HelmRelease. It resumes a suspended one first, since that would keep its
// release.
func (h *editor) remove(ctx context.Context, i int) error {
	hr := helmReleaseAt(i)
	resume := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":false}}`))
	err := h.env.Client.Patch(ctx, hr, resume)
	if err == nil {
		err = h.env.Client.Delete(ctx, hr)
	}
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("delete HelmRelease %s: %w", hr.Name, err)
	}
	return nil
}

// clear waits until no HelmRelease of the name is being deleted.
func (h *editor) clear(ctx context.Context, i int) error {
	hr := helmReleaseAt(i)
	err := wait.PollUntilContextTimeout(ctx, lookEvery, goneWithin, true, func(ctx context.Context) (bool, error) {
		err := h.env.Client.Get(ctx, client.ObjectKeyFromObject(hr), hr)
		return apierrors.IsNotFound(err) || err == nil && hr.DeletionTimestamp == nil, nil
	})
	if err != nil {
		return fmt.Errorf("HelmRelease %s is not gone: %w\n%s", hr.Name, err, harness.Summary(hr))
	}
	return nil
}

func helmReleaseAt(i int) *helmv2.HelmRelease {
	return &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: releaseName(i)}}
}
