// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/rollouts"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
)

// environment contains clients and settings of all steps.
type environment struct {
	// client reads through the cache and writes, live reads past the cache.
	client  client.Client
	live    client.Reader
	events  controller.EventRecorder
	metrics *metrics.Metrics
	now     func() time.Time

	helm        helmRunner
	attempts    attempts
	connections *controller.ConnectionFinder
	memory      *controller.Table[memory]
	rollouts    *rollouts.Tracker

	backoff workqueue.TypedRateLimiter[types.NamespacedName]
	// spread returns d changed a little at random, stagger a random duration up to d.
	spread  func(d time.Duration) time.Duration
	stagger func(d time.Duration) time.Duration

	// defaults and allowDNS are settings of every job.
	defaults helmv2.Defaults
	allowDNS bool
}

// attempts runs actions in the background.
type attempts interface {
	background
	Running(key types.NamespacedName) *release.Running
	Outcome(key types.NamespacedName) (release.Outcome, bool)
	Forget(key types.NamespacedName)
}

// background starts and cancels actions and other work.
type background interface {
	Begin(ctx context.Context, key types.NamespacedName, info attempt.Info, task attempt.Task) bool
	Cancel(key types.NamespacedName, cause error)
	Aside(ctx context.Context, key types.NamespacedName, work attempt.Aside) bool
	EndAside(key types.NamespacedName)
}

// helmRunner reads and changes Helm releases.
type helmRunner interface {
	helmReader
	helmRenderer
	helmMover
	helmPlanner
	Run(ctx context.Context, getter genericclioptions.RESTClientGetter, job helm.Job) release.Outcome
}

// historyReader reads the revisions of a release: History may read them from the index,
// LiveHistory and Revision from the API server.
type historyReader interface {
	History(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error)
	LiveHistory(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error)
	Revision(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, version int, recorded helmv2.Snapshots) (*release.Revision, error)
}

// helmReader reads the records of a release, and its objects.
type helmReader interface {
	historyReader
	Health(ctx context.Context, getter genericclioptions.RESTClientGetter, q helm.ReadRequest) (release.Health, error)
	LookAtBake(ctx context.Context, getter genericclioptions.RESTClientGetter, q helm.ReadRequest, look helm.BakeLook) (release.Bake, error)
	Inventory(ctx context.Context, getter genericclioptions.RESTClientGetter, q helm.ReadRequest) ([]release.Object, error)
	PreservedDigest(ctx context.Context, getter genericclioptions.RESTClientGetter, in release.Input, values map[string]any) (string, error)
	Objects(ctx context.Context, getter genericclioptions.RESTClientGetter, q helm.ReadRequest) (list []*resource.Info, skipped []release.Object, err error)
}

// helmRenderer renders the chart of a revision again, and returns whether that is necessary.
type helmRenderer interface {
	Rerender(ctx context.Context, getter genericclioptions.RESTClientGetter, job helm.Job, version int) (release.RenderResult, error)
	Reads(ctx context.Context, getter genericclioptions.RESTClientGetter, job helm.Job) (release.RenderResult, error)
	Capabilities(getter genericclioptions.RESTClientGetter) (string, error)
}

// helmPlanner computes plans, and deletes their rendered text.
type helmPlanner interface {
	Plan(ctx context.Context, getter genericclioptions.RESTClientGetter, job helm.Job, q helm.PlanRequest) (plan.Plan, error)
	DeletePlan(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target) error
}

// helmMover checks whether a release can be installed at another target, and finds releases
// whose target is not recorded.
type helmMover interface {
	CheckTarget(ctx context.Context, getter genericclioptions.RESTClientGetter, job helm.Job, old release.Target) (release.TargetCheck, error)
	Stray(ctx context.Context, getter genericclioptions.RESTClientGetter, namespace, uid string) (*release.Target, []release.Revision, error)
}
