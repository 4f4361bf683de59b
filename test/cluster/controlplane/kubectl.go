// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build kubectl

package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// A machine with a kubectl needs no second one, so it is built with tag kubectl only.
func init() { programs["kubectl"] = runKubectl }

// runKubectl differs from the servers in two ways. Its log level must be set before the command
// tree exists, since finding plugins already logs, and it prints API errors in its own format.
func runKubectl() {
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
