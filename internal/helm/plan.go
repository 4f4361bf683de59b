// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/danger"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/planning"
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/values"
)

// PlanRequest is the input of a plan besides its job.
type PlanRequest struct {
	// Action is what the plan states. The action of the job is an Uninstall for a Reinstall, and the
	// same for all others.
	Action v1alpha1.PlanAction
	// Inputs is the digest of the inputs, which is part of the digest of the plan.
	Inputs string
}

// Plan returns the changes that a job would make, and stores the rendered text in a Secret, which a
// job with the digest of the plan applies. It writes no object and no release record.
//
// An error means that there is no plan: a server did not decide, or the chart cannot be rendered.
func (r *Runner) Plan(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, q PlanRequest) (plan.Plan, error) {
	p := newPlanner(r, getter, job, q)
	err := p.compute(ctx)
	if err == nil {
		err = p.store(ctx)
	}
	if err != nil {
		return plan.Plan{}, p.redactError(err)
	}
	return plan.Build(p.facts), nil
}

// Forecast is what an action would change, and the texts that it replaces.
type Forecast struct {
	plan.Plan

	// Base and Next are the revisions before and after the action; zero if there is none.
	Base, Next RevisionText
	// Secrets are texts that must be redacted from both.
	Secrets []string
}

// RevisionText is the rendered text of a revision. Hooks is a manifest.
type RevisionText struct{ Manifest, Hooks, Notes string }

// Forecast returns the changes that a job would make, and stores nothing. Unlike Plan, it compares all
// objects with the live ones: an upgrade also reverts edits of objects that the new revision does not
// change.
func (r *Runner) Forecast(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, q PlanRequest) (Forecast, error) {
	p := newPlanner(r, getter, job, q)
	p.all = true
	if err := p.compute(ctx); err != nil {
		return Forecast{}, p.redactError(err)
	}
	return p.forecast(), nil
}

// ForecastRevision returns the changes that would make live objects equal a stored revision. All
// objects of the revision are compared with the live objects. The action of the job is an Upgrade.
func (r *Runner) ForecastRevision(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, version int) (Forecast, error) {
	p := newPlanner(r, getter, job, PlanRequest{Action: v1alpha1.PlanUpgrade})
	if err := p.restore(ctx, version); err != nil {
		return Forecast{}, p.redactError(err)
	}
	return p.forecast(), nil
}

// DeletePlan deletes the stored text of the plan of a release. A plan that does not exist is no error.
// The target is the desired one of the HelmRelease.
func (r *Runner) DeletePlan(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target) error {
	store, err := planning.Open(getter, target)
	if err != nil {
		return err
	}
	return store.Delete(ctx)
}

// planner computes one plan.
type planner struct {
	*Runner

	getter  genericclioptions.RESTClientGetter
	job     Job
	request PlanRequest
	layers  []plan.Layer
	// all is true if all objects are compared with the live ones.
	all bool
	// redact removes the secrets of the job and of the new revision, former the secrets of the base
	// revision.
	redact, former redact.Redactor
	// formerSecrets are former values of the Secrets of spec.valuesFrom.
	formerSecrets []string
	facts         plan.Facts
	content       planning.Content
	// base is the revision that is replaced, and other the revision that is uninstalled or rolled
	// back to; nil if there is none.
	base, other *helmrelease.Release
	// templates are the templates of the charts before and after the action; nil before they are
	// needed.
	templates []*helmchart.File
}

func newPlanner(r *Runner, getter genericclioptions.RESTClientGetter, job Job, q PlanRequest) *planner {
	job.plans = true
	p := &planner{Runner: r, getter: getter, job: job, request: q, redact: redact.New(job.Secrets), former: redact.New(nil)}
	if job.Layers != nil {
		p.layers = job.Layers()
	}
	return p
}

// redactError returns an error without secrets.
func (p *planner) redactError(err error) error {
	return p.former.Error(p.redact.Error(redact.OneLine(err)))
}

// compute computes the changes and the text of the plan.
func (p *planner) compute(ctx context.Context) (err error) {
	defer p.recover(ctx, &err)
	action := p.request.Action
	p.facts = plan.Facts{Inputs: p.request.Inputs, Action: action, Namespace: p.job.target().Namespace, Redact: p.text, Literal: p.literal}
	p.content = planning.Content{Action: action, Inputs: p.request.Inputs}
	var before *removal
	if action == v1alpha1.PlanRollback {
		err = p.rollBack(ctx)
	}
	if removes(action) {
		if before, err = p.remove(ctx); err != nil {
			return err
		}
	}
	if action != v1alpha1.PlanUninstall && action != v1alpha1.PlanRollback {
		err = p.create(ctx, before)
	}
	if err != nil {
		return err
	}
	p.addHooks()
	p.content.Base, p.content.Changes = p.facts.Base, p.facts.Changes.Digest()
	p.facts.Text = p.content.Text.Digest()
	return nil
}

