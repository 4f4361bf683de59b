// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attacks are system calls that a worker process may not make, by name. Arguments are valid, so that
// they succeed or fail for another reason without a filter.
func attacks() map[string]func() error {
	path, _ := syscall.BytePtrFromString("/proc/self/status")
	name := uintptr(unsafe.Pointer(path))
	raw := func(number uintptr, args ...uintptr) func() error {
		var a [6]uintptr
		copy(a[:], args)
		return func() error {
			if _, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
				return errno
			}
			return nil
		}
	}
	page := uintptr(os.Getpagesize())
	private := uintptr(unix.MAP_PRIVATE | unix.MAP_ANONYMOUS)
	writable := uintptr(unix.PROT_READ | unix.PROT_WRITE)
	return map[string]func() error{
		"open a file":       func() error { _, err := os.ReadFile("/proc/self/status"); return err },
		"create a file":     func() error { _, err := os.CreateTemp("", ""); return err },
		"list a directory":  func() error { _, err := os.ReadDir("/"); return err },
		"stat a file":       func() error { _, err := os.Stat("/"); return err },
		"openat2":           raw(unix.SYS_OPENAT2, ^uintptr(99), name, uintptr(unsafe.Pointer(&unix.OpenHow{})), unix.SizeofOpenHow),
		"TCP socket":        func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); return err },
		"UNIX socket":       func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err },
		"execve":            func() error { return unix.Exec("/proc/self/exe", []string{"pintle"}, nil) },
		"start a process":   func() error { return exec.Command("/proc/self/exe").Run() },
		"fork":              raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD)),
		"clone3":            raw(unix.SYS_CLONE3, 0, 0),
		"ptrace":            raw(unix.SYS_PTRACE, unix.PTRACE_TRACEME),
		"read the parent":   raw(unix.SYS_PROCESS_VM_READV, uintptr(os.Getppid())),
		"kill the parent":   func() error { return unix.Kill(os.Getppid(), 0) },
		"tgkill the parent": func() error { return unix.Tgkill(parentPID, parentPID, 0) },
		"kill all":          func() error { return unix.Kill(-1, 0) },
		"pidfd of parent":   func() error { _, err := unix.PidfdOpen(parentPID, 0); return err },
		"executable memory": raw(unix.SYS_MMAP, 0, page, unix.PROT_READ|unix.PROT_EXEC, private, ^uintptr(0)),
		"shared memory":     raw(unix.SYS_MMAP, 0, page, writable, unix.MAP_SHARED|unix.MAP_ANONYMOUS, ^uintptr(0)),
		"uncounted memory":  raw(unix.SYS_MMAP, 0, page, writable, private|unix.MAP_GROWSDOWN, ^uintptr(0)),
		"memory file":       func() error { _, err := unix.MemfdCreate("x", 0); return err },
		"mprotect to exec":  func() error { return unix.Mprotect(ownPage, unix.PROT_READ|unix.PROT_EXEC) },
		"dumpable again":    func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) },
		"survive parent":    func() error { return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) },
		"raise a limit":     func() error { return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 99, Max: 99}) },
		"mount":             func() error { return unix.Mount("none", "/", "tmpfs", 0, "") },
		"unshare":           func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
		"chroot":            func() error { return unix.Chroot("/") },
		"setuid":            raw(unix.SYS_SETUID, 0),
		"bpf":               raw(unix.SYS_BPF, 0, 0, 0),
		"io_uring":          raw(unix.SYS_IO_URING_SETUP, 1, 0),
		"perf events":       raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0),
		"keys":              raw(unix.SYS_KEYCTL, 0, ^uintptr(2), 0),
		"userfaultfd":       raw(unix.SYS_USERFAULTFD, 0),
		"resize a pipe":     func() error { _, err := unix.FcntlInt(1, unix.F_SETPIPE_SZ, 1<<20); return err },
		"duplicate a file":  func() error { _, err := unix.Dup(1); return err },
		"another pipe":      func() error { return unix.Pipe2(make([]int, 2), 0) },
		"host name":         func() error { _, err := os.Hostname(); return err },
		"change a priority": func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 1) },
		"other convention":  raw(uintptr(x32(unix.SYS_GETPID))),
	}
}

var (
	parentPID = os.Getppid()
	// ownPage is a page of this process.
	ownPage, _ = unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
)

// x32 returns the number of a system call in the x32 convention of amd64. On other architectures, no
// system call has the number.
func x32(number uint32) uint32 { return number | 0x40000000 }

