// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// raceDetector is true in executables with the race detector, see race.go.
var raceDetector bool //nolint:gochecknoglobals // a build tag sets it

// Serve is the main function of a worker process. It applies the limits that the parent process
// sends, and serves calls until standard input ends. It returns the exit status. Standard input and
// output belong to the protocol: for the handler, they are /dev/null.
func Serve(ctx context.Context, handler Handler) int {
	in, out, err := takePipes()
	if err != nil {
		return exitSetup
	}
	s := &server{handler: handler, in: in, out: out, answers: make(chan reading)}
	if err := s.handshake(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return exitSetup
	}
	if err := s.serve(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return exitProtocol
	}
	return 0
}

// takePipes returns standard input and output, and replaces them with /dev/null.
func takePipes() (in, out *os.File, err error) {
	var pipes [2]int
	for fd := range pipes {
		if pipes[fd], err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err != nil {
			return nil, nil, err
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = null.Close() }()
	for fd := range pipes {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return nil, nil, err
		}
	}
	return os.NewFile(uintptr(pipes[0]), "requests"), os.NewFile(uintptr(pipes[1]), "responses"), nil
}

// server is the state of a worker process. One goroutine reads, and the handler runs in another.
type server struct {
	handler  Handler
	settings settings
	in       io.Reader

	// write serializes frames of the handler's goroutine and of callbacks.
	write sync.Mutex
	out   io.Writer

	// asking is locked during a callback, and while a call ends. answers receives the frame that
	// answers a callback.
	asking  sync.Mutex
	answers chan reading

	// mu guards the rest: running is true from frameCall to the response, and waiting during a
	// callback.
	mu               sync.Mutex
	running, waiting bool
}

// reading is a frame that was read.
type reading struct {
	kind    kind
	payload []byte
}

// handshake applies the settings and reports them. Nothing of a tenant has been read before.
func (s *server) handshake() error {
	_, payload, err := readFrame(s.in, maxima{frameHello: maxHandshake})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(payload, &s.settings); err != nil {
		return err
	}
	r, err := confine(s.settings)
	if err != nil {
		return err
	}
	ready, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.send(frameReady, ready)
}

// serve reads frames until the end of the pipe, for which it returns nil even during a call: the
// parent process has ended.
func (s *server) serve(ctx context.Context) error {
	defer close(s.answers)
	accepted := s.settings.Sizes.toWorker()
	for {
		k, payload, err := readFrame(s.in, accepted)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if k != frameCall && k != frameTraced {
			if !s.set(&s.waiting, true, false) {
				return fmt.Errorf("%w: an answer to no callback", errFrame)
			}
			s.answers <- reading{k, payload}
			continue
		}
		m, err := parseMessage(payload)
		if err != nil {
			return err
		}
		if !s.set(&s.running, false, true) {
			return fmt.Errorf("%w: a call during another one", errFrame)
		}
		if err := s.send(frameBegun); err != nil {
			return err
		}
		go s.call(ctx, m, k == frameTraced)
	}
}

// set changes a field from one value to another. It returns false if the field has another value.
func (s *server) set(field *bool, from, to bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *field != from {
		return false
	}
	*field = to
	return true
}

func (s *server) send(k kind, parts ...[]byte) error {
	s.write.Lock()
	defer s.write.Unlock()
	return writeFrame(s.out, k, parts...)
}

// call runs the handler and sends its response. A panic ends the process.
func (s *server) call(parent context.Context, m message, traced bool) {
	returned := false
	defer func() {
		if !returned {
			fmt.Fprintf(os.Stderr, "panic: %v\n%s", recover(), debug.Stack())
			os.Exit(exitPanic)
		}
	}()
	ctx, cancel := context.WithCancel(parent)
	stop := watch(s.settings)
	finished := false // guarded by asking
	if traced {
		ctx = context.WithValue(ctx, tracerKey{}, tracer(func(note string) {
			s.asking.Lock()
			defer s.asking.Unlock()
			if !finished {
				_ = s.send(frameNote, notePayload(note)) // the parent process has ended
			}
		}))
	}
	response, err := s.handler(ctx, m.name, m.request, func(name string, request []byte) ([]byte, error) {
		s.asking.Lock()
		defer s.asking.Unlock()
		// A goroutine that the handler left behind must not reach the caller of the next call.
		if finished {
			return nil, ErrFinished
		}
		return s.ask(message{name, request})
	})
	returned = true
	cancel()
	s.asking.Lock()
	defer s.asking.Unlock()
	finished = true
	releaseMemory(s.settings)
	stop()
	s.set(&s.running, true, false)
	if err == nil {
		err = checkSize("response", len(response), s.settings.Sizes.Response)
	}
	if err != nil {
		err = s.send(frameFailure, textOf(err))
	} else {
		err = s.send(frameResult, response)
	}
	if err != nil {
		os.Exit(exitProtocol)
	}
}

// ask sends a callback and waits for its answer.
func (s *server) ask(m message) ([]byte, error) {
	if err := cmp.Or(checkSize("callback", len(m.request), s.settings.Sizes.Ask), checkSize("name", len(m.name), maxName)); err != nil {
		return nil, err
	}
	s.set(&s.waiting, false, true)
	if err := s.send(frameAsk, m.head(), m.request); err != nil {
		return nil, err
	}
	answer, ok := <-s.answers
	if !ok {
		return nil, ErrFinished
	}
	if answer.kind == frameRefusal {
		return nil, &Failure{Text: string(answer.payload)}
	}
	return answer.payload, nil
}