// recover sets err to the panic of Helm, if there was one. It is deferred.
func (p *planner) recover(ctx context.Context, err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("computing the plan panicked: %v", cause)
		logr.FromContextOrDiscard(ctx).Error(p.redact.Error(*err), "Helm panicked", "stack", string(debug.Stack()))
	}
}

// addHooks adds the hooks that run, and the hooks of the base revision, to the objects in which dangers are
// looked for. Hooks that are tests do not run.
func (p *planner) addHooks() {
	if p.base != nil {
		p.facts.Before = append(p.facts.Before, hookObjects(p.base.Hooks)...)
	}
	if p.content.Text == nil {
		return
	}
	runs := func(h *helmrelease.Hook) bool {
		return slices.ContainsFunc(p.facts.Hooks, func(o v1alpha1.PlanHook) bool { return o.Kind == h.Kind && o.Name == h.Name })
	}
	for _, h := range p.content.Text.Hooks {
		if runs(h) {
			p.facts.After = append(p.facts.After, hookObjects([]*helmrelease.Hook{h})...)
		}
	}
}

// hookObjects returns the objects of hooks.
func hookObjects(hooks []*helmrelease.Hook) []danger.Object {
	var all []danger.Object
	for _, h := range hooks {
		var o unstructured.Unstructured
		if bounded.Manifest().Unmarshal([]byte(h.Manifest), &o.Object) != nil {
			continue
		}
		if !o.IsList() {
			all = append(all, danger.Object{Content: o.Object, Hook: true})
		}
		_ = o.EachListItem(func(item runtime.Object) error {
			if one, is := item.(*unstructured.Unstructured); is {
				all = append(all, danger.Object{Content: one.Object, Hook: true})
			}
			return nil
		})
	}
	return all
}

// store stores the rendered text.
func (p *planner) store(ctx context.Context) error {
	store, err := planning.Open(p.getter, p.job.planTarget())
	if err != nil {
		return err
	}
	return store.Write(ctx, p.job.Desired.UID, &p.content)
}

// restore computes the changes that would make live objects equal a stored revision.
func (p *planner) restore(ctx context.Context, version int) (err error) {
	defer p.recover(ctx, &err)
	p.facts = plan.Facts{Action: v1alpha1.PlanUpgrade, Namespace: p.job.target().Namespace, Redact: p.text, Literal: p.literal}
	run, err := p.prepare(ctx, p.getter, p.job, p.redact)
	if err != nil {
		return err
	}
	defer run.client.Close()
	c := creationOf(ctx, run)
	c.all, c.hooks, c.crds = true, false, helmv2.CRDsSkip
	if err := c.readBase(nil); err != nil {
		return err
	}
	stored, err := run.store.Revision(version)
	if err != nil {
		return fmt.Errorf("revision %d of release %s: %w", version, p.job.Desired.Target.Name, err)
	}
	p.addFormer(stored)
	p.replaces(c.base)
	run.findings.addRevisions(stored)
	p.redact.SetRevision(stored)
	p.content.Text = &planning.Text{Manifest: stored.Manifest, Hooks: stored.Hooks}
	if stored.Info != nil {
		p.content.Text.Notes = stored.Info.Notes
	}
	found, err := c.forecast(ctx, p.content.Text, nil, p.text)
	if err != nil {
		return err
	}
	p.facts.Changes = *found
	p.facts.From, p.facts.To = revisionOf(c.base), revisionOf(stored)
	return nil
}

// forecast returns the computed changes and texts.
func (p *planner) forecast() Forecast {
	f := Forecast{Plan: plan.Build(p.facts), Secrets: slices.Concat(p.job.Secrets, p.formerSecrets)}
	if b := p.base; b != nil {
		f.Base = RevisionText{Manifest: b.Manifest, Hooks: hookManifest(b.Hooks)}
		if b.Info != nil {
			f.Base.Notes = b.Info.Notes
		}
		f.Secrets = append(f.Secrets, redact.LongSecrets(b)...)
	}
	if t := p.content.Text; t != nil {
		f.Next = RevisionText{Manifest: t.Manifest, Hooks: hookManifest(t.Hooks), Notes: t.Notes}
		f.Secrets = append(f.Secrets, redact.LongSecrets(&helmrelease.Release{Manifest: t.Manifest, Hooks: t.Hooks})...)
	}
	return f
}

// hookManifest returns hooks as a manifest.
func hookManifest(hooks []*helmrelease.Hook) string {
	var b strings.Builder
	for _, h := range hooks {
		b.WriteString("---\n" + strings.TrimSpace(h.Manifest) + "\n")
	}
	return b.String()
}

