// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Main runs a command and exits. Signals that end the process, and the end of the reader of its
// output, end the context, so that the command can clean up.
func Main(name string, run func(context.Context) error) {
	signalled, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(signalled)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	go func() {
		// Writes to a connection that the other side has closed send the signal too.
		for range pipes {
			if disconnected(syscall.Stdout) || disconnected(syscall.Stderr) {
				cancel()
			}
		}
	}()
	// controller-runtime logs a warning if no logger is set.
	log.SetLogger(logr.Discard())
	err := run(ctx)
	interrupted := ctx.Err() != nil
	cancel()
	stop()
	switch {
	case err == nil:
	case interrupted && errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "interrupted")
		os.Exit(130)
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// disconnected reports whether a file descriptor is a pipe without a reader, or a closed terminal.
func disconnected(fd int) bool {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	defer func() { _ = syscall.Close(poll) }()
	// A regular file cannot be polled.
	if syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{}) != nil {
		return false
	}
	events := make([]syscall.EpollEvent, 1)
	n, err := syscall.EpollWait(poll, events, 0)
	return err == nil && n > 0 && events[0].Events&(syscall.EPOLLERR|syscall.EPOLLHUP) != 0
}
