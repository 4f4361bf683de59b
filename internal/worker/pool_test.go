// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// call calls a function without callbacks.
func call(t *testing.T, c Caller, name, request string) (string, error) {
	t.Helper()
	response, err := c.Call(t.Context(), Call{Function: name, Request: []byte(request)}, nil)
	return string(response), err
}

// pid returns the process that runs the next call.
func pid(t *testing.T, p *Pool) int {
	t.Helper()
	response, err := call(t, p, "pid", "")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(response)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// eventually waits until a condition holds, which a process brings about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	t.Logf("wait for %s", what)
	for !holds() {
		time.Sleep(time.Millisecond)
	}
}

// TestCallers: a pool and Local return the same results.
func TestCallers(t *testing.T) {
	sizes := func(o *Options) { o.MaxRequest, o.MaxResponse, o.MaxAsk, o.MaxAnswer = 100, 100, 100, 100 }
	answer := func(_ context.Context, name string, request []byte) ([]byte, error) {
		if string(request) == "bad" {
			return nil, errors.New("bad callback")
		}
		return []byte(name + "(" + string(request) + ")"), nil
	}
	failure := func(text string) func(error) bool {
		return func(err error) bool {
			f, ok := errors.AsType[*Failure](err)
			return ok && f.Text == text
		}
	}
	none := func(err error) bool { return err == nil }
	for _, tc := range []struct {
		reason, name, request string
		answer                Answer
		want                  string
		check                 func(error) bool
	}{
		{"the response is returned", "upper", "abc", nil, "ABC", none},
		{"an empty response too", "upper", "", nil, "", none},
		{"callbacks are answered in their order", "ask", "x", answer, "second(first(x))", none},
		{"an error of a callback reaches the function", "ask", "bad", answer, "", failure("bad callback")},
		{"callbacks without an answer are refused", "ask", "x", nil, "", failure(`callback "first" is refused`)},
		{"an error of the function has its text", "fail", "no such key", nil, "", failure("no such key")},
		{"an empty error is an error", "fail", "", nil, "", failure("")},
		{"an unknown function is an error", "unknown", "", nil, "", failure(`function "unknown" does not exist`)},
		{"standard output belongs to the protocol", "stdout", "r\x00\x00\x00\x00", nil, "5", none},
	} {
		for kind, c := range map[string]Caller{"pool": newPool(t, sizes), "local": Local{Handler: functions().handle}} {
			response, err := c.Call(t.Context(), Call{Function: tc.name, Request: []byte(tc.request)}, tc.answer)
			if string(response) != tc.want || !tc.check(err) {
				t.Errorf("%s: %s: got %q, %v", kind, tc.reason, response, err)
			}
		}
	}
}

// TestSizes: a payload above its limit fails its call alone.
func TestSizes(t *testing.T) {
	p := newPool(t, func(o *Options) { o.MaxRequest, o.MaxResponse, o.MaxAsk, o.MaxAnswer = 1000, 2000, 300, 400 })
	long := func(n int) string { return strings.Repeat("x", n) }
	answer := func(context.Context, string, []byte) ([]byte, error) { return []byte(long(401)), nil }
	first := pid(t, p)
	for _, tc := range []struct {
		reason, name, request string
		want                  *TooLarge
		response              string
	}{
		{"a request", "upper", long(1001), &TooLarge{"request", 1001, 1000}, ""},
		{"the longest request", "upper", long(1000), nil, strings.ToUpper(long(1000))},
		{"the name", long(256), "", &TooLarge{"name", 256, 255}, ""},
		{"the longest response", "repeat", "2000", nil, long(2000)},
		{"the request of a callback", "ask again", long(301), nil, "*worker.TooLarge: a callback of 301 bytes exceeds the limit of 300 bytes"},
		{"the answer of a callback", "ask again", long(300), nil, "*worker.Failure: a answer of 401 bytes exceeds the limit of 400 bytes"},
	} {
		response, err := p.Call(t.Context(), Call{Function: tc.name, Request: []byte(tc.request)}, answer)
		got, _ := errors.AsType[*TooLarge](err)
		if string(response) != tc.response || (got == nil) != (tc.want == nil) || got != nil && *got != *tc.want {
			t.Errorf("%s: got %q, %v", tc.reason, response, err)
		}
	}
	_, err := call(t, p, "repeat", "2001")
	if failure, ok := errors.AsType[*Failure](err); !ok || failure.Text != "a response of 2001 bytes exceeds the limit of 2000 bytes" {
		t.Errorf("a response: %v", err)
	}
	if last := pid(t, p); last != first {
		t.Errorf("process %d was replaced by %d", first, last)
	}
}

