// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

// observer reads the state that decisions about Operations depend on.
type observer struct {
	// client reads through the cache, live past it, both as the controller.
	client, live client.Reader
	hooks        hookReader
	values       valueReader
	identities   identities
	locks        *controller.Locks
	// policies returns what policies demand of a HelmRelease.
	policies func(ctx context.Context, hr *helmv2.HelmRelease) policy.Demands
	// watches enqueues Operations whose Jobs elsewhere change.
	watches                 watcher
	timeout, cleanupTimeout time.Duration
	clusterID               string
	now                     func() time.Time
	// locked and resumed are the last writes of locks and of Jobs. A Job that is suspended
	// in a stale cache would count as one that has not run.
	locked, resumed *writes
	// undeleted are the errors of failed deletions elsewhere, by the UIDs of Operations.
	undeleted *failures
}

// hookReader reads hooks from Helm's storage.
type hookReader interface {
	Hooks(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, version int, recorded helmv2.Snapshots) (helm.Stored, error)
	// NextHooks reads the hooks of the plan with a digest.
	NextHooks(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, digest string) (helm.Stored, error)
}

// valueReader reads which values of a HelmRelease are secret.
type valueReader interface {
	Secrets(ctx context.Context, hr *helmv2.HelmRelease) ([]string, error)
}

// identities returns the identity of a HelmRelease, or the controller's own for nil.
type identities interface {
	of(ctx context.Context, hr *helmv2.HelmRelease) (*identity, error)
	// missing reports whether the identity of a HelmRelease does not exist in its namespace.
	missing(ctx context.Context, hr *helmv2.HelmRelease) (bool, error)
}

// identity returns a function that makes the acting identity: the identity of the recorded
// placement, or else of the target, or of a HelmRelease that is held if the target is gone, or the
// controller's own if there is none. The controller itself only stops and deletes objects that the
// Operation owns, as the garbage collector would. It owns none elsewhere.
func (o *observer) identity(rec reconciliation) func(context.Context) (*identity, error) {
	hr := rec.hr
	if rec.op.Status.Placement != nil {
		hr = actingRelease(rec)
	}
	if hr == nil && len(rec.held) > 0 {
		hr = rec.held[0]
	}
	var made *identity
	return func(ctx context.Context) (_ *identity, err error) {
		if made == nil {
			made, err = o.identities.of(ctx, hr)
		}
		return made, err
	}
}

// readRecord reads the record of the release with the impersonated identity.
func (o *observer) readRecord(ctx context.Context, rec reconciliation, revision int) (helm.Stored, error) {
	as, err := rec.identity(ctx)
	if err != nil {
		return helm.Stored{}, err
	}
	return o.hooks.Hooks(ctx, as.getter, release.StoredTarget(release.Desired{Target: desiredTarget(rec.hr)}, rec.hr.Status), revision, rec.hr.Status.History)
}

// desiredTarget returns the release that a HelmRelease requests.
func desiredTarget(hr *helmv2.HelmRelease) release.Target {
	return release.Target{Name: inputs.ReleaseName(hr), Namespace: hr.GetReleaseNamespace(), StorageNamespace: hr.GetStorageNamespace()}
}
