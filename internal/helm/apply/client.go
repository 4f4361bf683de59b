// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/helm/kinds"
	"github.com/pintle-dev/pintle/internal/helm/revision"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// Options configure the Client of one action.
type Options struct {
	// Getter is the connection of the action.
	Getter genericclioptions.RESTClientGetter
	Log    func(format string, args ...any)
	// Target is the release. UID is the UID of its HelmRelease, and Origin the name.
	Target release.Target
	UID    string
	Origin Origin
	// Waits configures the Waiter. Its fields Clients and Log are set by New.
	Waits        wait.Options
	Reservations *Reservations
	// OwnerCandidates, if set, finds the HelmReleases of other releases.
	OwnerCandidates OwnerCandidates
	Record          Record
	// Stored is which calls of Build get stored manifests. Repeat, if set, repeats incomplete
	// discovery of their kinds.
	Stored StoredManifests
	Repeat func(ctx context.Context, do func() error) error
	// Keeps returns why an object of a kind must not be deleted or replaced; empty if it may be.
	Keeps Keeps
	// FailedSince returns the deployed revision and the revisions that failed after it; see
	// storage.FailedSince. It is needed for actions that change objects.
	FailedSince FailedSince
	// Unproven, if set, reports whether the action has read a revision that another client may have
	// written; see release.Proven.
	Unproven func() bool
	Findings Findings
	// Applied, if set, is called with each object that was applied on the server: the sent object
	// and the answer. It must not change or keep them. It is called concurrently.
	Applied func(info *resource.Info, sent, answer *unstructured.Unstructured)
}

// HookRecord records the hooks of the revision that the action works on.
type HookRecord interface {
	// Attempt returns the ID of the attempt.
	Attempt() string
	// HookRun returns a text that differs between the runs of hooks of the attempt, and is the same in
	// each process.
	HookRun() string
	// HookProgress returns how far an earlier process had come with the hook that runs, or runs
	// next, and when it started the hook.
	HookProgress() (p revision.Progress, started time.Time)
	// HookEnded stores that the hook that runs has succeeded. It is also called for hooks that have
	// failed.
	HookEnded(succeeded bool) error
}

// Record is the record of the revision that the action works on.
type Record interface {
	HookRecord
	// WaitsWhenOutdated reports whether the wait for the objects continues when the action is
	// outdated.
	WaitsWhenOutdated() bool
	// SetApplied sets the label for applied objects in later updates of the record. StoreApplied
	// stores the label at once.
	SetApplied()
	StoreApplied() error
}

// Findings receives facts about failures of the action.
type Findings interface {
	// Refused is called with each object that the API server refused.
	Refused(info *resource.Info, err error)
	// HookFailed is called when a hook has failed.
	HookFailed()
	// ReadHookLogs reads the logs of the Pods that options select.
	ReadHookLogs(ctx context.Context, namespace string, options metav1.ListOptions) error
}

// Client is Helm's client for the objects of one action.
type Client struct {
	*kube.Client
	// Waiter waits for objects, and keeps the apply results.
	Waiter *wait.Waiter
	// Preflight checks a new revision. CRDs applies the CRDs of its chart.
	Preflight *Preflight
	CRDs      *CRDs
	// HookTargets decides about live objects that hooks would replace.
	HookTargets *HookTargets
	// Leftovers deletes objects of failed revisions. Skipped are objects that the action left out.
	Leftovers *Leftovers
	Skipped   *Skipped
	// Changes are what the action changes.
	Changes *ChangeLog

	// ctx ends waits. The interfaces of Helm pass none.
	ctx        context.Context //nolint:containedctx // a Client lives as long as one action
	record     Record
	findings   Findings
	method     *Method
	builder    *builder
	builds     *builds
	lookups    *lookups
	dryRuns    *dryRuns
	ownership  *ownership
	serverSide *serverSide
	deletion   *deletion
	// replacements are the objects that are deleted before they are applied.
	replacements *replacements
}

var (
	_ kube.Interface                    = (*Client)(nil)
	_ kube.InterfaceExt                 = (*Client)(nil)
	_ kube.InterfaceThreeWayMerge       = (*Client)(nil)
	_ kube.InterfaceDeletionPropagation = (*Client)(nil)
)

