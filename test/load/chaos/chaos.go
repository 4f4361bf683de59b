// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/harness/faultproxy"
)

const (
	chartName = "chaos"
	// sourceNamespace is the namespace of the chart's source and of the controller's
	// ServiceAccount.
	sourceNamespace = "chaos"
	// pollEvery is the interval of checks of the facts, which are in memory.
	pollEvery = 50 * time.Millisecond
	// concurrency is the number of concurrent requests.
	concurrency = 10
)

// chaos is one run.
type chaos struct {
	settings

	limits   limits
	env      *harness.Environment
	proxy    *faultproxy.Proxy
	injector *injector
	observer *observer
	// controllers are those that run: that behind the proxy, or others. Those that end by
	// themselves are started again if revive is set.
	controllers []*harness.Controller
	revive      bool
	// logs are the paths of logs of other controllers than that behind the proxy.
	logs []string

	mu sync.Mutex
	// rehearsed is how long actions took without a fault.
	rehearsed map[string]time.Duration
}

// start starts a control plane, the proxy, and the controller behind it.
func start(ctx context.Context, s settings, dir string) (_ *chaos, err error) {
	c := &chaos{settings: s, limits: limitsOf(s.short), injector: newInjector(), rehearsed: map[string]time.Duration{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop(ctx))
		}
	}()
	args := append([]string{fmt.Sprintf("--concurrent=%d", s.concurrent)}, strings.Fields(s.args)...)
	c.env, err = harness.Start(ctx, harness.Options{
		Dir: dir, ClusterBin: s.bin, Controller: s.controller, ControllerArgs: args, Progress: say,
		ControllerKubeconfig: func(ctx context.Context, env *harness.Environment) (string, error) { return c.interpose(ctx, env, dir) },
	})
	if err != nil {
		return nil, err
	}
	c.controllers = []*harness.Controller{c.env.Controller}
	if c.observer, err = observe(ctx, c.env); err != nil {
		return nil, err
	}
	return c, c.publish(ctx)
}

// interpose starts the proxy, and returns a kubeconfig that leads to it.
func (c *chaos) interpose(ctx context.Context, env *harness.Environment, dir string) (string, error) {
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
	if err := env.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: sourceNamespace}}); err != nil {
		return "", err
	}
	token, err := env.AdminToken(ctx, sourceNamespace, "controller")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "proxy.kubeconfig")
	return path, env.WriteKubeconfig(path, token, func(cluster *clientcmdapi.Cluster) {
		cluster.Server, cluster.CertificateAuthority, cluster.CertificateAuthorityData = c.proxy.URL, "", c.proxy.CA
	})
}

// publish pushes the chart and waits until its artifact is available.
func (c *chaos) publish(ctx context.Context) error {
	chart, err := harness.LoadChart(chartName)
	if err != nil {
		return err
	}
	archive, err := harness.Pack(chart)
	if err != nil {
		return err
	}
	if err := c.env.Registry.PushChart(ctx, "charts", archive); err != nil {
		return err
	}
	source := &sourcev1.OCIRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: sourceNamespace, Name: chartName},
		Spec: sourcev1.OCIRepositorySpec{
			URL: "oci://" + c.env.Registry.Address + "/charts/" + chartName, Insecure: true,
			Interval: metav1.Duration{Duration: 10 * time.Hour}, Reference: &sourcev1.OCIRepositoryRef{Tag: chart.Metadata.Version},
			LayerSelector: &sourcev1.OCILayerSelector{
				MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Operation: sourcev1.OCILayerCopy,
			},
		},
	}
	if err := c.env.Client.Create(ctx, source); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return c.env.Until(ctx, "the chart", func() (string, bool) {
		err := c.env.Client.Get(ctx, client.ObjectKeyFromObject(source), source)
		return fmt.Sprint(err, source.Status.Conditions), err == nil && apimeta.IsStatusConditionTrue(source.Status.Conditions, "Ready")
	})
}

// stop ends all that was started, whether the context has ended or not.
func (c *chaos) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 90*time.Second)
	defer cancel()
	var errs []error
	// The controller ends in order only while it reaches the API server.
	if c.env != nil {
		errs = append(errs, c.env.Stop(ctx))
	}
	if c.proxy != nil {
		errs = append(errs, c.proxy.Close())
	}
	return errors.Join(errs...)
}

// namespaces creates namespaces for releases.
func (c *chaos) namespaces(ctx context.Context, names ...string) error {
	return each(ctx, concurrency, names, func(ctx context.Context, name string) error {
		return c.env.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	})
}

// each calls do for all items, some at the same time, and ends with the first error.
func each[T any](ctx context.Context, parallel int, items []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, item := range items {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return do(ctx, item)
		})
	}
	return group.Wait()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
