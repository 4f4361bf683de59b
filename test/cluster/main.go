// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Command cluster builds, starts and stops the Kubernetes control plane of Pintle's tests and of
// `make run`: real etcd, API server, controller manager and scheduler, simulated nodes, and
// optionally the real source-controller.
//
// It imports only the standard library, so that it compiles in a second although its module
// requires all of Kubernetes. It runs on Linux only, since components end with their supervisor by
// a facility of Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage:
  cluster build   [--out DIR] [--node] [--kubernetes MINOR]
  cluster up      --kubeconfig PATH [--port-base N] [--state DIR] [--source-controller]
                  [--parent PID] [--nodes N] [--node] [--bin DIR] [--audit-log FILE]
                  [--source-advertise HOST:PORT]
  cluster restart [--state DIR]   starts again the components that have ended
  cluster down    [--state DIR]
  cluster check-node              says why up --node cannot work here, if so

cluster COMMAND -h explains a command's flags.`

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	commands := map[string]func(context.Context, []string) error{
		"build":      runBuild,
		"up":         runUp,
		"restart":    runRestart,
		"down":       runDown,
		"check-node": runCheckNode,
		"supervise":  runSupervise, // started by up; not for users
	}
	if len(args) == 0 || commands[args[0]] == nil {
		fmt.Fprintln(os.Stderr, usage)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := commands[args[0]](ctx, args[1:])
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2 // the flag package has printed the reason
	default:
		fmt.Fprintf(os.Stderr, "cluster %s: %v\n", args[0], err)
		return 1
	}
}

var errUsage = errors.New("wrong usage")

// parse rejects positional arguments: `cluster up path` is a mistake that would otherwise have no
// effect.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "%s: unexpected argument %q\n", flags.Name(), flags.Arg(0))
		return errUsage
	}
	return nil
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "cluster: "+format+"\n", args...)
}