// New returns the Client of one action. The caller must call Close at the end of the action.
func New(ctx context.Context, o Options) (*Client, error) {
	config, err := o.Getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	helm := kube.New(o.Getter)
	helm.Log, helm.Namespace = o.Log, o.Target.Namespace
	o.Waits.Clients, o.Waits.Log = helm.Factory.KubernetesClientSet, o.Log
	c := &Client{
		Client: helm, Waiter: wait.New(ctx, o.Waits), ctx: ctx, record: o.Record, findings: o.Findings,
		method: &Method{}, Changes: &ChangeLog{}, replacements: &replacements{},
		builder: &builder{
			getter: o.Getter, namespace: helm.Namespace, origin: o.Origin, kinds: kinds.New(ctx, o.Getter, o.Repeat), skipped: &Skipped{},
		},
	}
	c.Skipped, c.builds = c.builder.skipped, &builds{stored: o.Stored, log: c.Changes}
	if o.Unproven == nil {
		o.Unproven = func() bool { return false }
	}
	c.lookups = &lookups{ctx: ctx, builds: c.builds}
	c.dryRuns = &dryRuns{ctx: ctx, method: c.method, builds: c.builds, replacements: c.replacements}
	c.ownership = &ownership{
		ctx: ctx, log: o.Log, us: o.Target, origin: o.Origin, lookups: c.lookups, dryRuns: c.dryRuns,
		owners:       &owners{getter: o.Getter, kinds: c.builder.kinds, candidates: o.OwnerCandidates},
		reservations: o.Reservations, holder: reserver{host: config.Host, uid: o.UID, namespace: o.Origin.Namespace, target: o.Target},
	}
	c.serverSide = &serverSide{
		ctx: ctx, log: o.Log, method: c.method, ownership: c.ownership, lookups: c.lookups, dryRuns: c.dryRuns, replacements: c.replacements,
		waiter: c.Waiter, changes: c.Changes, refused: o.Findings.Refused, applied: o.Applied, unproven: o.Unproven,
	}
	c.CRDs = &CRDs{ctx: ctx, log: o.Log, helm: helm, builder: c.builder, waiter: c.Waiter, serverSide: c.serverSide}
	c.Preflight = &Preflight{
		ctx: ctx, log: o.Log, builds: c.builds, crds: c.CRDs, lookups: c.lookups, dryRuns: c.dryRuns, ownership: c.ownership,
		refused: o.Findings.Refused,
	}
	c.deletion = &deletion{
		helm: helm, log: o.Log, waiter: c.Waiter, changes: c.Changes, ownership: c.ownership, keeps: o.Keeps, remap: c.builder.remap,
		unproven: o.Unproven,
	}
	c.replacements.deletion = c.deletion
	c.HookTargets = &HookTargets{ctx: ctx, builder: c.builder, ownership: c.ownership, deletion: c.deletion}
	c.Leftovers = &Leftovers{log: o.Log, us: o.Target, failedSince: o.FailedSince, builder: c.builder, deletion: c.deletion}
	return c, nil
}

// Close ends the reservations of the action.
func (c *Client) Close() { c.ownership.reservations.release(c.ownership.holder) }

// Begin sets the method for the new revision, whose objects were built last.
func (c *Client) Begin(method Method) {
	*c.method = method
	c.builds.setRevision()
}

// Ownership returns the releases that own objects of the revision, and the adopted objects.
func (c *Client) Ownership() (conflicts []release.Target, adopted []string) {
	c.ownership.mu.Lock()
	defer c.ownership.mu.Unlock()
	return c.ownership.conflicts, c.ownership.adopted
}

// Kept returns the objects that the action has not deleted or replaced, although its revision demands
// it, each with the reason.
func (c *Client) Kept() []string { return c.deletion.keptObjects() }

// DeletionErrors returns the errors of single objects in an uninstall.
func (c *Client) DeletionErrors() error { return c.deletion.err() }

// IsReachable sends no request. Later requests fail if the API server is not reachable.
func (c *Client) IsReachable() error { return nil }

// Create applies the objects of an install, and creates the objects of hooks. If a hook exists from
// another action, that is an error: it must not be taken for the new one. A hook whose kind is gone
// has no objects.
func (c *Client) Create(list kube.ResourceList) (*kube.Result, error) {
	if len(list) == 0 {
		return &kube.Result{}, nil
	}
	if c.builds.areHooks(list) {
		return c.createHook(list)
	}
	send := c.create
	if c.method.ServerSide {
		c.Log("applying %d resource(s)", len(list))
		send = func(list kube.ResourceList) (*kube.Result, error) { return c.serverSide.applyAll(nil, list) }
	}
	result, err := send(list)
	if err != nil {
		return nil, err
	}
	c.Changes.Count(c.builds.counts(result))
	return &kube.Result{Created: list}, nil
}

