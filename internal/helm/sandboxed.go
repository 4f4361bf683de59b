// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/render"
	"github.com/pintle-dev/pintle/internal/values"
)

// rendering makes Helm render a chart in the sandbox. Helm asks for the way to the
// cluster right before it renders, when the values are settled and dependencies
// that are switched off are gone: that is when the sandbox takes the chart over.
type rendering struct {
	action.RESTClientGetter

	ctx     context.Context //nolint:containedctx // it lives as long as one action
	chart   *helmchart.Chart
	options render.Options
	box     *render.Sandbox
}

// ToRESTConfig implements action.RESTClientGetter.
func (r *rendering) ToRESTConfig() (*rest.Config, error) {
	config, err := r.RESTClientGetter.ToRESTConfig()
	if err != nil || r.chart == nil {
		return config, err
	}
	c := r.chart
	r.chart, r.options.Config = nil, config
	if r.box, err = render.Enter(r.ctx, c, r.options); err != nil {
		return nil, err
	}
	return config, nil
}

func (r *rendering) leave() {
	if r.box != nil {
		r.box.Leave()
	}
}

// sandboxed runs an action that renders a chart. After as long as the timeout
// rendering is ended; how long everything else takes is not looked at.
func (r *run) sandboxed(ctx context.Context, job Job, c *helmchart.Chart, timeout time.Duration, skipSchemas bool, act func() error) error {
	if !skipSchemas {
		if err := values.CheckSchemas(c); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	way, prepare := r.config.RESTClientGetter, r.beforeStore
	inside := &rendering{
		RESTClientGetter: way, ctx: ctx, chart: c,
		options: render.Options{EnableDNS: job.AllowDNS, Limits: render.DefaultLimits(), Large: r.large},
	}
	r.config.RESTClientGetter = inside
	// What is stored is the chart as it was.
	r.beforeStore = func(rls *helmrelease.Release) error {
		inside.leave()
		if prepare != nil {
			return prepare(rls)
		}
		return nil
	}
	defer func() {
		inside.leave()
		r.config.RESTClientGetter, r.beforeStore = way, prepare
	}()
	err := act()
	if inside.box != nil && inside.box.Err() != nil {
		return inside.box.Err()
	}
	return err
}
