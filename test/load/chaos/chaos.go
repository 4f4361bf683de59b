// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/harness/faultproxy"
	"github.com/pintle-dev/pintle/test/load/frame"
)

const (
	chartName = "chaos"
	// sourceNamespace is the namespace of the chart's source and of the controller's
	// ServiceAccount.
	sourceNamespace = "chaos"
	// pollEvery is the interval of checks of the facts, which are in memory.
	pollEvery = 50 * time.Millisecond
)

// chaos is one run.
type chaos struct {
	settings

	*frame.World

	limits   limits
	proxy    *faultproxy.Proxy
	injector *injector
	observer *observer
	// controllers are those that run: that behind the proxy, or others. Those that end by
	// themselves are started again if revive is set.
	controllers []*harness.Controller
	revive      bool
	mu          sync.Mutex
	// rehearsed is how long actions took without a fault.
	rehearsed map[string]time.Duration
}

// start starts a control plane, the proxy, and the controller behind it.
func start(ctx context.Context, s settings, w *frame.World) (*chaos, error) {
	c := &chaos{settings: s, World: w, limits: limitsOf(s.short), injector: newInjector(), rehearsed: map[string]time.Duration{}}
	err := w.Start(ctx, harness.Options{
		ControllerArgs:       []string{fmt.Sprintf("--concurrent=%d", s.concurrent)},
		ControllerKubeconfig: c.interpose,
	})
	if err != nil {
		return nil, err
	}
	c.controllers = []*harness.Controller{c.Env.Controller}
	if c.observer, err = observe(ctx, c.Env); err != nil {
		return nil, err
	}
	chart, err := harness.LoadChart(chartName)
	if err != nil {
		return nil, err
	}
	if _, err := c.Publish(ctx, chart); err != nil {
		return nil, err
	}
	if err := c.Env.Client.Create(ctx, c.Source(sourceNamespace, chartName, chartName, chart.Metadata.Version)); err != nil {
		return nil, err
	}
	return c, c.AwaitSources(ctx, sourceNamespace, 1)
}

// interpose starts the proxy, and returns a kubeconfig that leads to it.
func (c *chaos) interpose(ctx context.Context, env *harness.Environment) (string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", env.Kubeconfig)
	if err != nil {
		return "", err
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return "", err
	}
	c.proxy, err = faultproxy.Start(faultproxy.Options{
		Server: config.Host, CA: config.CAData, Decide: c.injector.decide, Done: c.injector.done,
	})
	if err != nil {
		return "", err
	}
	c.OnStop(func(context.Context) error { return c.proxy.Close() })
	if err := frame.Namespaces(ctx, env, sourceNamespace); err != nil {
		return "", err
	}
	token, err := env.AdminToken(ctx, sourceNamespace, "controller")
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.Dir, "proxy.kubeconfig")
	return path, env.WriteKubeconfig(path, token, func(cluster *clientcmdapi.Cluster) {
		cluster.Server, cluster.CertificateAuthority, cluster.CertificateAuthorityData = c.proxy.URL, "", c.proxy.CA
	})
}
