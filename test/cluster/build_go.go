// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// goCommand pins the environment of every call of the go command. A workspace file above the
// repository must not pull the modules together.
func (b *builder) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.root, module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	// The go command removes its work directory on an interrupt, not when killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (b *builder) goOutput(ctx context.Context, args ...string) ([]byte, error) {
	cmd := b.goCommand(ctx, args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("go %s: %w\n%s", args[0], err, exit.Stderr)
	}
	return out, err
}

// goBuild prints a line every 20 seconds, since a first build takes minutes without output.
func (b *builder) goBuild(ctx context.Context, p product, args []string) error {
	cmd := b.goCommand(ctx, args...)
	out := &buildOutput{}
	cmd.Stdout, cmd.Stderr = out, out
	progress("building %s", p.what)
	start := time.Now()
	done := make(chan struct{})
	var beat sync.WaitGroup
	beat.Go(func() {
		ticker := time.NewTicker(20 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				progress("still building %s: %s, %s", p.what, time.Since(start).Round(time.Second), out.status())
			}
		}
	})
	err := cmd.Run()
	close(done)
	beat.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out.rest())
	}
	return nil
}

// buildOutput counts the lines of `go build -v` (one for each compiled package and downloaded
// module) and keeps all others, which are errors.
type buildOutput struct {
	mu                   sync.Mutex
	partial              []byte
	packages, downloaded int
	other                []string
}

var _ io.Writer = (*buildOutput)(nil)

func (o *buildOutput) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.partial = append(o.partial, data...)
	for {
		line, tail, found := bytes.Cut(o.partial, []byte("\n"))
		if !found {
			return len(data), nil
		}
		o.partial = tail
		switch text := string(line); {
		case strings.HasPrefix(text, "go: downloading "):
			o.downloaded++
		case text != "" && !strings.ContainsAny(text, " \t:"):
			o.packages++
		default:
			o.other = append(o.other, text)
		}
	}
}

func (o *buildOutput) status() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.packages > 0:
		return fmt.Sprintf("%d packages compiled", o.packages)
	case o.downloaded > 0:
		return fmt.Sprintf("%d modules downloaded", o.downloaded)
	default:
		return "loading packages"
	}
}

func (o *buildOutput) rest() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.other, "\n") + string(o.partial)
}
