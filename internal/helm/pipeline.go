// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/planning"
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render"
	"github.com/pintle-dev/pintle/internal/render/remote"
)

// settings are the differences between an install and an upgrade.
type settings struct {
	installs bool
	timeout  time.Duration
	// mode and force define how objects are applied.
	mode  helmv2.ServerSideApplyMode
	force bool
	crds  helmv2.CRDsPolicy
	// takeOwnership adopts objects without an owner.
	takeOwnership bool
	// validate sends dry runs of all objects before the revision is stored.
	validate bool
	// insist stores the revision although dry runs deny objects for reasons that may depend on others.
	insist      bool
	skipSchemas bool
	// hooks runs hooks; event is the event of the hooks before the objects.
	hooks bool
	event helmrelease.HookEvent
	// enter, if set, is called before the revision is checked.
	enter func() error
	// preserve, if set, returns the values of the revision, and the defaults of its chart; nil for
	// the defaults of the archive.
	preserve func() (all, defaults map[string]any, err error)
	// start runs the action of Helm.
	start func(config *action.Configuration, text render.Text) error
}

// creation is an install or upgrade: an action that creates a revision of a chart.
type creation struct {
	*run
	settings

	chart remote.Chart
	files remote.CRDs
	// base is the revision that Helm compares with; nil if there is none, or it is not known. apis are
	// those that the CRDs will define. Both are set for plans only.
	base *helmrelease.Release
	apis []string
	// all is true if all objects are compared with the live ones, and not only those that differ from
	// base. It is set for forecasts only.
	all bool
	// capabilities are the capabilities that templates see.
	capabilities *chartutil.Capabilities
	rendered     *remote.Rendered
	// approved is the plan whose text is applied; nil if the chart is rendered.
	approved *planning.Content
	// failed is the error of the rendering, before Helm adds to its message.
	failed error
}

