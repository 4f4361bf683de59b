// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmpostrender "helm.sh/helm/v3/pkg/postrender"
	helmrelease "helm.sh/helm/v3/pkg/release"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/render"
	"github.com/pintle-dev/pintle/internal/render/postrender"
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
	validate    bool
	skipSchemas bool
	// hooks runs hooks; event is that of the hooks before the objects.
	hooks bool
	event helmrelease.HookEvent
	// enter, if set, is called before the revision is checked.
	enter func() error
	// preserve, if set, returns the values of the revision, and may change the chart.
	preserve func(c *helmchart.Chart) (map[string]any, error)
	// start runs the action of Helm.
	start func(config *action.Configuration, c *creation) error
}

// creation is an install or upgrade: an action that creates a revision of a chart.
type creation struct {
	*run
	settings

	chart    *helmchart.Chart
	values   map[string]any
	renderer postrender.Action
	// postRenderer is the one that Helm gets; nil if there is none.
	postRenderer helmpostrender.PostRenderer
}

// create runs the steps of an install or upgrade. The steps up to the CRDs write nothing, and the
// action of Helm writes nothing before the revision has passed the gate.
func (r *run) create(ctx context.Context, s settings) error {
	c := &creation{run: r, settings: s, values: r.job.Values}
	for _, step := range []func(context.Context) error{
		c.loadChart,
		c.preparePostRenderer,
		c.preserveValues,
		c.limitRecord,
		c.precheckSize,
		c.applyCRDs,
		c.discoverCapabilities,
		c.guard,
		c.runAction,
	} {
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
	text := render.Text{Release: stored}
	s.mode, s.validate, s.enter = modeOf(r.store.ApplyMethod(version) == storage.ServerSide), false, nil
	c := &creation{run: r, settings: s, chart: text.Chart(), values: map[string]any{}, postRenderer: text}
	if err := c.guard(ctx); err != nil {
		return err
	}
	return c.explain(c.start(text.Config(*c.config), c))
}

// loadChart loads the chart under its effective version.
func (c *creation) loadChart(ctx context.Context) (err error) {
	c.chart, err = c.load(ctx)
	return err
}

func (r *run) load(ctx context.Context) (*helmchart.Chart, error) {
	c, err := r.charts.Load(ctx, r.job.Artifact)
	if err != nil {
		return nil, fmt.Errorf("could not load chart: %w", err)
	}
	c.Metadata.Version = r.job.Desired.Chart.Version
	return c, nil
}

func (c *creation) preparePostRenderer(context.Context) (err error) {
	c.renderer, err = postrender.NewAction(c.job.Spec, c.job.Defaults)
	c.postRenderer = c.renderer.Manifest
	return err
}

func (c *creation) preserveValues(context.Context) (err error) {
	if c.preserve != nil {
		c.values, err = c.preserve(c.chart)
	}
	return err
}

// limitRecord makes the gate refuse a revision whose record would be too large.
func (c *creation) limitRecord(context.Context) error {
	c.gate.Limit = c.checkRecord
	return nil
}

// applyCRDs applies the CRDs in the chart's crds folders, and waits until they are served. CRDs of
// subcharts that the values disable are ignored.
func (c *creation) applyCRDs(context.Context) error {
	if len(c.chart.CRDObjects()) == 0 {
		return nil
	}
	// Helm does this again when it renders, and finds nothing to change.
	if err := chartutil.ProcessDependenciesWithMerge(c.chart, c.values); err != nil {
		return err
	}
	return c.client.CRDs.Apply(c.chart.CRDObjects(), apply.CRDPlan{Policy: c.crds, Timeout: c.timeout, ServerSide: c.appliesServerSide})
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
	return appliesServerSide(c.store, c.mode, version), nil
}

// discoverCapabilities passes the cached capabilities of the cluster to Helm, which would send
// requests for every revision otherwise.
func (c *creation) discoverCapabilities(context.Context) error {
	capabilities, err := render.CapabilitiesOf(c.config.RESTClientGetter)
	if errors.Is(err, render.ErrNoCapabilities) {
		return nil
	}
	if err != nil {
		return err
	}
	if capabilities.Incomplete != nil {
		c.logs.Printf("WARNING: The Kubernetes server has an orphaned API service. Server reports: %s", capabilities.Incomplete)
	}
	c.config.Capabilities = capabilities.Capabilities
	return nil
}

// guard makes the gate choose the apply method, and refuse objects that other releases own or that
// the API server would not accept.
func (c *creation) guard(context.Context) error {
	c.chooseMethod(c.mode, 0, c.force)
	c.client.Preflight.SkipLookups(func() bool {
		return c.takeOwnership && c.validate && appliesServerSide(c.store, c.mode, c.gate.Newest)
	})
	c.gate.Enter = c.enter
	c.gate.Check = func(next *helmrelease.Release) error {
		var objection error
		if c.validate {
			// The dry runs also show which objects exist.
			objection = c.client.Preflight.DryRuns(next, c.event, c.hooks)
		}
		// If no revision ever worked, its objects may not have been created by the release.
		neverWorked := c.gate.Newest > 0 && !c.gate.Worked
		if err := c.client.Preflight.Ownership(neverWorked); err != nil {
			return err
		}
		return objection
	}
	return nil
}

// runAction runs the action of Helm, with the chart in the sandbox.
func (c *creation) runAction(ctx context.Context) error {
	a := render.Action{
		Connection: c.config.RESTClientGetter, Chart: c.chart, Timeout: c.timeout, SkipSchemaValidation: c.skipSchemas, Options: c.renderOptions(),
	}
	return c.explain(a.Run(ctx, func(connection action.RESTClientGetter, leave func()) error {
		// The stored chart is the chart outside of the sandbox.
		c.beforeStore = func(rls *helmrelease.Release) error {
			leave()
			return c.renderer.Hooks(rls)
		}
		config := *c.config
		config.RESTClientGetter = connection
		return c.start(&config, c)
	}))
}

func (r *run) renderOptions() render.Options {
	return render.Options{EnableDNS: r.job.AllowDNS, Limits: render.DefaultLimits(), Large: r.large}
}

// explain returns the error of the gate if it refused the revision. Helm adds text to it about its
// storage. Errors of Helm about ownership get the names of the owners.
func (c *creation) explain(err error) error {
	if c.gate.Refused != nil || err == nil {
		return c.gate.Refused
	}
	conflict, explained := c.client.Preflight.Explain(err)
	if conflict {
		c.gate.Refused = explained
	}
	return explained
}