// create creates objects and stores the answers.
func (c *Client) create(list kube.ResourceList) (*kube.Result, error) {
	result, err := c.Client.Create(list)
	if err == nil {
		c.keepResults(list)
	} else if len(list) == 1 {
		c.findings.Refused(list[0], err)
	}
	return result, err
}

// createHook creates the objects of a hook, unless an earlier process of the same attempt has done
// so.
func (c *Client) createHook(list kube.ResourceList) (*kube.Result, error) {
	progress, _ := c.record.HookProgress()
	if progress == revision.Finished {
		return &kube.Result{Created: list}, nil
	}
	if list = c.Skipped.skipMoved(list); len(list) == 0 {
		return &kube.Result{}, nil
	}
	if err := annotateAttempt(list, c.record.Attempt(), c.record.HookRun()); err != nil {
		return nil, err
	}
	result, err := c.create(list)
	if err == nil {
		c.HookTargets.wasCreated(list)
	}
	if !apierrors.IsAlreadyExists(err) {
		return result, err
	}
	if progress != revision.Started {
		return result, hookExists{list, err}
	}
	for _, info := range list {
		live, get := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
		if get != nil {
			return nil, get
		}
		if attemptOf(live) != c.record.Attempt() {
			return nil, hookExists{list, err}
		}
		c.Log("%s was created before the action was interrupted, and is awaited", wait.ObjectName(info))
		if err := info.Refresh(live, true); err != nil {
			return nil, err
		}
	}
	c.keepResults(list)
	return &kube.Result{Created: list}, nil
}

// hookExists is the error of a hook whose object is left from another action.
type hookExists struct {
	list kube.ResourceList
	err  error
}

// Error implements error.
func (e hookExists) Error() string {
	names := make([]string, len(e.list))
	for i, info := range e.list {
		names[i] = wait.ObjectName(info)
	}
	return fmt.Sprintf("%s already exists, from an earlier run of the hook or from another client; delete it, "+
		"or add before-hook-creation to the annotation %s of the hook", strings.Join(names, ", "), helmrelease.HookDeleteAnnotation)
}

// Unwrap returns the answer of the API server.
func (e hookExists) Unwrap() error { return e.err }

// Update changes the objects of a release from original to target.
func (c *Client) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return c.update(original, target, func(original, target kube.ResourceList) (*kube.Result, error) {
		return c.Client.Update(original, target, force)
	})
}

// UpdateThreeWayMerge is Update for an install with existing objects.
func (c *Client) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return c.update(original, target, func(original, target kube.ResourceList) (*kube.Result, error) {
		return c.Client.UpdateThreeWayMerge(original, target, force)
	})
}

// update applies the objects and deletes those that target does not contain, with the leftovers of
// failed revisions. It always returns a result, which Helm uses even if there is an error.
func (c *Client) update(original, target kube.ResourceList, clientSide func(original, target kube.ResourceList) (*kube.Result, error)) (*kube.Result, error) {
	c.compareWithFailed(target)
	leftovers := c.Leftovers.find(original, target)
	original = excluding(original, leftovers)
	var result *kube.Result
	var err error
	if c.method.ServerSide {
		result, err = c.serverSide.applyAll(original, target)
	} else {
		if c.method.Migrate {
			if err := migrateToClient(c.ctx, original, target); err != nil {
				return &kube.Result{}, err
			}
		}
		sent := target
		if c.method.Force {
			sent = c.deletion.replaceable(target)
		}
		// Helm itself would delete dropped objects that are of another release by now, and leave
		// objects whose version is no longer served.
		if result, err = c.replacements.applyParts(sent, func(part kube.ResourceList) (*kube.Result, error) {
			return clientSide(original.Intersect(part), part)
		}); err == nil {
			c.keepResults(sent)
		}
	}
	if err == nil {
		result.Deleted = append(result.Deleted, c.deletion.prune(original.Difference(target))...)
		result.Deleted = append(result.Deleted, c.Leftovers.prune(leftovers)...)
		c.Changes.Count(c.builds.counts(result))
	}
	return result, err
}

