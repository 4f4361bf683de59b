// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Commands of the test binary, which is also the executable of all processes.
const (
	commandWorker  = "test-worker"
	commandHostile = "test-hostile"
	commandParent  = "test-parent"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case commandWorker:
			os.Exit(Serve(context.Background(), functions().handle))
		case commandHostile:
			hostile(os.Args[2])
			os.Exit(0)
		case commandParent:
			runParent(os.Args[2])
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// newPool returns a pool whose processes run this test binary.
func newPool(t *testing.T, change func(*Options)) *Pool {
	t.Helper()
	p := New(testOptions(change))
	t.Cleanup(p.Close)
	return p
}

func testOptions(change func(*Options)) Options {
	o := Options{Args: []string{commandWorker}, Now: time.Now}
	if change != nil {
		change(&o)
	}
	return o
}

var (
	// sink keeps memory reachable.
	sink [][]byte
	// late is the callback of the last call of "leave behind".
	late Ask
	// lateContext is the context of the last call of "late note".
	lateContext context.Context // it outlives its call
)

// byName has functions by their names. Its method handle is a Handler.
type byName map[string]func(ctx context.Context, request []byte, ask Ask) ([]byte, error)

func (f byName) handle(ctx context.Context, name string, request []byte, ask Ask) ([]byte, error) {
	function, known := f[name]
	if !known {
		return nil, fmt.Errorf("function %q does not exist", name)
	}
	return function(ctx, request, ask)
}

// functions are those that worker processes have in tests.
func functions() byName {
	plain := func(f func(request []byte) ([]byte, error)) func(context.Context, []byte, Ask) ([]byte, error) {
		return func(_ context.Context, request []byte, _ Ask) ([]byte, error) { return f(request) }
	}
	all := byName{
		"upper": plain(func(request []byte) ([]byte, error) { return bytes.ToUpper(request), nil }),
		"fail":  plain(func(request []byte) ([]byte, error) { return nil, errors.New(string(request)) }),
		"ask": func(_ context.Context, request []byte, ask Ask) ([]byte, error) {
			first, err := ask("first", request)
			if err != nil {
				return nil, err
			}
			return ask("second", first)
		},
		"ask again": func(_ context.Context, request []byte, ask Ask) ([]byte, error) {
			_, err := ask("first", request)
			return fmt.Appendf(nil, "%T: %v", err, err), nil
		},
		"repeat": plain(func(request []byte) ([]byte, error) {
			n, err := strconv.Atoi(string(request))
			return bytes.Repeat([]byte("x"), n), err
		}),
		"pid": plain(func([]byte) ([]byte, error) { return strconv.AppendInt(nil, int64(os.Getpid()), 10), nil }),
		"stdout": plain(func(request []byte) ([]byte, error) {
			n, err := os.Stdout.Write(request)
			return strconv.AppendInt(nil, int64(n), 10), err
		}),
		"sleep": func(context.Context, []byte, Ask) ([]byte, error) { select {} },
		"pid then loop": func(_ context.Context, _ []byte, ask Ask) ([]byte, error) {
			if _, err := ask("pid", strconv.AppendInt(nil, int64(os.Getpid()), 10)); err != nil {
				return nil, err
			}
			return endings()["loop"](nil)
		},
		"pid then ask": func(_ context.Context, _ []byte, ask Ask) ([]byte, error) {
			if _, err := ask("pid", strconv.AppendInt(nil, int64(os.Getpid()), 10)); err != nil {
				return nil, err
			}
			return ask("wait", nil)
		},
		"note": func(ctx context.Context, request []byte, _ Ask) ([]byte, error) {
			for note := range strings.SplitSeq(string(request), "|") {
				Note(ctx, note)
			}
			os.Exit(exitMemory)
			return nil, nil
		},
		"late note": func(ctx context.Context, _ []byte, _ Ask) ([]byte, error) {
			if lateContext != nil {
				Note(lateContext, "late")
			}
			lateContext = ctx
			return strconv.AppendBool(nil, Traced(ctx)), nil
		},
		"leave behind": func(_ context.Context, request []byte, ask Ask) ([]byte, error) {
			late = ask
			return nil, nil
		},
		"ask late": func(_ context.Context, request []byte, _ Ask) ([]byte, error) {
			_, err := late("late", request)
			return fmt.Appendf(nil, "%v", err), nil
		},
	}
	for name, f := range endings() {
		all[name] = plain(f)
	}
	for name, f := range inspections() {
		all[name] = plain(f)
	}
	return all
}

// endings are functions that end their process.
func endings() map[string]func([]byte) ([]byte, error) {
	return map[string]func([]byte) ([]byte, error){
		"allocate": func([]byte) ([]byte, error) {
			large := make([]byte, 1<<30)
			for i := range large {
				large[i] = 1
			}
			return large[:1], nil
		},
		"memory": func([]byte) ([]byte, error) {
			for {
				sink = append(sink, bytes.Repeat([]byte("x"), 1<<20))
			}
		},
		"huge":  func([]byte) ([]byte, error) { return make([]byte, 1<<40), nil },
		"stack": func([]byte) ([]byte, error) { return nil, errors.New(strconv.Itoa(recurse(0))) },
		"garbage": func([]byte) ([]byte, error) {
			sink = append(sink, bytes.Repeat([]byte("x"), DefaultMemoryLimit/16*7))
			for range 300 {
				sink = append(sink[:1], bytes.Repeat([]byte("x"), 1<<20))
			}
			sink = nil
			return nil, nil
		},
		// The next two stay between the limit of watch and that of the kernel.
		"hold memory": func([]byte) ([]byte, error) {
			for u := readUsage(); u.mapped-u.released <= DefaultMemoryLimit/8*7; u = readUsage() {
				sink = append(sink, bytes.Repeat([]byte("x"), 1<<20))
			}
			select {}
		},
		"hold stack": func([]byte) ([]byte, error) { return nil, errors.New(strconv.Itoa(descend(DefaultMemoryLimit / 8))) },
		"loop": func([]byte) ([]byte, error) {
			for i := 0; ; i++ {
			}
		},
		"exit": func(request []byte) ([]byte, error) {
			n, err := strconv.Atoi(string(request))
			if err == nil {
				os.Exit(n)
			}
			return nil, err
		},
		"panic":  func(request []byte) ([]byte, error) { panic(string(request)) },
		"goexit": func([]byte) ([]byte, error) { runtime.Goexit(); return nil, nil },
		"panic elsewhere": func([]byte) ([]byte, error) {
			go panic("elsewhere")
			select {}
		},
		"grow": func(request []byte) ([]byte, error) {
			n, err := strconv.Atoi(string(request))
			sink = append(sink[:0], bytes.Repeat([]byte("x"), n<<20))
			sink = nil
			return nil, err
		},
	}
}

// recurse never returns. It returns a value after the call, so that it is no tail call.
func recurse(n int) int {
	var frame [128]int
	frame[n%len(frame)] = recurse(n + 1) //nolint:staticcheck // the stack is to overflow
	return frame[n%7] + frame[n%len(frame)]
}

// descend uses size bytes of the stack, and never returns.
func descend(size int) int {
	var frame [128]int
	if size < 0 {
		select {}
	}
	frame[size%len(frame)] = descend(size - 8*len(frame))
	return frame[size%7] + frame[size%len(frame)]
}

// inspections are functions that report the state of their process.
func inspections() map[string]func([]byte) ([]byte, error) {
	return map[string]func([]byte) ([]byte, error){
		"environment": func([]byte) ([]byte, error) { return []byte(strings.Join(os.Environ(), " ")), nil },
		"zone": func([]byte) ([]byte, error) {
			_, err := time.LoadLocation("Europe/Berlin")
			return fmt.Appendf(nil, "%s %v", time.Unix(0, 0).Format("MST"), err != nil), nil
		},
		"descriptors": func([]byte) ([]byte, error) {
			var open []int
			for fd := range 1024 {
				if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
					open = append(open, fd)
				}
			}
			return json.Marshal(open)
		},
		"usage": func([]byte) ([]byte, error) {
			u := readUsage()
			return fmt.Appendf(nil, "%d %d %d", u.mapped, u.released, u.stacks), nil
		},
		"syscall": forbidden,
	}
}