// TestDeaths: a function ends its process and its call, and the error names the limit.
func TestDeaths(t *testing.T) {
	for _, tc := range []struct {
		reason, name, request string
		change                func(*Options)
		want                  []Limit
	}{
		{"memory that grows", "memory", "", nil, []Limit{Memory, MemoryOrStack}},
		{"memory near the limit", "hold memory", "", nil, []Limit{Memory}},
		{"a stack near the limit", "hold stack", "", nil, []Limit{Stack}},
		{"one large allocation", "huge", "", nil, []Limit{MemoryOrStack}},
		{"a recursion without end", "stack", "", nil, []Limit{Stack, MemoryOrStack}},
		{"a loop without end", "loop", "", func(o *Options) { o.CPULimit = 200 * time.Millisecond }, []Limit{CPU}},
		{"an exit of the process", "exit", "3", nil, []Limit{Unexpected}},
		{"an exit without an error", "exit", "0", nil, []Limit{Unexpected}},
		{"a panic of the function", "panic", "value", nil, []Limit{Panicked}},
		{"the end of the goroutine", "goexit", "", nil, []Limit{Panicked}},
		{"a panic elsewhere", "panic elsewhere", "", nil, []Limit{MemoryOrStack}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if raceDetector && tc.name == "memory" {
				tc.want = []Limit{Memory}
			}
			p := newPool(t, tc.change)
			_, err := call(t, p, tc.name, tc.request)
			died, ok := errors.AsType[*Died](err)
			if !ok || !slices.Contains(tc.want, died.Limit) {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			t.Log(err)
			if response, err := call(t, p, "upper", "next"); response != "NEXT" {
				t.Errorf("%s: the next call returned %q, %v", tc.reason, response, err)
			}
			if stats := p.Stats(); stats.Deaths[died.Limit] != 1 || stats.Calls != 2 {
				t.Errorf("%s: got %+v", tc.reason, stats)
			}
		})
	}
}

// deadline is a context whose deadline has passed once a channel is closed.
type deadline struct {
	context.Context

	passed chan struct{}
}

func (d deadline) Done() <-chan struct{} { return d.passed }

