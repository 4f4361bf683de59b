// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmstorage "helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/planning"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render/remote"
)

// errOtherAction is the error of a job with the plan of another action.
func errOtherAction() error {
	return fmt.Errorf("%w: the plan is about another action", release.ErrPlanVoid)
}

// readPlan reads the approved plan of the job, whose text is applied in place of the rendered chart.
func (c *creation) readPlan(ctx context.Context) error {
	content, err := approvedPlan(ctx, c.run)
	if err != nil {
		return err
	}
	actions := []v1alpha1.PlanAction{v1alpha1.PlanUpgrade}
	if c.installs {
		actions = []v1alpha1.PlanAction{v1alpha1.PlanInstall, v1alpha1.PlanReinstall}
	}
	if content.Text == nil || !slices.Contains(actions, content.Action) {
		return errOtherAction()
	}
	c.approved, c.rendered = content, content.Text.Rendered()
	c.chart = remote.Chart{Name: c.job.Desired.Chart.Name, Version: c.job.Desired.Chart.Version, Values: content.Text.Values}
	c.files = remote.CRDs{Files: content.Text.Files()}
	return nil
}

// approvedPlan returns the approved plan of a job.
func approvedPlan(ctx context.Context, r *run) (*planning.Content, error) {
	store, err := planning.Open(r.getter, r.job.planTarget())
	if err != nil {
		return nil, err
	}
	return store.Read(ctx, release.PlanOf(r.job.Action).Digest)
}

// checkPlan returns release.ErrPlanVoid if the action would change anything else than the approved
// plan states. After the uninstall of a reinstall, only the text counts: the objects are gone.
func (c *creation) checkPlan(ctx context.Context) error {
	if c.approved.Action == v1alpha1.PlanReinstall {
		return nil
	}
	if err := c.readBase(nil); err != nil {
		return err
	}
	c.addNext()
	found, err := c.forecast(ctx, c.approved.Text, nil, nil)
	if err != nil {
		return err
	}
	if err := comparePlan(c.approved, release.PlanOf(c.job.Action).Digest, c.gate.Newest, found); err != nil {
		return err
	}
	return c.replace(found)
}

// replace makes the action delete the objects that the approval of its plan names before it applies
// them. The digest of the plan covers their UIDs.
func (c *creation) replace(found *plan.Changes) error {
	var list []release.Replaced
	for _, name := range release.PlanOf(c.job.Action).ReplacedNames() {
		i := slices.IndexFunc(found.Objects, func(o v1alpha1.PlanChange) bool {
			return o.Replacement != nil && o.Replacement.Refused == "" && release.ReplacedName(o) == name
		})
		if i < 0 {
			return fmt.Errorf("%w: it cannot replace %s", release.ErrPlanVoid, name)
		}
		o := found.Objects[i]
		kind := apischema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
		list = append(list, release.Replaced{Group: kind.Group, Kind: kind.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.Replacement.UID})
	}
	c.client.Replace(list, c.timeout)
	c.store.Replace(list)
	return nil
}

// comparePlan returns release.ErrPlanVoid if the changes or the base revision differ from the plan
// with a digest.
func comparePlan(p *planning.Content, digest string, base int, found *plan.Changes) error {
	if plan.Digest(p.Inputs, base, p.Text.Digest(), found.Digest()) != digest {
		return release.ErrPlanVoid
	}
	return nil
}

// checkRemoval is checkPlan for an uninstall. An uninstall that has started continues, and an
// uninstall that has finished has nothing to change.
func checkRemoval(ctx context.Context, r *run) error {
	digest := release.PlanOf(r.job.Action).Digest
	if digest == "" {
		return nil
	}
	before, err := removalOf(r)
	if err != nil || before.release == nil {
		return err
	}
	started, err := r.store.AttemptOn(before.release.Version)
	if err != nil || started != nil && started.Action == helmv2.ActionUninstall && started.Plan == digest {
		return err
	}
	content, err := approvedPlan(ctx, r)
	if err != nil {
		return err
	}
	found := before.changes
	switch content.Action {
	case v1alpha1.PlanUninstall:
	case v1alpha1.PlanReinstall:
		if found, err = reinstallChanges(ctx, r, content.Text, before); err != nil {
			return err
		}
	case v1alpha1.PlanInstall, v1alpha1.PlanUpgrade, v1alpha1.PlanRollback:
		return errOtherAction()
	}
	return comparePlan(content, digest, before.release.Version, found)
}

