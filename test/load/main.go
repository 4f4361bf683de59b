// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Command load puts a load on a controller for HelmReleases, on its own control plane: bench
// measures costs, soak changes many releases for a long time, chaos disturbs the controller, and
// attacks are hostile inputs. README.md describes the loads.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/attacks"
	"github.com/pintle-dev/pintle/test/load/bench"
	"github.com/pintle-dev/pintle/test/load/chaos"
	"github.com/pintle-dev/pintle/test/load/soak"
)

func main() {
	run := map[string]func(context.Context, []string) error{
		"attacks": attacks.Run, "bench": bench.Run, "chaos": chaos.Run, "soak": soak.Run,
	}
	if len(os.Args) < 2 || run[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: load attacks|bench|chaos|soak [flags]; load bench compare A.json B.json")
		os.Exit(2)
	}
	harness.Main(os.Args[1], func(ctx context.Context) error {
		if err := run[os.Args[1]](ctx, os.Args[2:]); !errors.Is(err, flag.ErrHelp) {
			return err
		}
		return nil
	})
}
