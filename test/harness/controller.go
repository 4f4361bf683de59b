// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopTimeout is how long a last scrape and the end of the controller may take before it is killed.
// It is shorter than the controller's own limit, and far longer than a slow machine needs.
const stopTimeout = 9 * time.Minute

// Hosts of the loopback interface at which servers of controllers listen: the metrics, the web page
// and the probes. With port 0 in the controller's arguments, Controller.Address returns the address
// with the selected port.
const (
	MetricsHost = "127.64.0.1"
	PageHost    = "127.64.0.2"
	HealthHost  = "127.64.0.3"
)

// Controller runs the controller as a process, which may be restarted. The output of all its
// processes goes to one file.
type Controller struct {
	LogPath string

	path string
	args []string
	env  []string
	// canaries, if set, search the log and metrics.
	canaries *Canaries

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
	// ended is the result of a process that ended unexpectedly; nil while it should run.
	ended error
	// exit is the result of the last ended process; nil with exit status 0.
	exit error
	// lastMetrics reads the metrics of the process a last time.
	lastMetrics func(context.Context)
}

func newController(o Options, kubeconfig string) *Controller {
	return &Controller{
		LogPath: filepath.Join(o.Dir, "controller.log"),
		path:    o.Controller,
		// Fixed ports of several controllers would conflict.
		args: append([]string{noMetrics, "--health-addr=0", "--log-encoding=console"}, o.ControllerArgs...),
		env:  append(append(os.Environ(), "KUBECONFIG="+kubeconfig, "RUNTIME_NAMESPACE=default", "GORACE=halt_on_error=1"), o.ControllerEnv...),
	}
}

// NewController returns a controller that is not started, with exactly the given arguments and
// environment.
func NewController(path string, args, env []string, logPath string) *Controller {
	return &Controller{LogPath: logPath, path: path, args: args, env: env}
}

// OtherController returns another controller that is not started. It has the arguments of the
// environment's controller, more arguments, and its own log.
func (e *Environment) OtherController(path string, args ...string) *Controller {
	ours := e.Controller
	return &Controller{LogPath: filepath.Join(e.dir, "other.log"), path: path, args: slices.Concat(ours.args, args), env: ours.env, canaries: ours.canaries}
}

// Variant returns OtherController with the executable of the environment's controller.
func (e *Environment) Variant(args ...string) *Controller {
	return e.OtherController(e.Controller.path, args...)
}

// In adds variables to the environment of processes that are started from now on. It returns c.
func (c *Controller) In(env ...string) *Controller {
	c.env = slices.Concat(c.env, env)
	return c
}

// Start starts the process. It does not wait until the process is ready.
func (c *Controller) Start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	logFile, err := os.OpenFile(c.LogPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	args, metrics := c.observed()
	cmd := exec.Command(c.path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.env, logFile, logFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started, done := make(chan error), make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = logFile.Close() }()
		// The kernel sends Pdeathsig when the thread that started the process ends, so the thread
		// must outlive the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.exit = err
		if c.cmd == cmd {
			c.ended = fmt.Errorf("the controller ended by itself: %s", exitText(err))
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start the controller: %w", err)
	}
	c.cmd, c.done, c.ended = cmd, done, nil
	if c.canaries != nil {
		c.lastMetrics = c.canaries.Metrics(filepath.Base(c.LogPath), func(ctx context.Context) ([]string, error) {
			all, err := scrape(ctx, cmd.Process.Pid, metrics)
			return slices.Collect(maps.Keys(all)), err
		})
	}
	return nil
}

const noMetrics = "--metrics-addr=0"

// observed returns the arguments of the next process, and the address of its metrics. With canaries,
// the process serves metrics instead of none.
func (c *Controller) observed() (args []string, metrics string) {
	for _, arg := range c.args {
		if value, ok := strings.CutPrefix(arg, "--metrics-addr="); ok {
			metrics = value
		}
	}
	if c.canaries == nil {
		return c.args, metrics
	}
	c.canaries.Log(c.LogPath)
	if metrics != "0" {
		return c.args, metrics
	}
	metrics = net.JoinHostPort(MetricsHost, "0")
	return append(slices.Clone(c.args), "--metrics-addr="+metrics), metrics
}

// scrapeTimeout is the timeout of a scrape of a controller.
const scrapeTimeout = 5 * time.Second

// scrape returns the metrics of a process, whose address may have port 0.
func scrape(ctx context.Context, pid int, address string) (Metrics, error) {
	host, port, err := net.SplitHostPort(address)
	if err == nil && port == "0" {
		address, err = listening(pid, host)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	return Scrape(ctx, http.DefaultClient, "http://"+address+"/metrics")
}

// Metrics returns the metrics of the process. It requires canaries, or an argument with the address.
func (c *Controller) Metrics(ctx context.Context) (Metrics, error) {
	_, address := c.observed()
	return scrape(ctx, c.PID(), address)
}

// Address returns the address at which the process listens at a host, and fails if it does not yet.
// The argument of the address must have the host with port 0.
func (c *Controller) Address(host string) (string, error) { return listening(c.PID(), host) }

func exitText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// Stop sends SIGTERM and waits until the process has ended.
func (c *Controller) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	c.mu.Lock()
	last := c.lastMetrics
	c.lastMetrics = nil
	c.mu.Unlock()
	if last != nil {
		last(ctx)
	}
	return c.end(ctx, syscall.SIGTERM)
}

// Kill sends SIGKILL and waits until the process has ended.
func (c *Controller) Kill(ctx context.Context) error { return c.end(ctx, syscall.SIGKILL) }

func (c *Controller) end(ctx context.Context, signal syscall.Signal) error {
	c.mu.Lock()
	cmd, done, ended := c.cmd, c.done, c.ended
	c.cmd, c.ended = nil, nil
	c.mu.Unlock()
	if cmd == nil || ended != nil {
		return ended
	}
	if err := cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end the controller: %w", err)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		<-done
		return fmt.Errorf("the controller did not end within %s of signal %q and was killed; its log ends:\n%s",
			stopTimeout, signal, c.LogTail(20))
	}
}

// PID returns the process ID, or 0 if no process runs.
func (c *Controller) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd == nil || c.ended != nil {
		return 0
	}
	return c.cmd.Process.Pid
}

// Ended returns an error if the process ended unexpectedly.
func (c *Controller) Ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// Exit returns the result of the last ended process: nil if its exit status was 0.
func (c *Controller) Exit() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exit
}

// Signal sends a signal to the process, if one runs, and does not wait.
func (c *Controller) Signal(signal syscall.Signal) error {
	pid := c.PID()
	if pid == 0 {
		return errors.New("no controller runs")
	}
	return syscall.Kill(pid, signal)
}

// LogTail returns the last lines of the log.
func (c *Controller) LogTail(lines int) string {
	content, err := os.ReadFile(c.LogPath)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