// compareWithFailed makes the counts of changes compare with the objects of a failed revision that the new
// one replaces. An error leaves the comparison with the deployed revision.
func (c *Client) compareWithFailed(target kube.ResourceList) {
	manifest, failed := c.Leftovers.live()
	if !failed {
		return
	}
	if live, err := c.Objects(manifest, c.Leftovers.us); err == nil {
		c.builds.revised = changedObjects(target, live)
	}
}

// keepResults stores the apply results of Helm's own requests, which are the objects themselves.
func (c *Client) keepResults(list kube.ResourceList) {
	for _, info := range list {
		c.Waiter.Written(info, info.Object)
	}
}

// Delete deletes objects. The cluster deletes their dependents in the background. A hook that an
// earlier process has started is not deleted before Helm has run it.
func (c *Client) Delete(list kube.ResourceList) (*kube.Result, []error) {
	if len(list) == 0 || c.keepsHook(list) {
		return &kube.Result{Deleted: list}, nil
	}
	if c.builds.areHooks(list) && isHook(list[0]) {
		return c.HookTargets.delete(list)
	}
	return c.deletion.deleteAll(list, metav1.DeletePropagationBackground)
}

// DeleteWithPropagationPolicy deletes objects in an uninstall.
func (c *Client) DeleteWithPropagationPolicy(list kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	return c.deletion.uninstall(list, policy)
}

// Wait waits until all objects are ready. A Job is ready once it has started.
func (c *Client) Wait(list kube.ResourceList, timeout time.Duration) error {
	return c.waitApplied(list, timeout, false)
}

// WaitWithJobs waits until all objects are ready and all Jobs have completed.
func (c *Client) WaitWithJobs(list kube.ResourceList, timeout time.Duration) error {
	return c.waitApplied(list, timeout, true)
}

// waitApplied waits for the objects of a revision. Helm calls it when all of them have been
// applied. If the label for that cannot be stored, the revision cannot be rechecked later.
func (c *Client) waitApplied(list kube.ResourceList, timeout time.Duration, jobs bool) error {
	c.record.SetApplied()
	return c.Waiter.UntilReady(list, timeout, wait.Readiness{Jobs: jobs, Outdated: c.record.WaitsWhenOutdated(), Late: func() {
		if err := c.record.StoreApplied(); err != nil {
			c.Log("record that the objects have been applied: %s", err)
		}
	}})
}

// keepsHook reports whether objects belong to a hook that an earlier process has started, and that
// Helm is about to run.
func (c *Client) keepsHook(list kube.ResourceList) bool {
	progress, _ := c.record.HookProgress()
	return progress != revision.NotStarted && c.builds.areHooks(list)
}

// WatchUntilReady waits for hooks: Jobs and Pods must end, other objects must exist. The timeout of
// a hook that an earlier process has started counts from that time.
func (c *Client) WatchUntilReady(list kube.ResourceList, timeout time.Duration) error {
	progress, started := c.record.HookProgress()
	var err error
	if progress != revision.Finished {
		if progress == revision.Started {
			timeout -= c.Waiter.Now().Sub(started)
		}
		err = c.Waiter.UntilDone(c.Skipped.skipMoved(list), timeout)
	}
	if err != nil {
		c.findings.HookFailed()
	}
	if unstored := c.record.HookEnded(err == nil); unstored != nil {
		return fmt.Errorf("record that the hook has succeeded: %w", unstored)
	}
	return err
}

// WaitForDelete waits until all objects are gone.
func (c *Client) WaitForDelete(list kube.ResourceList, timeout time.Duration) error {
	if c.keepsHook(list) {
		return nil
	}
	return c.Waiter.UntilDeleted(list, timeout)
}

// GetPodList reads the logs of a hook and returns no Pods. Helm requests the Pods of a hook whose
// chart wants their logs printed. Its own client has not connected by then, and would end the
// process. The logs of a failed hook were read when it failed.
func (c *Client) GetPodList(namespace string, options metav1.ListOptions) (*corev1.PodList, error) {
	if err := c.findings.ReadHookLogs(c.ctx, namespace, options); err != nil {
		c.Log("the log of a hook cannot be read: %s", err)
	}
	return &corev1.PodList{}, nil
}
