// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness starts the controller and its environment as processes: a control plane with
// source-controller, a registry with the chart of test/charts, and the controller's executable.
//
// `make run` and the end-to-end tests share it, so it does not depend on package testing. The
// product never imports it. Only tests use the other sources of charts, a Helm repository and a Git
// server, and signatures.
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

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Options configure Start.
type Options struct {
	// Dir is the directory for all files. It is removed at the end.
	Dir string
	// ClusterBin is the folder with the executables of `make cluster-build`.
	ClusterBin string
	// Node starts a real node with a kubelet and containers instead of the simulated one. It needs
	// root. Only one can run on a machine, so Start waits until another one has ended.
	Node bool
	// NodeImages are OCI archives of further images for the real node.
	NodeImages []string
	// AuditLog, if set, is the file for the API server's audit log.
	AuditLog string
	// ArtifactProxy, if set, is the host and port in the URLs of artifacts. A proxy at this address
	// must forward requests to source-controller, whose address is in Record.
	ArtifactProxy string
	// Kubeconfig, if set, is for an existing cluster with source-controller, and no cluster is
	// started.
	Kubeconfig string
	// Controller is the path of the controller's executable. If it is empty, no controller is
	// started. ControllerArgs are its arguments, ControllerEnv are variables in addition to the
	// environment of this process.
	Controller     string
	ControllerArgs []string
	ControllerEnv  []string
	// ControllerKubeconfig, if set, returns the path of the controller's kubeconfig. It is called
	// when the API server is ready.
	ControllerKubeconfig func(context.Context, *Environment) (string, error)
	// CRDs is the path of the HelmRelease CRD, a file or a folder: that of this repository if
	// empty. A relative path starts at the root of the repository.
	CRDs string
	// Canaries enables the search for values of Secrets in public places; Environment.Check returns
	// the result. Controllers then serve metrics.
	Canaries bool
	// Progress, if set, is called with messages about the progress.
	Progress func(format string, args ...any)
}

// Environment are the running processes.
type Environment struct {
	Kubeconfig string
	Client     client.WithWatch
	Registry   *Registry
	Controller *Controller
	// Canaries is nil unless Options.Canaries is set.
	Canaries *Canaries
	// Slow, if set, is called repeatedly with a description of a wait that takes long.
	Slow func(text string)

	dir     string
	cluster *cluster
}

// Start starts everything and returns when HelmReleases can be created. On failure it stops all
// processes that it started.
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
	if o.Controller == "" {
		return e, nil
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

// CRDs returns the path of the HelmRelease CRD for Options.CRDs.
func CRDs(asked string) string {
	switch {
	case asked == "":
		return filepath.Join(Root(), "config", "crd", "bases")
	case filepath.IsAbs(asked):
		return asked
	}
	return filepath.Join(Root(), asked)
}

// UserAgent is the user agent of the harness's own requests.
const UserAgent = "pintle-harness"

// Connect returns a client without client-side rate limiting.
func Connect(kubeconfig string) (client.WithWatch, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	config.UserAgent = UserAgent
	// Requests to a cluster that hangs must time out.
	config.Timeout = 30 * time.Second
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, sourcev1.AddToScheme, helmv2.AddToScheme, opsv1alpha1.AddToScheme, v1alpha1.AddToScheme,
		cattlev1.AddToScheme,
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

// Check stops the controller and returns an error if values of Secrets were found in public places.
// It requires Options.Canaries, and is called before Stop.
func (e *Environment) Check(ctx context.Context) error {
	return errors.Join(e.Controller.Stop(ctx), e.Canaries.Check(ctx))
}

// Stop stops everything, the controller first, and removes Dir.
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
			// A real node may leave mounts in Dir.
			return errors.Join(append(errs, err)...)
		}
	}
	return errors.Join(append(errs, os.RemoveAll(e.dir))...)
}

// Root returns the root of the repository that contains the working directory.
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
