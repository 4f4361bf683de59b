// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// supervisor runs the components in its own session, so that neither the end of the up command nor
// a Ctrl-C in its terminal affects them.
type supervisor struct {
	request
	api      *apiClient
	children []*child // in the order of their start
	exits    chan *child
	record   record
	report   *json.Encoder
	log      *log.Logger
	// machineLock keeps other clusters from having a real node.
	machineLock *os.File
}

// message is a line from the supervisor to the waiting up command.
type message struct {
	Progress string `json:",omitempty"`
	Failed   string `json:",omitempty"`
	Ready    bool   `json:",omitempty"`
}

// File descriptors that up passes, see startSupervisor.
const (
	reportFD    = 3
	stateLockFD = 4
	portLockFD  = 5
)

var (
	errAsked      = errors.New("stopped by a signal")
	errParentGone = errors.New("the parent process is gone")
	errUpGone     = errors.New("the up command is gone before the cluster was ready")
)

func runSupervise(_ context.Context, args []string) error {
	flags := flag.NewFlagSet("cluster supervise", flag.ContinueOnError)
	state := flags.String("state", "", "state `directory`")
	if err := parse(flags, args); err != nil {
		return err
	}
	// Without this the components would inherit the files, and a component that survives would hold
	// the locks.
	for _, fd := range []int{reportFD, stateLockFD, portLockFD} {
		syscall.CloseOnExec(fd)
	}
	report := os.NewFile(reportFD, "report")
	s := &supervisor{
		exits:  make(chan *child, 100),
		report: json.NewEncoder(report),
		log:    log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds),
	}
	if err := readJSON(filepath.Join(*state, requestFile), &s.request); err != nil {
		return err
	}
	return s.run(report)
}

func (s *supervisor) run(report *os.File) error {
	life, end := context.WithCancelCause(context.Background())
	defer end(nil)
	ready := make(chan struct{})
	go s.watchForEnd(end, ready)
	restarts := make(chan os.Signal, 1)
	signal.Notify(restarts, syscall.SIGHUP)

	if err := s.newRecord(); err != nil {
		return err
	}
	if err := s.start(life); err != nil {
		s.log.Printf("start failed: %v", err)
		s.stop()
		_ = s.report.Encode(message{Failed: err.Error()})
		return err
	}
	if err := s.finishStart(); err != nil {
		s.stop()
		_ = s.report.Encode(message{Failed: err.Error()})
		return err
	}
	close(ready)
	s.log.Print("ready")
	_ = s.report.Encode(message{Ready: true})
	report.Close()

	cause := s.serve(life, restarts)
	s.log.Printf("ending: %v", cause)
	s.stop()
	if errors.Is(cause, errParentGone) {
		// No later call of down removes it.
		removeKubeconfig(s.State, s.Kubeconfig)
		return removeState(s.State)
	}
	return nil
}

func (s *supervisor) finishStart() error {
	config, err := os.ReadFile(s.pki("admin.kubeconfig"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.Kubeconfig), 0o755); err != nil {
		return err
	}
	if err := replaceFile(s.Kubeconfig, config, 0o600); err != nil {
		return err
	}
	s.record.Ready = true
	return s.writeRecord()
}

// serve waits until the end. A component that ends is logged and not restarted: tests kill single
// components on purpose.
func (s *supervisor) serve(life context.Context, restarts <-chan os.Signal) error {
	for {
		select {
		case <-life.Done():
			return context.Cause(life)
		case c := <-s.exits:
			s.log.Printf("%s (process %d) ended unexpectedly: %s; the others keep running", c.name, c.id.PID, c.outcome())
		case <-restarts:
			if err := s.restartEnded(life); err != nil {
				s.log.Printf("restart: %v", err)
			}
		}
	}
}

func (s *supervisor) watchForEnd(end context.CancelCauseFunc, ready <-chan struct{}) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	launcher := s.Launcher
	for {
		select {
		case <-signals:
			end(errAsked)
			return
		case <-ready:
			ready, launcher = nil, identity{} // up may go now
		case <-ticker.C:
		}
		if s.Parent != nil && !s.Parent.alive() {
			end(errParentGone)
			return
		}
		if launcher.PID != 0 && !launcher.alive() {
			end(errUpGone)
			return
		}
	}
}

func (s *supervisor) newRecord() error {
	self, err := identify(os.Getpid())
	if err != nil {
		return err
	}
	s.record = record{
		State: s.State, LogDir: s.logDir(), Kubeconfig: s.Kubeconfig, Server: s.server(),
		PortBase: s.Ports.Base, Ports: s.Ports.byName(),
		PIDs:    map[string]int{supervisorName: self.PID},
		Started: map[string]uint64{supervisorName: self.Started},
	}
	if s.SourceController {
		s.record.SourceAddress = s.Ports.sourceArtifacts()
	}
	return s.writeRecord()
}

func (s *supervisor) writeRecord() error {
	return writeJSON(filepath.Join(s.State, recordFile), s.record)
}

func (s *supervisor) launch(c component) error {
	started, err := startChild(s.request, c)
	if err != nil {
		return err
	}
	s.children = append(s.children, started)
	return s.follow(started)
}

func (s *supervisor) follow(c *child) error {
	go func() {
		<-c.done
		s.exits <- c
	}()
	s.record.PIDs[c.name], s.record.Started[c.name] = c.id.PID, c.id.Started
	return s.writeRecord()
}

// restartEnded keeps the order of start, so etcd is back before the API server.
func (s *supervisor) restartEnded(ctx context.Context) error {
	for i, old := range s.children {
		if !old.ended() {
			continue
		}
		started, err := startChild(s.request, old.component)
		if err != nil {
			return err
		}
		s.children[i] = started
		s.log.Printf("started %s again as process %d", started.name, started.id.PID)
		if err := s.follow(started); err != nil {
			return err
		}
	}
	if err := s.await(ctx, apiServer, s.apiReady); err != nil {
		return err
	}
	s.record.Restarts++
	return s.writeRecord()
}

// stop ends the components in the reverse order of their start: the kubelet
// before containers, containers before the containerd that clears up after them.
func (s *supervisor) stop() {
	for i := len(s.children) - 1; i >= 0; i-- {
		c := s.children[i]
		if !c.ended() {
			c.stop(10 * time.Second)
			s.log.Printf("%s ended: %s", c.name, c.outcome())
		}
		if c.name == kubelet {
			// While containerd runs, it waits for ended containers as their parent.
			s.note("end the containers", errors.Join(killCgroups(s.cgroup()), s.killShims()))
		}
	}
	if s.Node {
		s.note("take down the real node", s.cleanNode())
	}
}

func (s *supervisor) note(what string, err error) {
	if err != nil {
		s.log.Printf("%s: %v", what, err)
	}
}

func (s *supervisor) tell(text string) {
	_ = s.report.Encode(message{Progress: text})
}

// await repeats check until it succeeds. Its error names the relevant component: one that has ended
// if there is one, or else the one that it waited for.
func (s *supervisor) await(ctx context.Context, name string, check func(context.Context) error) error {
	deadline := time.Now().Add(patience)
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		var waitedFor *child
		for _, c := range s.children {
			if c.ended() {
				return fmt.Errorf("%s ended: %s; %s ends with:\n%s", c.name, c.outcome(), c.logPath, c.lastLines(15))
			}
			if c.name == name {
				waitedFor = c
			}
		}
		if time.Now().After(deadline) {
			if waitedFor == nil {
				return err
			}
			return fmt.Errorf("%s is not ready after %s: %w; %s ends with:\n%s",
				name, patience, err, waitedFor.logPath, waitedFor.lastLines(15))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