// text returns a text without secrets.
func (p *planner) text(s string) string { return p.former.Text(p.redact.Text(s)) }

// literal reports whether a name stands in the templates of the chart, before or after the action.
// The records of revisions do not have the templates of subcharts.
func (p *planner) literal(name string) bool {
	if p.templates == nil {
		p.templates = p.allTemplates()
	}
	return name != "" && slices.ContainsFunc(p.templates, func(f *helmchart.File) bool { return hasName(f.Data, name) })
}

// hasName reports whether a text contains a name that is no part of a longer one.
func hasName(text []byte, name string) bool {
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(name))
		if i < 0 {
			return false
		}
		start := from + i
		end := start + len(name)
		if (start == 0 || !inName(text[start-1])) && (end == len(text) || !inName(text[end])) {
			return true
		}
		from = start + 1
	}
}

// inName reports whether names of objects contain a character.
func inName(c byte) bool {
	return c == '-' || c == '.' || c == ':' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// allTemplates returns the templates of the charts before and after the action.
func (p *planner) allTemplates() []*helmchart.File {
	all := []*helmchart.File{}
	var next helmchart.Chart
	if t := p.content.Text; t != nil && json.Unmarshal(t.Chart, &next) == nil {
		all = append(all, next.Templates...)
	}
	for _, rls := range []*helmrelease.Release{p.base, p.other} {
		if rls != nil && rls.Chart != nil {
			all = append(all, rls.Chart.Templates...)
		}
	}
	return all
}

// remove computes the changes of the uninstall.
func (p *planner) remove(ctx context.Context) (*removal, error) {
	run, err := p.prepare(ctx, p.getter, p.job, p.redact)
	if err != nil {
		return nil, err
	}
	defer run.client.Close()
	before, err := removalOf(run)
	if err != nil || before.release == nil {
		return before, err
	}
	p.former.SetRevision(before.release)
	p.other = before.release
	p.facts.Changes = *before.changes
	p.facts.From, p.facts.Base = revisionOf(before.release), before.release.Version
	if !p.job.Spec.GetUninstall().DisableHooks {
		p.facts.Hooks = hooksFor(before.release.Hooks, helmrelease.HookPreDelete, helmrelease.HookPostDelete)
	}
	return before, nil
}

// rollBack computes the changes of the rollback.
func (p *planner) rollBack(ctx context.Context) error {
	a, _ := p.job.Action.(release.Rollback)
	run, err := p.prepare(ctx, p.getter, p.job, p.redact)
	if err != nil {
		return err
	}
	defer run.client.Close()
	found, err := backOf(run, a)
	if err != nil {
		return err
	}
	p.addFormer(found.target)
	p.replaces(found.newest)
	p.other = found.target
	p.redact.SetRevision(found.target)
	changes, err := found.changes(run, p.text)
	if err != nil {
		return err
	}
	p.facts.Changes = *changes
	p.content.Text = found.text
	p.facts.From, p.facts.To, p.facts.Base = revisionOf(found.newest), revisionOf(found.target), found.newest.Version
	if !run.job.Spec.GetRollback().DisableHooks {
		p.facts.Hooks = hooksFor(found.text.Hooks, helmrelease.HookPreRollback, helmrelease.HookPostRollback)
	}
	return nil
}

// create renders the chart and computes the changes of the install or upgrade.
func (p *planner) create(ctx context.Context, before *removal) error {
	run, err := p.prepare(ctx, p.getter, p.job.creating(), p.redact)
	if err != nil {
		return err
	}
	defer run.client.Close()
	c := creationOf(ctx, run)
	c.all = p.all
	if err := c.readBase(before); err != nil {
		return err
	}
	p.content.Text, err = c.renderPlan(ctx)
	if err != nil {
		return err
	}
	p.replaces(cmp.Or(c.base, before.of()))
	found, err := c.forecast(ctx, p.content.Text, before, p.text)
	if err != nil {
		return err
	}
	p.facts.Changes = *found
	if before == nil {
		p.facts.From, p.facts.Base = revisionOf(c.base), c.gate.Newest
	}
	text := p.content.Text
	p.facts.To = &v1alpha1.PlanRevision{
		Chart: run.job.Desired.Chart.Name + "@" + run.job.Desired.Chart.Version, AppVersion: text.Metadata.AppVersion, Source: run.job.Desired.SourceRevision,
	}
	if c.hooks {
		p.facts.Hooks = append(p.facts.Hooks, hooksFor(text.Hooks, c.event, c.after())...)
	}
	p.facts.Warnings = append(p.facts.Warnings, p.unread(ctx, c)...)
	p.facts.Values, err = changedValues(p.base, text, p.layers)
	return err
}

// replaces sets the revision that is replaced, so that texts are redacted of its secrets.
func (p *planner) replaces(base *helmrelease.Release) {
	if p.base = base; base != nil {
		p.addFormer(base)
		p.former.SetRevision(base)
	}
}

// addFormer adds to the redactor the values that a revision has where the layers set values of
// Secrets.
func (p *planner) addFormer(rls *helmrelease.Release) {
	p.formerSecrets = append(p.formerSecrets, plan.Former(rls.Config, p.layers)...)
	p.former = redact.New(p.formerSecrets)
}

// removes reports whether an action uninstalls a release.
func removes(a v1alpha1.PlanAction) bool {
	return a == v1alpha1.PlanUninstall || a == v1alpha1.PlanReinstall
}

// after returns the event of the hooks after the objects.
func (c *creation) after() helmrelease.HookEvent {
	if c.installs {
		return helmrelease.HookPostInstall
	}
	return helmrelease.HookPostUpgrade
}

// renderPlan renders the chart as the action would, as if its CRDs were served.
func (c *creation) renderPlan(ctx context.Context) (*planning.Text, error) {
	for _, step := range []func(context.Context) error{c.loadChart, c.preserveValues, c.readCRDs} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if c.crds != helmv2.CRDsSkip {
		c.apis = servedBy(c.files.Files)
	}
	if err := c.discoverCapabilities(ctx); err != nil {
		return nil, err
	}
	if err := c.render(ctx); err != nil {
		return nil, err
	}
	rls := c.addNext()
	size, err := c.store.Precheck(rls, apply.MethodName(apply.NextMethod(c.store, c.mode, 0, c.gate.Newest, c.force).ServerSide))
	if err != nil {
		return nil, err
	}
	if err := c.checkSize(size); err != nil {
		return nil, err
	}
	return planning.TextOf(c.rendered, c.chart.Values, c.files.Files), nil
}

// hooksFor returns the hooks that run for some events.
func hooksFor(hooks []*helmrelease.Hook, events ...helmrelease.HookEvent) []v1alpha1.PlanHook {
	var all []v1alpha1.PlanHook
	for _, h := range hooks {
		var of []string
		for _, e := range h.Events {
			if slices.Contains(events, e) {
				of = append(of, e.String())
			}
		}
		if len(of) > 0 {
			all = append(all, v1alpha1.PlanHook{APIVersion: apiVersionOf(h), Kind: h.Kind, Name: h.Name, Events: of})
		}
	}
	return all
}

// apiVersionOf returns the API version of a hook; empty if its manifest cannot be parsed.
func apiVersionOf(h *helmrelease.Hook) string {
	var o metav1.TypeMeta
	if bounded.Manifest().Unmarshal([]byte(h.Manifest), &o) != nil {
		return ""
	}
	return o.APIVersion
}

// revisionOf returns the description of a stored revision; nil if there is none.
func revisionOf(rls *helmrelease.Release) *v1alpha1.PlanRevision {
	if rls == nil {
		return nil
	}
	p := &v1alpha1.PlanRevision{Revision: int64(rls.Version)}
	if rls.Chart != nil && rls.Chart.Metadata != nil {
		p.Chart, p.AppVersion = rls.Chart.Metadata.Name+"@"+rls.Chart.Metadata.Version, rls.Chart.Metadata.AppVersion
	}
	return p
}

// addNext adds the new revision to the findings, so that texts are redacted of its Secrets, and returns
// it.
func (c *creation) addNext() *helmrelease.Release {
	rls := c.revision(c.chart, c.rendered)
	rls.Version = c.gate.Newest + 1
	c.findings.addRevisions(rls)
	return rls
}

// changedValues returns the keys of values, defaults of the chart included, that differ between a
// revision and a rendered chart.
func changedValues(base *helmrelease.Release, text *planning.Text, layers []plan.Layer) ([]v1alpha1.PlanValue, error) {
	var stored struct {
		Values map[string]any `json:"values"`
	}
	if err := json.Unmarshal(text.Chart, &stored); err != nil {
		return nil, fmt.Errorf("values of the chart: %w", err)
	}
	is, err := chartutil.CoalesceValues(&helmchart.Chart{Metadata: text.Metadata, Values: stored.Values}, values.CloneMap(text.Values))
	if err != nil {
		return nil, fmt.Errorf("values of the chart: %w", err)
	}
	was := chartutil.Values{}
	if base != nil && base.Chart != nil {
		if was, err = chartutil.CoalesceValues(base.Chart, values.CloneMap(base.Config)); err != nil {
			return nil, fmt.Errorf("values of revision %d: %w", base.Version, err)
		}
	}
	return plan.Values(was, is, append([]plan.Layer{{Name: plan.LayerChart, Values: stored.Values}}, layers...)), nil
}
