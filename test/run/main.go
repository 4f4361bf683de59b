// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Command run is the demo of `make run`. It runs the controller on a real API server, from a chart
// in a registry to a ready release, and keeps running until Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/test/harness"
)

const (
	namespace = "demo"
	// readyTimeout is how long the sample may take to become ready.
	readyTimeout = 5 * time.Minute
	logLines     = 30
)

type settings struct {
	bin        string
	controller string
	plugin     string
	kubeconfig string
	once       bool
	sample     string
}

func main() {
	var s settings
	flag.StringVar(&s.bin, "bin", "bin/cluster", "`folder` that make cluster-build filled")
	flag.StringVar(&s.controller, "controller", "bin/pintle", "the controller's `executable`")
	flag.StringVar(&s.plugin, "plugin", "bin/kubectl-pintle", "the plugin's `executable`")
	flag.StringVar(&s.kubeconfig, "kubeconfig", "", "`file` that leads to an existing cluster with source-controller (default: start a cluster)")
	flag.BoolVar(&s.once, "once", false, "end as soon as the release is ready")
	flag.StringVar(&s.sample, "sample", "", "folder of config/samples to apply: helmchart, or empty for the folder itself")
	flag.Parse()

	harness.Main("run", func(ctx context.Context) error { return run(ctx, s) })
}

func run(ctx context.Context, s settings) (err error) {
	began := time.Now()
	d := &demo{settings: s, began: began, shown: map[string]string{}}
	d.dir = filepath.Join("bin", "run", strconv.Itoa(os.Getpid()))
	if s.kubeconfig != "" {
		if err := checkExisting(ctx, s.kubeconfig); err != nil {
			return err
		}
	}
	if d.page, err = harness.FreeAddress(ctx); err != nil {
		return err
	}
	o := harness.Options{
		Dir: d.dir, ClusterBin: s.bin, Kubeconfig: s.kubeconfig, Controller: s.controller, Progress: d.say,
		// Without a Lease, kubectl pintle would not find the controller.
		ControllerArgs: []string{"--enable-leader-election", "--ui-addr=" + d.page, "--ui-anonymous-user=" + visitor},
	}
	if s.sample == helmChartSample {
		o.ControllerArgs = append(o.ControllerArgs, "--feature-gates=HelmChartAPI=true")
	}
	if s.kubeconfig != "" {
		// The cluster may have other HelmReleases.
		o.ControllerArgs = append(o.ControllerArgs, "--watch-all-namespaces=false")
		o.ControllerEnv = []string{"RUNTIME_NAMESPACE=" + namespace}
	}
	if d.env, err = harness.Start(ctx, o); err != nil {
		return err
	}
	defer func() {
		d.say("cleaning up")
		// The context may have ended, but the cleanup has to run.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 90*time.Second)
		defer cancel()
		if s.kubeconfig != "" {
			err = errors.Join(err, d.remove(ctx))
		}
		err = errors.Join(err, d.env.Stop(ctx))
	}()
	if err := d.show(ctx); err != nil {
		return err
	}
	if s.once {
		return nil
	}
	d.explain()
	d.watch(ctx)
	return nil
}
