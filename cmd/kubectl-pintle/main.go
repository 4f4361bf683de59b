// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// The command kubectl-pintle is the plugin of kubectl for HelmReleases: kubectl pintle.
package main

import (
	"context"
	"io"
	stdlog "log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/pintle-dev/pintle/internal/cli"
	"github.com/pintle-dev/pintle/internal/render/handler"
	"github.com/pintle-dev/pintle/internal/worker"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == worker.Command {
		// Helm logs values that it cannot merge to the standard logger. They may be secret.
		stdlog.SetOutput(io.Discard)
		os.Exit(worker.Serve(context.Background(), handler.ForProcess()))
	}
	// Libraries log nothing: results and errors are printed.
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	s := &cli.Session{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Now:       time.Now,
		Env:       os.Getenv,
		Terminal:  term.IsTerminal(int(os.Stdout.Fd())),
	}
	code := s.Report(cli.Command(s).ExecuteContext(ctx))
	stop()
	os.Exit(code)
}
