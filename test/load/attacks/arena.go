// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"golang.org/x/sync/errgroup"
	helmchart "helm.sh/helm/v3/pkg/chart"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/attacks/corpus"
)

const (
	// home is the namespace of the controller's lease.
	home = "home"
	// hostile is the namespace of the attacks and their sources, see hostileNamespaces.
	hostile = "hostile"
	// harmless is the name of the chart of all releases without a chart of their own.
	harmless = corpus.HarmlessChart
	// memoryLimit is that of the container, in bytes.
	memoryLimit = 768 << 20
	// concurrency is the number of concurrent requests.
	concurrency = 10
)

// hostileNamespaces returns the namespaces of attacks that run at once.
func hostileNamespaces() []string { return []string{hostile, hostile + "-2", hostile + "-3"} }

// arena is a control plane with a controller.
type arena struct {
	settings

	env    *harness.Environment
	config *rest.Config
	group  *cgroup
	memory *sampler
	page   *page
	pid    int
}

// start starts a control plane, and the controller in a cgroup.
func start(ctx context.Context, s settings, dir string) (_ *arena, err error) {
	a := &arena{settings: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.stop(ctx))
		}
	}()
	args, err := managerArgs()
	if err != nil {
		return nil, err
	}
	executable, err := filepath.Abs(s.controller)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if a.page, err = newPage(dir); err != nil {
		return nil, err
	}
	group, err := newCgroup("pintle-attacks-"+strconv.Itoa(os.Getpid()), memoryLimit)
	if err != nil {
		say("the kernel does not limit memory, so it is only measured: %v", err)
	} else {
		a.group = group
		if executable, err = group.wrap(executable, dir); err != nil {
			return nil, err
		}
	}
	a.env, err = harness.Start(ctx, harness.Options{
		Dir: dir, ClusterBin: s.bin, Controller: executable, Progress: say,
		ControllerArgs: slices.Concat(args, a.page.args(), strings.Fields(s.args)),
		ControllerEnv:  []string{"RUNTIME_NAMESPACE=" + home, "GOMEMLIMIT=" + strconv.Itoa(memoryLimit)},
		ControllerKubeconfig: func(ctx context.Context, env *harness.Environment) (string, error) {
			return env.Kubeconfig, createNamespaces(ctx, env.Client, append(hostileNamespaces(), home, healthy)...)
		},
	})
	if err != nil {
		return nil, err
	}
	if a.config, err = clientcmd.BuildConfigFromFlags("", a.env.Kubeconfig); err != nil {
		return nil, err
	}
	a.config.QPS = -1
	a.pid = a.env.Controller.PID()
	a.memory = sample(a.pid)
	return a, a.page.find(ctx, a.env)
}

func createNamespaces(ctx context.Context, c client.Client, names ...string) error {
	for _, name := range names {
		if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	return nil
}

// managerArgs returns the flags of the controller in config/manager.
func managerArgs() ([]string, error) {
	content, err := os.ReadFile(filepath.Join(harness.Root(), "config", "manager", "deployment.yaml"))
	if err != nil {
		return nil, err
	}
	d := &appsv1.Deployment{}
	if err := yaml.Unmarshal(content, d); err != nil {
		return nil, err
	}
	return d.Spec.Template.Spec.Containers[0].Args, nil
}

// stop ends all that was started, whether the context has ended or not.
func (a *arena) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 90*time.Second)
	defer cancel()
	var errs []error
	if a.memory != nil {
		a.memory.stop()
	}
	if a.env != nil {
		errs = append(errs, a.env.Stop(ctx))
	}
	if a.group != nil {
		errs = append(errs, a.group.remove(ctx))
	}
	return errors.Join(errs...)
}

// publish pushes the charts of the attacks and the harmless one, and waits for their artifacts.
func (a *arena) publish(ctx context.Context, attacks []corpus.Attack) error {
	charts := map[string]func() []byte{harmless: corpus.Harmless}
	for _, attack := range attacks {
		if attack.Archive != nil {
			charts[attack.ID()] = attack.Archive
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for name, archive := range charts {
		group.Go(func() error {
			about := &helmchart.Metadata{Name: corpus.Chart, Version: corpus.Version}
			if err := a.env.Registry.Push(ctx, "charts/"+name, corpus.Version, about, archive()); err != nil {
				return err
			}
			return a.env.Client.Create(ctx, a.source(name))
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return a.published(context.WithoutCancel(ctx), len(charts))
}

func (a *arena) source(name string) *sourcev1.OCIRepository {
	o := corpus.Source(hostile, name, "oci://"+a.env.Registry.Address+"/charts/"+name)
	o.Spec.Insecure = true
	return o
}

// published waits until n sources have artifacts.
func (a *arena) published(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	return a.env.Until(ctx, "the artifacts of all charts", func() (string, bool) {
		var list sourcev1.OCIRepositoryList
		if err := a.env.Client.List(ctx, &list, client.InNamespace(hostile)); err != nil {
			return err.Error(), false
		}
		ready := 0
		for _, item := range list.Items {
			if item.Status.Artifact == nil {
				return fmt.Sprint(item.Name, item.Status.Conditions), false
			}
			ready++
		}
		return "", ready == n
	})
}