func (d deadline) Err() error {
	select {
	case <-d.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestContextEnds: the end of a context ends the call, and the process with it.
func TestContextEnds(t *testing.T) {
	cause := errors.New("shutdown")
	for _, name := range []string{"loop", "sleep"} {
		p := newPool(t, nil)
		before := pid(t, p)
		endBusy := func(ctx context.Context, end func()) error {
			busy := make(chan error)
			go func() {
				_, err := p.Call(ctx, Call{Function: name}, nil)
				busy <- err
			}()
			eventually(t, "a busy process", func() bool { return p.Stats().Busy == 1 })
			end()
			return <-busy
		}
		passed := deadline{context.WithoutCancel(t.Context()), make(chan struct{})}
		err := endBusy(passed, func() { close(passed.passed) })
		if died, ok := errors.AsType[*Died](err); !ok || died.Limit != Deadline || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: at the deadline: %v", name, err)
		}
		if after := pid(t, p); after == before {
			t.Errorf("%s: the process was used again", name)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		err = endBusy(ctx, func() { cancel(cause) })
		if died, ok := errors.AsType[*Died](err); !ok || died.Limit != Cancelled || !errors.Is(died, cause) {
			t.Errorf("%s: cancelled: %v", name, died)
		}
	}
}

// TestContextEndsInCallback: the answer of a callback gets the context of the call.
func TestContextEndsInCallback(t *testing.T) {
	p := newPool(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := p.Call(ctx, Call{Function: "ask"}, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if died, ok := errors.AsType[*Died](err); !ok || died.Limit != Cancelled {
		t.Errorf("got %v", err)
	}
}

// TestKilledFromOutside: a signal ends the call that runs. A process that dies between calls fails
// none.
func TestKilledFromOutside(t *testing.T) {
	p := newPool(t, nil)
	begun, failed := make(chan int, 1), make(chan error, 1)
	go func() {
		_, err := p.Call(t.Context(), Call{Function: "pid then loop"}, func(_ context.Context, _ string, request []byte) ([]byte, error) {
			n, err := strconv.Atoi(string(request))
			begun <- n
			return nil, err
		})
		failed <- err
	}()
	kill(t, <-begun)
	if died, ok := errors.AsType[*Died](<-failed); !ok || died.Limit != Killed || !died.Outside() || died.Text != "signal 9 (killed)" {
		t.Errorf("got %v", died)
	}
	for range 5 {
		kill(t, pid(t, p))
		if response, err := call(t, p, "upper", "next"); response != "NEXT" {
			t.Errorf("after the death of an idle process: %q, %v", response, err)
		}
	}
	if stats := p.Stats(); stats.Deaths[Killed] != 1 {
		t.Errorf("got %+v", stats)
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestNotBegun: a call whose process ends before it has read the call is repeated once.
func TestNotBegun(t *testing.T) {
	p := newPool(t, nil)
	process := pid(t, p)
	// A stopped process cannot begin.
	if err := syscall.Kill(process, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		response, err := p.Call(t.Context(), Call{Function: "upper", Request: []byte("again")}, nil)
		if err != nil {
			response = []byte(err.Error())
		}
		got <- string(response)
	}()
	eventually(t, "a busy process", func() bool { return p.Stats().Busy == 1 })
	kill(t, process)
	if response := <-got; response != "AGAIN" {
		t.Errorf("got %q", response)
	}
}

// TestTimeouts: the timeout of a call begins with its function. It ends no callback, but the process.
func TestTimeouts(t *testing.T) {
	const timeout = time.Minute
	// The bubble has the frames of a process, and this one is killed in its place.
	killed := exec.CommandContext(t.Context(), os.Args[0], commandHostile, "no handshake")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p := &process{command: killed, ended: make(chan struct{})}
		l := p.limit(testOptions(nil).withDefaults(), timeout)
		received, in := io.Pipe()
		out, sent := io.Pipe()
		go func() {
			_, _, _ = readFrame(received, maxima{frameCall: 100})
			time.Sleep(beginTimeout - 1)
			_ = writeFrame(sent, frameBegun)
			_ = writeFrame(sent, frameAsk, message{name: "x"}.head())
			_, _, _ = readFrame(received, maxima{frameAnswer: 100})
			_ = sent.Close()
		}()
		x := exchange{sizes: p.settings.Sizes, in: in, out: out, begin: l.begin, answer: func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
			time.Sleep(timeout - 1)
			if p.wasKilled() {
				t.Error("before the timeout: the process was killed")
			}
			time.Sleep(2 * time.Nanosecond)
			if ctx.Err() != nil {
				t.Error("the callback was cut off")
			}
			return nil, nil
		}}
		if _, err := x.run(t.Context(), Call{Function: "ask"}); !errors.Is(err, io.EOF) {
			t.Errorf("got %v", err)
		}
		l.stop()
		if p.killed == nil || p.killed.Limit != Deadline || !errors.Is(p.killed, context.DeadlineExceeded) {
			t.Errorf("after a callback that took longer: %v", p.killed)
		}
	})
	if err := killed.Wait(); err == nil {
		t.Error("the process was not killed")
	}

	p := newPool(t, nil)
	_, err := p.Call(t.Context(), Call{Function: "loop", Timeout: 200 * time.Millisecond}, nil)
	if died, ok := errors.AsType[*Died](err); !ok || died.Limit != Deadline {
		t.Errorf("got %v", err)
	}
	if stats := p.Stats(); stats.Deaths[Deadline] != 1 {
		t.Errorf("got %+v", stats)
	}
}

// TestQueueTimeout: a call that is queued for too long has no process. That is no death.
func TestQueueTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waited []time.Duration
		p := newPool(t, func(o *Options) {
			o.Size, o.QueueTimeout = 1, 2*time.Second
			o.Waited = func(d time.Duration) { waited = append(waited, d) }
		})
		if err := p.slots.Acquire(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		defer p.slots.Release("other")
		begin := time.Now()
		_, late := p.Call(t.Context(), Call{Function: "upper"}, nil)
		none, ok := errors.AsType[*Unavailable](late)
		if !ok || none.Cause != "all of them were busy for 2s" || !none.Since.Equal(begin) {
			t.Errorf("got %v", late)
		}
		if stats := p.Stats(); stats.Queued != 0 || stats.Calls != 0 || len(stats.Deaths) != 0 {
			t.Errorf("got %+v", stats)
		}
		if !slices.Equal(waited, []time.Duration{2 * time.Second}) {
			t.Errorf("waited for %v", waited)
		}
	})
}

// TestTraces: the death of a traced call has the last note. The call has a process of its own.
func TestTraces(t *testing.T) {
	p := newPool(t, func(o *Options) { o.Size = 1 })
	for _, tc := range []struct {
		notes  string
		traced bool
		want   string
	}{
		{"template a|template b", true, "template b"},
		{"template a|template b", false, ""},
		{"two\nlines\x1b[0m and \xff", true, "twolines[0m and "},
		{strings.Repeat("a", maxNote+1), true, strings.Repeat("a", maxNote)},
		{"", true, ""},
	} {
		_, err := p.Call(t.Context(), Call{Function: "note", Request: []byte(tc.notes), Traced: tc.traced}, nil)
		if died, ok := errors.AsType[*Died](err); !ok || died.Note != tc.want {
			t.Errorf("%q: %+v, want %q", tc.notes, err, tc.want)
		}
	}
	before := pid(t, p)
	response, err := p.Call(t.Context(), Call{Function: "pid", Traced: true}, nil)
	if after := pid(t, p); err != nil || string(response) != strconv.Itoa(after) || after == before {
		t.Errorf("process %d, a traced call in process %s and process %d: %v", before, response, after, err)
	}
	if response, err := p.Call(t.Context(), Call{Function: "late note", Traced: true}, nil); string(response) != "true" || err != nil {
		t.Errorf("a traced call is told that it is not: %q, %v", response, err)
	}
	if response, err := p.Call(t.Context(), Call{Function: "late note"}, nil); string(response) != "false" || err != nil {
		t.Errorf("a note after the end of its call: %q, %v", response, err)
	}
}

// TestCallbackOfAnEarlierCall: a goroutine that a call left behind cannot reach the caller of the
// next one.
func TestCallbackOfAnEarlierCall(t *testing.T) {
	p := newPool(t, nil)
	if _, err := call(t, p, "leave behind", ""); err != nil {
		t.Fatal(err)
	}
	response, err := p.Call(t.Context(), Call{Function: "ask late"}, func(context.Context, string, []byte) ([]byte, error) {
		t.Error("it reached the next caller")
		return nil, nil
	})
	if string(response) != ErrFinished.Error() || err != nil {
		t.Errorf("got %q, %v", response, err)
	}
}

// TestRecycling: a process is replaced after its last call, or if it has reserved too much memory.
func TestRecycling(t *testing.T) {
	p := newPool(t, func(o *Options) { o.MaxCalls = 2 })
	pids := []int{pid(t, p), pid(t, p), pid(t, p)}
	if pids[0] != pids[1] || pids[1] == pids[2] {
		t.Errorf("with two calls for each process, three calls ran in %v", pids)
	}
	if stats := p.Stats(); stats.Recycled != 1 {
		t.Errorf("got %+v", stats)
	}
	o := Options{MaxCalls: 3, MemoryLimit: 1000}
	for _, tc := range []struct {
		reason string
		calls  int
		data   int64
		want   bool
	}{
		{"within all limits", 2, 500, false},
		{"the last call", 3, 0, true},
		{"memory that counts against the limit", 1, 501, true},
	} {
		if got := o.recycle(tc.calls, tc.data); got != tc.want {
			t.Errorf("%s: got %v", tc.reason, got)
		}
	}
}

// TestMemoryIsReturned: a process that has used much memory is not replaced for it.
func TestMemoryIsReturned(t *testing.T) {
	if raceDetector {
		t.Log("the race detector keeps memory of its own")
		return
	}
	p := newPool(t, func(o *Options) { o.MemoryLimit = 256 * mebibyte })
	before := pid(t, p)
	if _, err := call(t, p, "grow", "70"); err != nil {
		t.Fatal(err)
	}
	if after := pid(t, p); after != before {
		t.Errorf("process %d was replaced by %d", before, after)
	}
}

// TestGarbage: memory that a call no longer uses does not end its process.
func TestGarbage(t *testing.T) {
	p := newPool(t, nil)
	if _, err := call(t, p, "garbage", ""); err != nil {
		t.Error(err)
	}
}

// TestQueue: calls beyond Size wait, in their order, until a process is free or their context ends.
func TestQueue(t *testing.T) {
	p := newPool(t, func(o *Options) { o.Size = 1 })
	release, entered := make(chan struct{}), make(chan struct{})
	var order []string
	var all sync.WaitGroup
	all.Go(func() {
		_, err := p.Call(t.Context(), Call{Function: "ask"}, func(_ context.Context, name string, _ []byte) ([]byte, error) {
			if name == "first" {
				close(entered)
				<-release
			}
			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-entered
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("no longer needed")
	for i, name := range []string{"a", "cancelled", "b", "c"} {
		ctx := ctx
		if name != "cancelled" {
			ctx = t.Context()
		}
		all.Go(func() {
			_, err := p.Call(ctx, Call{Function: "ask"}, func(_ context.Context, step string, _ []byte) ([]byte, error) {
				if step == "first" {
					order = append(order, name)
				}
				return nil, nil
			})
			if errors.Is(err, cause) != (name == "cancelled") || name != "cancelled" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		eventually(t, "a queued call", func() bool { return p.Stats().Queued == int64(i+1) })
	}
	cancel(cause)
	eventually(t, "the end of the cancelled call", func() bool { return p.Stats().Queued == 3 })
	close(release)
	all.Wait()
	if want := []string{"a", "b", "c"}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, not %v", order, want)
	}
	if stats := p.Stats(); stats.Started != 1 || stats.Queued != 0 || stats.Busy != 0 || stats.Idle != 1 {
		t.Errorf("got %+v", stats)
	}
}

// TestTenants: queued calls of a tenant whose calls take long run after that of another tenant.
func TestTenants(t *testing.T) {
	p := newPool(t, func(o *Options) { o.Size = 1 })
	entered, release := make(chan struct{}), make(chan struct{})
	var order []string
	var all sync.WaitGroup
	begin := func(tenant, name string) {
		all.Go(func() {
			_, err := p.Call(t.Context(), Call{Function: "ask", Tenant: tenant}, func(_ context.Context, step string, _ []byte) ([]byte, error) {
				if step == "first" {
					order = append(order, name)
				}
				if name == "a" && step == "first" {
					close(entered)
					<-release
				}
				return nil, nil
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	begin("busy", "a")
	<-entered
	for i, name := range []string{"b", "c", "d"} {
		tenant := "busy"
		if name == "d" {
			tenant = "other"
		}
		begin(tenant, name)
		eventually(t, "a queued call", func() bool { return p.Stats().Queued == int64(i+1) })
	}
	close(release)
	all.Wait()
	if want := []string{"a", "d", "b", "c"}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, not %v", order, want)
	}
}

// TestReservedProcess: a tenant that has used much does not get the last process, but others do.
func TestReservedProcess(t *testing.T) {
	var passed atomic.Int64
	p := newPool(t, func(o *Options) {
		o.Size, o.Now = 2, func() time.Time { return time.Unix(1e9, passed.Load()) }
	})
	call := func(tenant string, answer func()) {
		_, err := p.Call(t.Context(), Call{Function: "ask", Tenant: tenant}, func(context.Context, string, []byte) ([]byte, error) {
			answer()
			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	short := func() { passed.Add(int64(time.Second)) }
	call("other", short)
	entered, end := make(chan struct{}, 4), make(chan struct{})
	var all sync.WaitGroup
	long := func() { all.Go(func() { call("busy", func() { entered <- struct{}{}; <-end }) }) }
	long()
	<-entered
	passed.Add(int64(2 * reserve))
	long()
	eventually(t, "a queued call", func() bool { return p.Stats().Queued == 1 })
	call("other", short)
	if s := p.Stats(); s.Queued != 1 || s.Busy != 1 {
		t.Errorf("the second call has got the last process: %+v", s)
	}
	close(end)
	all.Wait()
}

// TestIdle: processes start with calls, and idle ones end, except one.
func TestIdle(t *testing.T) {
	p := newPool(t, func(o *Options) { o.Size, o.IdleTimeout = 3, 50*time.Millisecond })
	if stats := p.Stats(); stats.Started != 0 {
		t.Errorf("before the first call: %+v", stats)
	}
	together := make(chan struct{})
	var all sync.WaitGroup
	var once sync.Once
	for range 3 {
		all.Go(func() {
			_, err := p.Call(t.Context(), Call{Function: "ask"}, func(context.Context, string, []byte) ([]byte, error) {
				if p.Stats().Busy == 3 {
					once.Do(func() { close(together) })
				}
				<-together
				return nil, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	eventually(t, "one idle process", func() bool { return p.Stats().Idle == 1 })
	if stats := p.Stats(); stats.Started != 3 {
		t.Errorf("got %+v", stats)
	}
}

// TestClose: it ends calls and processes, and later calls fail.
func TestClose(t *testing.T) {
	p := New(testOptions(func(o *Options) { o.Size = 1 }))
	process := pid(t, p)
	results := make(chan error, 2)
	for i := range 2 {
		go func() {
			_, err := p.Call(t.Context(), Call{Function: "loop"}, nil)
			results <- err
		}()
		eventually(t, "a call", func() bool { return p.Stats().Busy+p.Stats().Queued == int64(i+1) })
	}
	p.Close()
	for range 2 {
		if err := <-results; !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := call(t, p, "upper", ""); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := syscall.Kill(process, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d has not ended: %v", process, err)
	}
	p.Close()
}

// TestStartFails: a failure to start a process is not one of the request.
func TestStartFails(t *testing.T) {
	for _, tc := range []struct {
		reason string
		change func(*Options)
	}{
		{"no executable", func(o *Options) { o.Executable = "/does/not/exist" }},
		{"an executable that ends", func(o *Options) { o.Args = []string{commandHostile, "end"} }},
		{"one without a handshake", func(o *Options) { o.Args = []string{commandHostile, "garbage at start"} }},
	} {
		p := newPool(t, tc.change)
		begin := time.Now()
		_, err := call(t, p, "upper", "")
		none, ok := errors.AsType[*Unavailable](err)
		if !ok || !strings.HasPrefix(none.Cause, "starting one failed: ") || none.Since.Before(begin) || none.Unwrap() == nil {
			t.Errorf("%s: got %v", tc.reason, err)
		}
		if stats := p.Stats(); stats.NotStarted != 1 || len(stats.Deaths) != 0 {
			t.Errorf("%s: %+v", tc.reason, stats)
		}
	}
}

// TestContextEndsDuringStart: the end of a context ends the start of a process.
func TestContextEndsDuringStart(t *testing.T) {
	p := newPool(t, func(o *Options) { o.Args = []string{commandHostile, "no handshake"} })
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := p.Call(ctx, Call{Function: "upper"}, nil)
		failed <- err
	}()
	eventually(t, "a process", func() bool { return p.Stats().Started == 1 })
	cause := errors.New("no longer needed")
	cancel(cause)
	eventually(t, "the end of the call", func() bool { return len(failed) == 1 })
	if err := <-failed; !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// TestStarterThread: processes are started by one thread, which runs nothing else and so cannot end
// with another goroutine.
func TestStarterThread(t *testing.T) {
	s := newStarter()
	defer s.stop()
	starterThread := func() int {
		thread := make(chan int, 1)
		s.requests <- func() { thread <- unix.Gettid() }
		return <-thread
	}
	before := starterThread()
	var all, running sync.WaitGroup
	running.Add(100)
	for range 100 {
		all.Go(func() {
			runtime.LockOSThread() // so that each has a thread
			defer runtime.UnlockOSThread()
			if unix.Gettid() == before {
				t.Error("another goroutine runs on the thread")
			}
			running.Done()
			running.Wait()
		})
	}
	all.Wait()
	if after := starterThread(); after != before {
		t.Errorf("thread %d became %d", before, after)
	}
}