// reinstallChanges returns the changes of the uninstall of a job and of the install that follows.
func reinstallChanges(ctx context.Context, r *run, text *planning.Text, before *removal) (*plan.Changes, error) {
	next, err := r.runner.prepare(ctx, r.getter, r.job.creating(), r.redact)
	if err != nil {
		return nil, err
	}
	defer next.client.Close()
	c := creationOf(ctx, next)
	if err := c.readBase(before); err != nil {
		return nil, err
	}
	return c.forecast(ctx, text, before, nil)
}

// back is the rollback of a release, as far as it is known before.
type back struct {
	// newest is the newest revision, and target the revision that is rolled back to.
	newest, target *helmrelease.Release
	text           *planning.Text
}

// backOf reads the revisions of the rollback of a job. Like removalOf, it reads past the gate.
func backOf(r *run, a release.Rollback) (*back, error) {
	if err := r.store.ListLive(); err != nil {
		return nil, err
	}
	releases := helmstorage.Init(r.store)
	if err := checkRollback(releases, r.job.Desired.Target, a.Version); err != nil {
		return nil, err
	}
	found := &back{}
	var err error
	if found.newest, err = releases.Last(r.job.Desired.Target.Name); err != nil {
		return nil, err
	}
	if found.target, err = r.store.Revision(a.Version); err != nil {
		return nil, fmt.Errorf("revision %d of release %s: %w", a.Version, r.job.Desired.Target.Name, err)
	}
	r.findings.addRevisions(found.newest, found.target)
	found.text = &planning.Text{Manifest: found.target.Manifest, Hooks: found.target.Hooks}
	return found, nil
}

// changes returns what the rollback would change.
func (b *back) changes(r *run, redact func(string) string) (*plan.Changes, error) {
	spec := r.job.Spec.GetRollback()
	f := &apply.Forecast{
		Client: r.client, Method: apply.NextMethod(r.store, spec.GetServerSideApply(), b.target.Version, b.newest.Version, spec.Force),
		TakeOwnership: true, Redact: redact,
	}
	r.client.Leftovers.BeforeRevision(b.newest.Version + 1)
	creation := apply.Creation{
		Base: b.newest.Manifest, Next: b.text.Manifest, Policy: helmv2.CRDsSkip,
		Event: helmrelease.HookPreRollback, After: helmrelease.HookPostRollback,
	}
	if !spec.DisableHooks {
		creation.Hooks = b.text.Hooks
	}
	return f.Create(creation)
}

// checkRollbackPlan is checkPlan for a rollback.
func checkRollbackPlan(ctx context.Context, r *run, a release.Rollback) error {
	content, err := approvedPlan(ctx, r)
	if err != nil {
		return err
	}
	if content.Action != v1alpha1.PlanRollback {
		return errOtherAction()
	}
	before, err := backOf(r, a)
	if err != nil {
		return err
	}
	found, err := before.changes(r, nil)
	if err != nil {
		return err
	}
	content.Text = before.text
	return comparePlan(content, a.Plan.Digest, before.newest.Version, found)
}

// planTarget returns the target whose Secret has the plan. It is the same for all actions of a plan.
func (j *Job) planTarget() release.Target { return cmp.Or(j.Desired.Target, j.target()) }

// creating returns the job with the install that follows its uninstall, or the job itself.
func (j Job) creating() Job {
	if _, uninstalls := j.Action.(release.Uninstall); uninstalls {
		j.Action = release.Install{Timeout: j.Desired.Policy.Install.Timeout}
	}
	return j
}

// creationOf returns the install or upgrade of a job, before its first step.
func creationOf(ctx context.Context, r *run) *creation {
	if a, upgrades := r.job.Action.(release.Upgrade); upgrades {
		return &creation{run: r, settings: r.upgrade(a)}
	}
	a, _ := r.job.Action.(release.Install)
	return &creation{run: r, settings: r.install(ctx, a)}
}

