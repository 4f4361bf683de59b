// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/attacks/corpus"
	"github.com/pintle-dev/pintle/test/load/frame"
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
	// sampleEvery is the interval of measurements of memory.
	sampleEvery = 100 * time.Millisecond
)

// hostileNamespaces returns the namespaces of attacks that run at once.
func hostileNamespaces() []string { return []string{hostile, hostile + "-2", hostile + "-3"} }

// arena is a control plane with a controller.
type arena struct {
	settings
	*frame.World

	config *rest.Config
	group  *cgroup
	memory *frame.Sampler
	page   *page
	pid    int
}

// start starts a control plane, and the controller in a cgroup.
func start(ctx context.Context, s settings, w *frame.World) (*arena, error) {
	a := &arena{settings: s, World: w}
	args, err := managerArgs()
	if err != nil {
		return nil, err
	}
	executable, err := filepath.Abs(s.Controller)
	if err != nil {
		return nil, err
	}
	if a.page, err = newPage(w.Dir); err != nil {
		return nil, err
	}
	group, err := newCgroup("pintle-attacks-"+strconv.Itoa(os.Getpid()), memoryLimit)
	if err != nil {
		frame.Say("the kernel does not limit memory, so it is only measured: %v", err)
	} else {
		a.group = group
		w.OnStop(group.remove)
		if executable, err = group.wrap(executable, w.Dir); err != nil {
			return nil, err
		}
	}
	err = w.Start(ctx, harness.Options{
		Controller: executable, ControllerArgs: slices.Concat(args, a.page.args()),
		ControllerEnv: []string{"RUNTIME_NAMESPACE=" + home, "GOMEMLIMIT=" + strconv.Itoa(memoryLimit)},
		ControllerKubeconfig: func(ctx context.Context, env *harness.Environment) (string, error) {
			return env.Kubeconfig, frame.Namespaces(ctx, env, append(hostileNamespaces(), home, healthy)...)
		},
	})
	if err != nil {
		return nil, err
	}
	if a.config, err = clientcmd.BuildConfigFromFlags("", a.Env.Kubeconfig); err != nil {
		return nil, err
	}
	a.config.QPS = -1
	a.pid = a.Env.Controller.PID()
	a.memory = frame.Sample(a.pid, sampleEvery)
	w.OnStop(func(context.Context) error { a.memory.Stop(); return nil })
	return a, a.page.find(ctx, a.Env)
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

// publish pushes the charts of the attacks and the harmless one, and waits for their artifacts.
func (a *arena) publish(ctx context.Context, attacks []corpus.Attack) error {
	charts := map[string]func() []byte{harmless: corpus.Harmless}
	for _, attack := range attacks {
		if attack.Archive != nil {
			charts[attack.ID()] = attack.Archive
		}
	}
	names := slices.Sorted(maps.Keys(charts))
	err := frame.Each(ctx, frame.Concurrency, names, func(ctx context.Context, name string) error {
		about := &helmchart.Metadata{Name: corpus.Chart, Version: corpus.Version}
		if err := a.Env.Registry.Push(ctx, "charts/"+name, corpus.Version, about, charts[name]()); err != nil {
			return err
		}
		source := corpus.Source(hostile, name, "oci://"+a.Env.Registry.Address+"/charts/"+name)
		source.Spec.Insecure = true
		return a.Env.Client.Create(ctx, source)
	})
	if err != nil {
		return err
	}
	return a.AwaitSources(ctx, hostile, len(names))
}
