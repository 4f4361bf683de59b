// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// downloads wakes HelmReleases when what they wait for has been downloaded, or
// cannot be.
type downloads struct {
	// wake visits a HelmRelease. It must not block.
	wake func(types.NamespacedName)

	mu sync.Mutex
	// awaited is what each waits for, so that it is woken once, however often it is
	// visited meanwhile.
	awaited map[types.NamespacedName]<-chan struct{}
}

// await wakes key once ended is closed. A nil channel is not waited for.
func (d *downloads) await(key types.NamespacedName, ended <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ended == nil || d.awaited[key] == ended {
		return
	}
	if d.awaited == nil {
		d.awaited = map[types.NamespacedName]<-chan struct{}{}
	}
	d.awaited[key] = ended
	go func() {
		<-ended
		if d.over(key, ended) {
			d.wake(key)
		}
	}()
}

// over reports whether key still waits for what has ended, and forgets that.
func (d *downloads) over(key types.NamespacedName, ended <-chan struct{}) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.awaited[key] != ended {
		return false
	}
	delete(d.awaited, key)
	return true
}

// forget lets key wait for nothing.
func (d *downloads) forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.awaited, key)
}

// hold makes sure that the chart is at hand that an action is going to need. An
// action must not wait for a download: it would keep its slot from others.
func (r *HelmReleaseReconciler) hold(ctx context.Context, hr *helmv2.HelmRelease, want inputs.Want, a release.Action) (inputs.Want, error) {
	switch a.(type) {
	case release.Install, release.Upgrade:
	case release.Test, release.Rollback, release.Uninstall, release.Unlock, release.Recheck, release.CorrectDrift,
		release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
		return want, nil
	}
	want, err := r.desired.FetchChart(ctx, hr, want)
	r.downloads.await(client.ObjectKeyFromObject(hr), inputs.DownloadEnded(err))
	return want, err
}