// readBase reads the history as Helm does, and sets the revision that Helm compares with. After an
// uninstall there is none.
func (c *creation) readBase(before *removal) error {
	if err := c.store.ListLive(); err != nil {
		return err
	}
	if before != nil {
		return nil
	}
	_, err := c.config.Releases.Last(c.job.Desired.Target.Name)
	if err == nil && !c.installs {
		c.base, err = preservedRevision(c.config.Releases, c.job.Desired.Target.Name)
	}
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil
	}
	return err
}

// forecast returns what the install or upgrade would change.
func (c *creation) forecast(ctx context.Context, text *planning.Text, before *removal, redact func(string) string) (*plan.Changes, error) {
	namespace, err := c.newNamespace(ctx)
	if err != nil {
		return nil, err
	}
	crdsServerSide, err := c.crdsServerSide(text)
	if err != nil {
		return nil, err
	}
	f := &apply.Forecast{
		Client: c.client, Method: apply.NextMethod(c.store, c.mode, 0, c.gate.Newest, c.force), Strict: c.validate, TakeOwnership: c.takeOwnership,
		// The first attempt is refused, which those want to know who compare.
		NewNamespace: namespace, RefuseDenials: c.all || c.job.Desired.RefusesDenials(), Recreates: !c.installs, Redact: redact,
	}
	creation := apply.Creation{
		Next: text.Manifest, CRDs: text.Files(), Policy: c.crds, CRDsServerSide: crdsServerSide, Event: c.event, After: c.after(),
		CheckAll: c.gate.Newest > 0 && !c.gate.Worked || c.store.Unproven(), All: c.all,
	}
	if c.hooks {
		creation.Hooks = text.Hooks
	}
	if c.base != nil {
		creation.Base = c.base.Manifest
	}
	if before != nil && before.release != nil {
		f.After(before.target, before.deleted)
		creation.Uninstalled = before.changes
	}
	c.client.Leftovers.BeforeRevision(c.gate.Newest + 1)
	return f.Create(creation)
}

// crdsServerSide reports whether CRDs that exist are applied on the server.
func (c *creation) crdsServerSide(text *planning.Text) (bool, error) {
	if c.crds != helmv2.CRDsCreateReplace || len(text.CRDs) == 0 || c.gate.Newest == 0 && c.mode == helmv2.ServerSideApplyAuto {
		return false, nil
	}
	return c.appliesServerSide()
}

// newNamespace returns the namespace that the install would create; empty if it would create none, or
// the identity may not read it.
func (c *creation) newNamespace(ctx context.Context) (string, error) {
	if c.enter == nil {
		return "", nil
	}
	clients, err := c.client.Factory.KubernetesClientSet()
	if err != nil {
		return "", err
	}
	name := c.job.Desired.Target.Namespace
	_, err = clients.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return name, nil
	case err != nil && !apierrors.IsForbidden(err):
		return "", fmt.Errorf("read namespace %s: %w", name, err)
	}
	return "", nil
}

// removal is the uninstall of a release, as far as it is known before.
type removal struct {
	target release.Target
	// release is the newest revision; nil if there is none.
	release *helmrelease.Release
	changes *plan.Changes
	deleted kube.ResourceList
}

// of returns the newest revision of the release that is uninstalled; nil if there is none.
func (r *removal) of() *helmrelease.Release {
	if r == nil {
		return nil
	}
	return r.release
}

// removalOf returns what the uninstall of a job would change. It reads past the gate, which would
// start or resume the attempt.
func removalOf(r *run) (*removal, error) {
	found := &removal{target: r.job.target(), changes: &plan.Changes{}}
	if err := r.store.ListLive(); err != nil {
		return nil, err
	}
	last, err := helmstorage.Init(r.store).Last(found.target.Name)
	if errors.Is(err, driver.ErrReleaseNotFound) || err == nil && last.Info.Status == helmrelease.StatusUninstalled {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	found.release = last
	hooks := last.Hooks
	if r.job.Spec.GetUninstall().DisableHooks {
		hooks = nil
	}
	found.changes, found.deleted, err = (&apply.Forecast{Client: r.client}).Uninstall(last.Manifest, hooks)
	return found, err
}
