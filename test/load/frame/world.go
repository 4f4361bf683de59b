// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"golang.org/x/sync/errgroup"
	helmchart "helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/test/harness"
)

const (
	// Concurrency is the number of concurrent requests. With sequential requests a fast controller
	// would be idle in between.
	Concurrency = 10
	// repository is the path of all charts in the registry.
	repository = "charts"
	// stopLimit is how long the end of a run may take.
	stopLimit = 90 * time.Second
	// publishLimit is how long source-controller may take for all charts.
	publishLimit = 3 * time.Minute
)

// World is a control plane with a controller that a load runs against.
type World struct {
	Env *harness.Environment
	// Dir is the folder of all files. It is removed at the end.
	Dir string
	// Logs are the paths of the controllers' logs, which are kept if the run fails.
	Logs []string

	settings *Settings
	stops    []func(context.Context) error
}

// Run runs a load, which starts the world, and ends what was started. If the run fails, the error
// names the seed and the folder with the logs.
func Run(ctx context.Context, name string, s *Settings, load func(context.Context, *World) error) (err error) {
	dir, err := filepath.Abs(filepath.Join("bin", name, strconv.Itoa(os.Getpid())))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	w := &World{Dir: dir, settings: s}
	defer func() { err = errors.Join(err, w.stop(ctx)) }()
	err = load(ctx, w)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		return nil
	}
	if s.Seed != 0 {
		err = fmt.Errorf("%w\nseed %d", err, s.Seed)
	}
	if len(w.Logs) == 0 {
		return err
	}
	errs := []error{fmt.Errorf("%w\nlogs are in %s", err, w.failed()), os.MkdirAll(w.failed(), 0o700)}
	for _, path := range w.Logs {
		errs = append(errs, os.Rename(path, filepath.Join(w.failed(), filepath.Base(path))))
	}
	return errors.Join(errs...)
}

// failed returns the folder with the files of a failed run.
func (w *World) failed() string { return w.Dir + "-failed" }

// Keep writes a file of a run that will fail, next to the logs.
func (w *World) Keep(name string, content []byte) error {
	return errors.Join(os.MkdirAll(w.failed(), 0o700), os.WriteFile(filepath.Join(w.failed(), name), content, 0o600))
}

// Start starts a control plane and the controller. The options that the settings determine are
// filled in.
func (w *World) Start(ctx context.Context, o harness.Options) error {
	o.Dir, o.ClusterBin, o.Progress = w.Dir, w.settings.bin, Say
	if o.Controller == "" {
		o.Controller = w.settings.Controller
	}
	o.ControllerArgs = append(o.ControllerArgs, strings.Fields(w.settings.Args)...)
	env, err := harness.Start(ctx, o)
	if err != nil {
		return err
	}
	w.Env, w.Logs = env, append(w.Logs, env.Controller.LogPath)
	return nil
}

// OnStop has a function called at the end, after the environment was stopped: a controller ends in
// order only while it reaches the API server.
func (w *World) OnStop(stop func(context.Context) error) { w.stops = append(w.stops, stop) }

// stop ends all that was started, even if the context has ended.
func (w *World) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	var errs []error
	if w.Env != nil {
		errs = append(errs, w.Env.Stop(ctx))
	} else {
		errs = append(errs, os.RemoveAll(w.Dir))
	}
	for _, stop := range w.stops {
		errs = append(errs, stop(ctx))
	}
	return errors.Join(errs...)
}

// Namespaces creates namespaces.
func Namespaces(ctx context.Context, env *harness.Environment, names ...string) error {
	return Each(ctx, Concurrency, names, func(ctx context.Context, name string) error {
		return env.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	})
}

// Publish pushes a chart, and returns its archive.
func (w *World) Publish(ctx context.Context, chart *helmchart.Chart) ([]byte, error) {
	archive, err := harness.Pack(chart)
	if err != nil {
		return nil, err
	}
	return archive, w.Env.Registry.PushChart(ctx, repository, archive)
}

// Source returns an OCIRepository of a chart in the registry. Its interval is longer than any run.
func (w *World) Source(namespace, name, chart, tag string) *sourcev1.OCIRepository {
	return &sourcev1.OCIRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: sourcev1.OCIRepositorySpec{
			URL: "oci://" + w.Env.Registry.Address + "/" + repository + "/" + chart, Insecure: true,
			Reference: &sourcev1.OCIRepositoryRef{Tag: tag}, Interval: metav1.Duration{Duration: 10 * time.Hour},
		},
	}
}

// AwaitSources waits until a namespace has n OCIRepositories with artifacts.
func (w *World) AwaitSources(ctx context.Context, namespace string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, publishLimit)
	defer cancel()
	return w.Env.Until(ctx, "the artifacts of all charts", func() (string, bool) {
		var list sourcev1.OCIRepositoryList
		if err := w.Env.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err.Error(), false
		}
		for _, item := range list.Items {
			if item.Status.Artifact == nil {
				return fmt.Sprint(item.Name, item.Status.Conditions), false
			}
		}
		return "", len(list.Items) == n
	})
}

// Each calls do for all items, some at the same time, and ends with the first error.
func Each[T any](ctx context.Context, parallel int, items []T, do func(context.Context, T) error) error {
	return Times(ctx, parallel, len(items), func(ctx context.Context, i int) error { return do(ctx, items[i]) })
}

// Times calls do with the numbers below n, some at the same time, and ends with the first error.
func Times(ctx context.Context, parallel, n int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := range n {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return do(ctx, i)
		})
	}
	return group.Wait()
}

// Pause waits for a duration. It returns an error if the context ends first.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
