// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/values"
)

// Action is an action of Helm that renders a chart.
type Action struct {
	Connection action.RESTClientGetter
	Chart      *helmchart.Chart
	// Timeout limits the rendering. The rest of the action has its own timeout.
	Timeout              time.Duration
	SkipSchemaValidation bool
	Options              Options
}

// Run calls run, which runs the action with the given connection. The chart is rendered in the
// sandbox. The function leave restores the chart before its revision is stored.
func (a Action) Run(ctx context.Context, run func(connection action.RESTClientGetter, leave func()) error) error {
	if !a.SkipSchemaValidation {
		if err := values.CheckSchemas(a.Chart); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.Timeout)
	defer cancel()
	c := &sandboxedConnection{RESTClientGetter: a.Connection, ctx: ctx, chart: a.Chart, options: a.Options}
	defer c.leave()
	err := run(c, c.leave)
	if c.sandbox != nil && c.sandbox.Err() != nil {
		return c.sandbox.Err()
	}
	return err
}

// sandboxedConnection puts a chart into the sandbox when Helm reads the configuration of the
// connection. Helm does that right before it renders, when it has merged the values and removed
// disabled dependencies.
type sandboxedConnection struct {
	action.RESTClientGetter

	ctx     context.Context //nolint:containedctx // it lives as long as one action
	chart   *helmchart.Chart
	options Options
	sandbox *Sandbox
}

// ToRESTConfig implements action.RESTClientGetter.
func (c *sandboxedConnection) ToRESTConfig() (*rest.Config, error) {
	config, err := c.RESTClientGetter.ToRESTConfig()
	if err != nil || c.chart == nil {
		return config, err
	}
	chart := c.chart
	c.chart, c.options.Config = nil, config
	if c.sandbox, err = Enter(c.ctx, chart, c.options); err != nil {
		return nil, err
	}
	return config, nil
}

func (c *sandboxedConnection) leave() {
	if c.sandbox != nil {
		c.sandbox.Leave()
	}
}