// forbidden makes a system call and returns its error.
func forbidden(request []byte) ([]byte, error) {
	err := attacks()[string(request)]()
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return fmt.Appendf(nil, "%v", err), nil
	}
	return []byte(unix.ErrnoName(errno)), nil
}

// TestForbiddenSystemCalls: each is refused, and the process goes on.
func TestForbiddenSystemCalls(t *testing.T) {
	p := newPool(t, nil)
	first := pid(t, p)
	for name := range attacks() {
		want := "EPERM"
		switch name {
		case "clone3":
			want = "ENOSYS"
		case "dumpable again", "survive parent":
			want = "EINVAL"
		}
		if got, err := call(t, p, "syscall", name); got != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if stats := p.Stats(); stats.Unfiltered != 0 || pid(t, p) != first {
		t.Errorf("got %+v", stats)
	}
}

// TestConfined: what the kernel reports about an idle process.
func TestConfined(t *testing.T) {
	p := newPool(t, nil)
	process := pid(t, p)
	read := func(name string) string {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", process, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	status := read("status")
	for _, want := range []string{"NoNewPrivs:\t1\n", "Seccomp:\t2\n", "CoreDumping:\t0\n"} {
		if !strings.Contains(status, want) {
			t.Errorf("the status has no %q:\n%s", want, status)
		}
	}
	limits := strings.Join(strings.Fields(read("limits")), " ")
	for _, want := range []string{"Max cpu time 12001 12001 ", "Max file size 0 0 ", "Max core file size 0 0 ", "Max open files 9 9 "} {
		if !strings.Contains(limits, want) {
			t.Errorf("the limits have no %q: %s", want, limits)
		}
	}
	_, after, _ := strings.Cut(limits, "Max data size ")
	var data int64
	if _, err := fmt.Sscan(after, &data); !raceDetector && (err != nil || data < DefaultMemoryLimit || data > DefaultMemoryLimit+128*mebibyte) {
		t.Errorf("the limit of memory is %d, %v", data, err)
	}
	_, after, _ = strings.Cut(limits, "Max address space ")
	var pages, most int64
	_, errSize := fmt.Sscan(read("statm"), &pages)
	_, errLimit := fmt.Sscan(after, &most)
	size := pages * int64(os.Getpagesize())
	if err := errors.Join(errSize, errLimit); !raceDetector && (err != nil || most <= size || most > size+DefaultMemoryLimit+reservation) {
		t.Errorf("the limit of the address space is %d, of which %d are in use, %v", most, size, err)
	}
}

// TestLargeAllocation: one allocation that exceeds the limit ends the process before the memory is
// used. The kernel does not count it against RLIMIT_DATA.
func TestLargeAllocation(t *testing.T) {
	if raceDetector {
		t.Log("executables with the race detector have no limit")
		return
	}
	p := newPool(t, nil)
	peak := make(chan int64)
	begun := make(chan int)
	go func() {
		most, process := int64(0), strconv.Itoa(<-begun)
		for {
			_, data, err := memoryOf(process)
			if err != nil {
				peak <- most
				return
			}
			most = max(most, data)
		}
	}()
	begun <- pid(t, p)
	_, err := p.Call(t.Context(), Call{Function: "allocate"}, nil)
	if died, ok := errors.AsType[*Died](err); !ok || died.Limit != Memory && died.Limit != MemoryOrStack {
		t.Errorf("the call ended with %v", err)
	}
	if most := <-peak; most > DefaultMemoryLimit+reservation {
		t.Errorf("the process had %d bytes", most)
	}
}

// TestDescriptors: a process has the pipes and the descriptors of its runtime, and none of the
// parent's.
func TestDescriptors(t *testing.T) {
	// Without close-on-exec, as a parent inherits descriptors.
	inherited, err := unix.FcntlInt(os.Stdin.Fd(), unix.F_DUPFD, 700)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(inherited) }()
	if err := Protect(); err != nil {
		t.Fatal(err)
	}
	p := newPool(t, nil)
	response, err := call(t, p, "descriptors", "")
	if err != nil {
		t.Fatal(err)
	}
	var open []int
	if err := json.Unmarshal([]byte(response), &open); err != nil {
		t.Fatal(err)
	}
	// Three standard descriptors, two pipes, and epoll and eventfd of the runtime.
	if len(open) < 5 || len(open) > 7 || open[len(open)-1] >= maxDescriptors {
		t.Errorf("open descriptors are %v", open)
	}
	if response, err := call(t, p, "environment", ""); response != "GOMAXPROCS=2 GODEBUG=containermaxprocs=0,updatemaxprocs=0 TZ=" {
		t.Errorf("the environment is %q, %v", response, err)
	}
}

// TestNoDescriptorLeak: processes that have ended leave no pipes in the parent.
func TestNoDescriptorLeak(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := count()
	p := New(testOptions(func(o *Options) { o.MaxCalls = 2 }))
	for range 10 {
		pid(t, p)
		if _, err := call(t, p, "exit", "1"); err == nil {
			t.Fatal("no error")
		}
	}
	p.Close()
	if after := count(); after > before {
		t.Errorf("%d descriptors became %d", before, after)
	}
}

// TestTimeZone: the local zone is that of the options, and no other zone can be loaded.
func TestTimeZone(t *testing.T) {
	p := newPool(t, nil)
	if got, err := call(t, p, "zone", ""); got != "UTC true" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestParentDies: a busy process ends with its parent, whatever ends the parent.
func TestParentDies(t *testing.T) {
	parent := exec.Command("/proc/self/exe", commandParent, "busy")
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for range 3 {
		var n int
		if _, err := fmt.Fscanln(out, &n); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, n)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	for _, n := range pids {
		eventually(t, fmt.Sprintf("the end of process %d", n), func() bool { return hasEnded(n) })
	}
}

// hasEnded reports whether a process does not exist or is a zombie: its new parent may reap none.
func hasEnded(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	fields := strings.Fields(string(raw))
	return len(fields) > 2 && slices.Contains([]string{"Z", "X"}, fields[2])
}

// TestProtected: an unprivileged parent process that is protected can start processes and read its
// own files that libraries read.
func TestProtected(t *testing.T) {
	parent := exec.Command("/proc/self/exe", commandParent, "protected")
	if os.Getuid() == 0 {
		parent.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	}
	out, err := parent.CombinedOutput()
	if err != nil || string(out) != "NOT DUMPABLE\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

// runParent is a parent process. In mode protected, it prints a response. In mode busy, it prints the
// IDs of processes that compute, wait for a callback, and do neither, and waits.
func runParent(mode string) {
	p := New(Options{Args: []string{commandWorker}})
	if mode == "protected" {
		if err := Protect(); err != nil {
			panic(err)
		}
		for _, name := range []string{"status", "stat", "limits", "statm", "maps", "fd"} {
			f, err := os.Open("/proc/self/" + name)
			if err != nil {
				panic(err)
			}
			_ = f.Close()
		}
		dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		if dumpable != 0 || err != nil {
			panic(dumpable)
		}
		response, err := p.Call(context.Background(), Call{Function: "upper", Request: []byte("not dumpable")}, nil)
		if err != nil {
			panic(err)
		}
		process, err := p.Call(context.Background(), Call{Function: "pid"}, nil)
		if err != nil {
			panic(err)
		}
		var stat unix.Stat_t
		if err := unix.Stat("/proc/"+string(process)+"/environ", &stat); err != nil || stat.Uid == uint32(os.Getuid()) {
			panic(fmt.Sprintf("the worker process is dumpable: %v, %v", stat.Uid, err))
		}
		fmt.Println(string(response))
		p.Close()
		return
	}
	// The last process does not read standard input, so it does not find its end.
	deaf := New(Options{Args: []string{commandHostile, "deaf"}})
	for i, name := range []string{"pid then loop", "pid then ask", "deaf"} {
		if i == 2 {
			p = deaf
		}
		printed := make(chan struct{})
		go func() {
			_, _ = p.Call(context.Background(), Call{Function: name}, func(_ context.Context, name string, request []byte) ([]byte, error) {
				if name == "pid" {
					fmt.Println(string(request))
					close(printed)
					return nil, nil
				}
				select {}
			})
		}()
		<-printed
	}
	select {}
}

// hostile is a worker process that a tenant has taken over.
func hostile(mode string) {
	out := os.Stdout
	ready := func() {
		r, _ := json.Marshal(report{Filter: true, MemoryLimit: true})
		_ = writeFrame(out, frameReady, r)
		_, _, _ = readFrame(os.Stdin, maxima{frameHello: maxHandshake})
		_, _, _ = readFrame(os.Stdin, maxima{frameCall: 1 << 20})
	}
	garbage := []byte(strings.Repeat("garbage ", 1<<17))
	switch mode {
	case "end":
	case "garbage at start":
		_, _ = out.Write(garbage)
	case "no handshake":
		time.Sleep(time.Hour)
	case "garbage":
		ready()
		_, _ = out.Write(garbage)
		time.Sleep(time.Hour)
	case "huge length":
		ready()
		_ = writeFrame(out, frameBegun)
		_, _ = out.Write([]byte{byte(frameResult), 0xff, 0xff, 0xff, 0xff})
		time.Sleep(time.Hour)
	case "length without payload":
		ready()
		_ = writeFrame(out, frameBegun)
		_, _ = out.Write([]byte{byte(frameResult), 0x00, 0xff, 0xff, 0xff})
	case "result before begun":
		ready()
		_ = writeFrame(out, frameResult, []byte("early"))
		time.Sleep(time.Hour)
	case "begun twice":
		ready()
		_ = writeFrame(out, frameBegun)
		_ = writeFrame(out, frameBegun)
		time.Sleep(time.Hour)
	case "callback without a name":
		ready()
		_ = writeFrame(out, frameBegun)
		_ = writeFrame(out, frameAsk)
		time.Sleep(time.Hour)
	case "note without a trace":
		ready()
		_ = writeFrame(out, frameBegun)
		_ = writeFrame(out, frameNote, []byte("x"))
		time.Sleep(time.Hour)
	case "deaf":
		ready()
		_ = writeFrame(out, frameBegun)
		_ = writeFrame(out, frameAsk, message{name: "pid"}.head(), strconv.AppendInt(nil, int64(os.Getpid()), 10))
		time.Sleep(time.Hour)
	case "closed output":
		ready()
		_ = out.Close()
		time.Sleep(time.Hour)
	case "callbacks without an end":
		ready()
		_ = writeFrame(out, frameBegun)
		for {
			_ = writeFrame(out, frameAsk, message{name: "x"}.head())
		}
	}
}

// TestHostile: no bytes of a process harm its parent. The call fails, and the process ends. A process
// that has not begun the call says nothing about it: that is no death of the call.
func TestHostile(t *testing.T) {
	for _, tc := range []struct {
		mode string
		want Limit
	}{
		{"garbage", ""},
		{"huge length", Protocol},
		{"length without payload", Unexpected},
		{"result before begun", ""},
		{"begun twice", Protocol},
		{"callback without a name", Protocol},
		{"note without a trace", Protocol},
		{"closed output", ""},
		{"callbacks without an end", Deadline},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			if testing.Short() && tc.mode == "closed output" {
				t.Skip("long")
			}
			t.Parallel()
			p := newPool(t, func(o *Options) { o.Args, o.CPULimit = []string{commandHostile, tc.mode}, 300*time.Millisecond })
			c := Call{Function: "upper", Request: []byte("x")}
			if tc.want == Deadline {
				// Neither process reads, so only the timeout ends the call.
				c.Timeout = 300 * time.Millisecond
			}
			_, err := p.Call(t.Context(), c, nil)
			died, dead := errors.AsType[*Died](err)
			_, none := errors.AsType[*Unavailable](err)
			if dead == none || none != (tc.want == "") || dead && died.Limit != tc.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestShare(t *testing.T) {
	const gib = 1 << 30
	for _, tc := range []struct {
		reason     string
		limit      int64
		processors int
		want       Shares
		ok         bool
	}{
		{"the manifests", gib, 2, Shares{2, 256 * mebibyte, 384 * mebibyte}, true},
		{"no limit", 0, 2, Shares{2, 256 * mebibyte, 0}, true},
		{"no limit, and many processors", 0, 16, Shares{16, 256 * mebibyte, 0}, true},
		{"one processor has two processes, of which one may wait for callbacks", gib, 1, Shares{2, 256 * mebibyte, 384 * mebibyte}, true},
		{"much memory and many processors", 4 * gib, 8, Shares{8, 256 * mebibyte, 1536 * mebibyte}, true},
		{"little memory and many processors", gib, 8, Shares{2, 256 * mebibyte, 384 * mebibyte}, true},
		{"two smaller processes", 768 * mebibyte, 2, Shares{2, 176 * mebibyte, 320 * mebibyte}, true},
		{"one process", 731 * mebibyte, 2, Shares{1, 256 * mebibyte, 731*mebibyte - 731*mebibyte/8 - 256*mebibyte}, true},
		{"the least memory for two", 732 * mebibyte, 2, Shares{2, (732*mebibyte - 732*mebibyte/8 - 320*mebibyte) / 2, 320 * mebibyte}, true},
		{"one small process", 512 * mebibyte, 2, Shares{1, 128 * mebibyte, 320 * mebibyte}, true},
		{"too little", 510 * mebibyte, 2, Shares{}, false},
	} {
		got, ok := Share(tc.limit, tc.processors)
		if got != tc.want || ok != tc.ok {
			t.Errorf("%s: got %+v, %v", tc.reason, got, ok)
		}
	}
}
