// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness starts what the controller needs around it, and the controller
// itself, each as a process of its own: a control plane with source-controller,
// a registry with the chart of test/charts, and the controller's executable.
//
// It is what `make run` and the end-to-end tests have in common, so it knows
// nothing of testing. The product never imports it. Only the tests use the other
// sources of charts, a Helm repository and a Git server, and signatures.
package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Options say what to start.
type Options struct {
	// Dir takes all that is written, and is removed at the end.
	Dir string
	// ClusterBin is the folder that `make cluster-build` fills.
	ClusterBin string
	// Node asks for a real node, with a kubelet and containers, in place of the
	// simulated one. It needs root, and there is one on a machine at a time: Start
	// waits for another one's end.
	Node bool
	// NodeImages are OCI archives of images that the real node has besides its own.
	NodeImages []string
	// AuditLog, if set, is the file in which the API server notes every request.
	AuditLog string
	// ArtifactProxy, if set, is the host and port in the artifacts' URLs. Whoever
	// listens there asks source-controller in its clients' place; Record says where
	// that is.
	ArtifactProxy string
	// Kubeconfig, if set, leads to a cluster that has source-controller, and none
	// is started.
	Kubeconfig string
	// Controller is the controller's executable, ControllerArgs its arguments and
	// ControllerEnv what it finds in the environment besides ours.
	Controller     string
	ControllerArgs []string
	ControllerEnv  []string
	// ControllerKubeconfig, if set, returns the file that the controller reaches the API server
	// by. It is called when the API server is ready.
	ControllerKubeconfig func(context.Context, *Environment) (string, error)
	// CRDs is the definition of HelmRelease, a file or a folder: ours if empty. A
	// relative path begins in the repository.
	CRDs string
	// Canaries has all Secrets of the cluster be read, and their values be looked for in
	// what is told to everybody; Environment.Check says what came of it. Controllers then
	// serve metrics.
	Canaries bool
	// Progress, if set, is told what is being done.
	Progress func(format string, args ...any)
}

// Environment is everything that runs.
type Environment struct {
	Kubeconfig string
	Client     client.WithWatch
	Registry   *Registry
	Controller *Controller
	// Canaries is nil unless they are asked for.
	Canaries *Canaries

	dir     string
	cluster *cluster
}

// Start starts everything and returns when it is ready for HelmReleases. What
// was started is ended again if something fails.
func Start(ctx context.Context, o Options) (_ *Environment, err error) {
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	e := &Environment{Kubeconfig: o.Kubeconfig, dir: o.Dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if e.Kubeconfig == "" {
		o.Progress("starting a control plane with a %s node and source-controller", nodeKind(o.Node))
		e.Kubeconfig = filepath.Join(o.Dir, "kubeconfig")
		if e.cluster, err = startCluster(ctx, o, e.Kubeconfig); err != nil {
			return nil, err
		}
	}
	if e.Client, err = Connect(e.Kubeconfig); err != nil {
		return nil, err
	}
	if o.Canaries {
		if e.Canaries, err = watchCanariesOf(e.Kubeconfig); err != nil {
			return nil, err
		}
	}
	o.Progress("starting a registry")
	if e.Registry, err = StartRegistry(ctx, "127.0.0.1:0"); err != nil {
		return nil, err
	}
	o.Progress("applying the CRD of HelmRelease")
	if err := e.ApplyCRDs(ctx, CRDs(o.CRDs)); err != nil {
		return nil, err
	}
	o.Progress("starting the controller")
	kubeconfig := e.Kubeconfig
	if o.ControllerKubeconfig != nil {
		if kubeconfig, err = o.ControllerKubeconfig(ctx, e); err != nil {
			return nil, err
		}
	}
	e.Controller = newController(o, kubeconfig)
	e.Controller.canaries = e.Canaries
	return e, e.Controller.Start()
}

func nodeKind(real bool) string {
	if real {
		return "real"
	}
	return "simulated"
}

// CRDs returns the path of the definition of HelmRelease to use if the given one
// is asked for, or none.
func CRDs(asked string) string {
	switch {
	case asked == "":
		return filepath.Join(Root(), "config", "crd", "bases")
	case filepath.IsAbs(asked):
		return asked
	}
	return filepath.Join(Root(), asked)
}

// UserAgent is how the API server knows the harness's own requests.
const UserAgent = "pintle-harness"

// Connect returns a client. Limits on requests are the API server's business
// here: what waits polls often.
func Connect(kubeconfig string) (client.WithWatch, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	config.UserAgent = UserAgent
	// A cluster that hangs must not hang us.
	config.Timeout = 30 * time.Second
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, sourcev1.AddToScheme, helmv2.AddToScheme, opsv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

func watchCanariesOf(kubeconfig string) (*Canaries, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	return WatchCanaries(config)
}

// Check ends the controller and returns an error if values of Secrets were seen where
// they must not be. It is for the end, before Stop, and for those who have asked for
// Canaries.
func (e *Environment) Check(ctx context.Context) error {
	return errors.Join(e.Controller.Stop(ctx), e.Canaries.Check(ctx))
}

// Stop ends everything, the controller first, and removes what was written.
func (e *Environment) Stop(ctx context.Context) error {
	var errs []error
	if e.Controller != nil {
		errs = append(errs, e.Controller.Stop(ctx))
	}
	if e.Registry != nil {
		errs = append(errs, e.Registry.Close())
	}
	if e.cluster != nil {
		if err := e.cluster.stop(ctx); err != nil {
			// Of a real node, something may still be mounted in there.
			return errors.Join(append(errs, err)...)
		}
	}
	return errors.Join(append(errs, os.RemoveAll(e.dir))...)
}

// Root returns the repository that the working directory lies in.
func Root() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "PROJECT")); err == nil {
			return dir
		}
	}
	return "."
}