// create runs the steps of an install or upgrade. The steps up to the CRDs write nothing, and the
// action of Helm writes nothing before the revision has passed the gate. The text of an approved plan
// is not rendered again.
func (r *run) create(ctx context.Context, s settings) error {
	c := &creation{run: r, settings: s}
	steps := []func(context.Context) error{
		c.loadChart,
		c.preserveValues,
		c.limitRecord,
		c.readCRDs,
		c.precheckSize,
		c.applyCRDs,
		c.discoverCapabilities,
		c.guard,
		c.runAction,
	}
	if release.PlanOf(r.job.Action).Digest != "" {
		steps = []func(context.Context) error{c.readPlan, c.limitRecord, c.checkPlan, c.applyCRDs, c.guard, c.runAction}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// resume runs an interrupted install or upgrade from its stored revision. Nothing is rendered, and
// the steps that precede the storing of a revision have been done.
func (r *run) resume(ctx context.Context, s settings, version int) error {
	stored, err := r.store.Revision(version)
	if err != nil {
		return fmt.Errorf("revision %d of release %s: %w", version, r.job.Desired.Target.Name, err)
	}
	if !r.store.Proven(version) {
		return r.errChanged(version)
	}
	text := render.Text{Name: stored.Name, Version: "0.0.0", Manifest: func() (string, error) { return stored.Manifest, nil }}
	if c := stored.Chart; c != nil && c.Metadata != nil {
		text.Name, text.Version = c.Metadata.Name, c.Metadata.Version
	}
	s.mode, s.validate, s.enter = apply.ModeOf(r.store.ApplyMethod(version) == storage.ServerSide), false, nil
	c := &creation{run: r, settings: s}
	if err := c.guard(ctx); err != nil {
		return err
	}
	left, err := r.store.AttemptOn(version)
	if err != nil {
		return err
	}
	if left != nil {
		r.client.Replace(left.Replaced, s.timeout)
	}
	return c.explain(c.start(text.Config(*c.config), text))
}

// errChanged returns the error of an action that would use a revision which another client has
// written.
func (r *run) errChanged(version int) error {
	return fmt.Errorf("another client changed the record of revision %d of release %s", version, r.job.target().Name)
}

// loadChart loads the archive of the chart.
func (c *creation) loadChart(ctx context.Context) (err error) {
	c.chart, err = c.load(ctx)
	return err
}

// load returns the chart of the job under its effective version, with the values of the job.
func (r *run) load(ctx context.Context) (remote.Chart, error) {
	archive, err := r.charts.Load(ctx, r.job.Artifact)
	if err != nil {
		return remote.Chart{}, fmt.Errorf("could not load chart: %w", err)
	}
	return remote.Chart{
		Tenant: r.job.Origin.Namespace,
		Name:   r.job.Desired.Chart.Name, Version: r.job.Desired.Chart.Version, Digest: r.job.Artifact.Digest, Archive: archive,
		Values: r.job.Values, PostRender: remote.PostRenderOf(r.job.Spec, r.job.Defaults),
	}, nil
}

// loadError returns the error of a call of a worker, with the URL if the archive cannot be loaded.
func loadError(a chart.Artifact, err error) error {
	var bad *remote.Unloadable
	if errors.As(err, &bad) {
		return fmt.Errorf("could not load chart: %w", a.Unreadable(err))
	}
	return err
}

func (c *creation) preserveValues(context.Context) (err error) {
	if c.preserve != nil {
		c.chart.Values, c.chart.Defaults, err = c.preserve()
	}
	return err
}

// limitRecord makes the gate refuse a revision whose record would be too large.
func (c *creation) limitRecord(context.Context) error {
	c.gate.Limit = c.checkRecord
	return nil
}

// readCRDs reads the CRDs in the chart's crds folders. CRDs of subcharts that the values disable are
// ignored.
func (c *creation) readCRDs(ctx context.Context) (err error) {
	c.files, err = c.crdsOf(ctx, c.chart)
	return err
}

// crdsOf returns the CRDs of a chart. Most charts have none, which is known without a call.
func (r *run) crdsOf(ctx context.Context, c remote.Chart) (remote.CRDs, error) {
	facts, err := r.charts.Facts(ctx, r.job.Artifact)
	if err != nil {
		return remote.CRDs{}, fmt.Errorf("could not load chart: %w", err)
	}
	if !facts.CRDs {
		return remote.CRDs{}, nil
	}
	defer r.job.retrier.ReleaseSlotAfter(renderPatience)()
	all, err := r.remote.CRDs(ctx, c)
	return all, loadError(r.job.Artifact, err)
}

// applyCRDs applies the CRDs, and waits until they are served.
func (c *creation) applyCRDs(context.Context) error {
	if len(c.files.Files) == 0 {
		return nil
	}
	return c.client.CRDs.Apply(c.files.Files, apply.CRDPlan{Policy: c.crds, Timeout: c.timeout, ServerSide: c.appliesServerSide})
}

// appliesServerSide reports whether the action will use server-side apply, before Helm has read the
// history.
func (c *creation) appliesServerSide() (bool, error) {
	version := 0
	if c.mode == helmv2.ServerSideApplyAuto {
		last, err := c.config.Releases.Last(c.job.Desired.Target.Name)
		if err != nil {
			return false, err
		}
		version = last.Version
	}
	return apply.IsServerSide(c.store, c.mode, version), nil
}

// discoverCapabilities reads the cached capabilities of the cluster, which the CRDs may have extended.
func (c *creation) discoverCapabilities(context.Context) (err error) {
	c.capabilities, err = capabilitiesOf(c.config.RESTClientGetter, c.logs)
	return err
}

// guard makes the gate choose the apply method, and refuse objects that other releases own or that
// the API server would not accept.
func (c *creation) guard(context.Context) error {
	c.chooseMethod(c.mode, 0, c.force)
	c.client.Preflight.SkipLookups(func() bool {
		return c.takeOwnership && c.validate && apply.IsServerSide(c.store, c.mode, c.gate.Newest)
	})
	c.gate.Enter = c.enter
	c.gate.Check = func(next *helmrelease.Release) error {
		if c.hooks {
			if err := c.client.HookTargets.Check(next.Hooks, nil, c.event, c.after()); err != nil {
				return err
			}
		}
		var objection error
		if c.validate {
			// The dry runs also show which objects exist.
			objection = c.client.Preflight.DryRuns(next, c.event, c.hooks, c.insist)
		}
		// If no revision ever worked, its objects may not have been created by the release.
		neverWorked := c.gate.Newest > 0 && !c.gate.Worked || c.store.Unproven()
		if err := c.client.Preflight.Ownership(neverWorked); err != nil {
			return err
		}
		return objection
	}
	return nil
}

// runAction runs the action of Helm with the rendered chart.
func (c *creation) runAction(ctx context.Context) error {
	c.fill = c.addRendered
	text := render.Text{Name: c.chart.Name, Version: c.chart.Version, Manifest: func() (string, error) {
		if c.approved == nil {
			c.failed = c.render(ctx)
		}
		if c.failed != nil {
			return "", c.failed
		}
		return c.rendered.Manifest, nil
	}}
	return c.explain(c.start(text.Config(*c.config), text))
}

// render renders the chart. Helm has read the history by then.
func (c *creation) render(ctx context.Context) error {
	var err error
	c.rendered, err = c.rendering(ctx, c.input())
	return err
}

// input returns the input of the rendering.
func (c *creation) input() remote.Rendering {
	in := remote.Rendering{
		Chart: c.chart, Install: c.installs, Revision: c.gate.Newest + 1, Hooks: true, SkipSchemas: c.skipSchemas, Timeout: c.timeout,
		Capabilities: c.capabilities, APIs: c.apis,
		Namespace: c.job.Desired.Target.Namespace,
	}
	if !c.installs {
		in.Namespace = cmp.Or(c.gate.Namespace, in.Namespace)
	}
	return in
}

// renderPatience is the time for which an action that waits for a worker keeps its slot. Most charts
// are rendered sooner.
const renderPatience = time.Second

// rendering renders a chart for the release of the job. Unless they are given, the capabilities are
// those that are cached for the cluster.
func (r *run) rendering(ctx context.Context, in remote.Rendering) (*remote.Rendered, error) {
	if in.Capabilities == nil {
		var err error
		if in.Capabilities, err = capabilitiesOf(r.config.RESTClientGetter, r.logs); err != nil {
			return nil, err
		}
	}
	in.Release, in.EnableDNS = r.job.Desired.Target.Name, r.job.AllowDNS
	connection, err := r.config.RESTClientGetter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	if r.job.Lookups != nil {
		connection = r.job.Lookups(connection)
	}
	defer r.job.retrier.ReleaseSlotAfter(renderPatience)()
	rendered, err := r.remote.Render(ctx, in, connection)
	return rendered, loadError(r.job.Artifact, err)
}

// capabilitiesOf returns the cached capabilities of the cluster of a connection.
func capabilitiesOf(connection action.RESTClientGetter, logs *redact.Log) (*chartutil.Capabilities, error) {
	known, err := render.CapabilitiesOf(connection)
	if err != nil {
		return nil, err
	}
	if known.Incomplete != nil {
		logs.Printf("WARNING: The Kubernetes server has an orphaned API service. Server reports: %s", known.Incomplete)
	}
	return known.Capabilities, nil
}

// addRendered replaces the content of Helm's new revision by the rendered one.
func (c *creation) addRendered(rls *helmrelease.Release) {
	rls.Chart = c.storedChart(c.rendered)
	rls.Config, rls.Hooks, rls.Info.Notes = c.chart.Values, c.rendered.Hooks, c.rendered.Notes
}

// storedChart returns the chart of a revision that is stored with the rendered chart.
func (r *run) storedChart(rendered *remote.Rendered) *helmchart.Chart {
	stored := &helmchart.Chart{Metadata: rendered.Metadata}
	r.store.Chart.Store(&storage.RawChart{Chart: stored, JSON: rendered.Chart})
	return stored
}

// explain returns the error of the rendering, or the refusal of the gate. Helm adds text to it
// about its storage. Errors of Helm about ownership get the names of the owners.
func (c *creation) explain(err error) error {
	if c.failed != nil {
		return c.failed
	}
	if c.gate.Refused != nil || err == nil {
		return c.gate.Refused
	}
	conflict, explained := c.client.Preflight.Explain(err)
	if conflict {
		c.gate.Refused = explained
	}
	return explained
}
