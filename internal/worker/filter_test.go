// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"encoding/binary"
	"runtime"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// run returns the action of a filter for a system call.
func run(t *testing.T, raw []bpf.RawInstruction, audit, number uint32, args [6]uint64) uint32 {
	t.Helper()
	program := make([]bpf.Instruction, len(raw))
	for i, instruction := range raw {
		program[i] = instruction.Disassemble()
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	// struct seccomp_data of a little-endian kernel. The VM reads words in big endian.
	data := binary.BigEndian.AppendUint32(nil, number)
	data = binary.BigEndian.AppendUint32(data, audit)
	data = append(data, make([]byte, 8)...)
	for _, a := range args {
		data = binary.BigEndian.AppendUint32(data, uint32(a))
		data = binary.BigEndian.AppendUint32(data, uint32(a>>32))
	}
	action, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(action)
}

// TestFilter: the filters of all architectures, on any machine.
func TestFilter(t *testing.T) {
	const (
		allow   = unix.SECCOMP_RET_ALLOW
		refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		own     = 4242
		private = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
		thread  = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD
	)
	for goarch, a := range architectures() {
		raw, err := filter(goarch, own)
		if err != nil || len(raw) == 0 || len(raw) > 4096 {
			t.Fatalf("%s: %d instructions, %v", goarch, len(raw), err)
		}
		for _, tc := range []struct {
			reason string
			number uint32
			args   [6]uint64
			want   uint32
		}{
			{"a system call that is always allowed", a.allowed[0], [6]uint64{}, allow},
			{"private memory", a.mmap, [6]uint64{0, 4096, unix.PROT_READ | unix.PROT_WRITE, private}, allow},
			{"reserved memory", a.mmap, [6]uint64{0, 4096, unix.PROT_NONE, private | unix.MAP_FIXED | unix.MAP_NORESERVE}, allow},
			{"executable memory", a.mmap, [6]uint64{0, 4096, unix.PROT_READ | unix.PROT_EXEC, private}, refuse},
			{"shared memory", a.mmap, [6]uint64{0, 4096, unix.PROT_READ, unix.MAP_SHARED | unix.MAP_ANONYMOUS}, refuse},
			{"shared and validated memory", a.mmap, [6]uint64{0, 4096, unix.PROT_READ, unix.MAP_SHARED_VALIDATE | unix.MAP_ANONYMOUS}, refuse},
			{"memory that grows", a.mmap, [6]uint64{0, 4096, unix.PROT_READ, private | unix.MAP_GROWSDOWN}, refuse},
			{"huge pages", a.mmap, [6]uint64{0, 4096, unix.PROT_READ, private | unix.MAP_HUGETLB}, refuse},
			{"memory of a file", a.mmap, [6]uint64{0, 4096, unix.PROT_READ, unix.MAP_PRIVATE}, refuse},
			{"other protection", a.mprotect, [6]uint64{0, 4096, unix.PROT_READ | unix.PROT_WRITE}, allow},
			{"executable protection", a.mprotect, [6]uint64{0, 4096, unix.PROT_READ | unix.PROT_EXEC}, refuse},
			{"a thread", a.clone, [6]uint64{thread}, allow},
			{"a process", a.clone, [6]uint64{uint64(unix.SIGCHLD)}, refuse},
			{"a process with this memory", a.clone, [6]uint64{unix.CLONE_VM | unix.CLONE_VFORK}, refuse},
			{"a thread in a user namespace", a.clone, [6]uint64{thread | unix.CLONE_NEWUSER}, refuse},
			{"a thread in a network namespace", a.clone, [6]uint64{thread | unix.CLONE_NEWNET}, refuse},
			{"clone3", a.clone3, [6]uint64{}, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
			{"prctl", a.prctl, [6]uint64{unix.PR_SET_DUMPABLE, 1}, unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)},
			{"a signal to a thread of this process", a.tgkill, [6]uint64{own, own + 1, 23}, allow},
			{"a signal to another process", a.tgkill, [6]uint64{own - 1, own - 1, 9}, refuse},
			{"the flags of a descriptor", a.fcntl, [6]uint64{0, unix.F_GETFL}, allow},
			{"a copy of a descriptor", a.fcntl, [6]uint64{0, unix.F_DUPFD}, refuse},
			{"an unknown system call", 9999, [6]uint64{}, refuse},
		} {
			if got := run(t, raw, a.audit, tc.number, tc.args); got != tc.want {
				t.Errorf("%s: %s: got %#x, not %#x", goarch, tc.reason, got, tc.want)
			}
		}
		if got := run(t, raw, unix.AUDIT_ARCH_I386, a.allowed[0], [6]uint64{}); got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("%s: a system call of another architecture: %#x", goarch, got)
		}
		for _, n := range a.allowed {
			if goarch == "amd64" && run(t, raw, a.audit, x32(n), [6]uint64{}) != refuse {
				t.Errorf("system call %d is allowed in the x32 convention", n)
			}
		}
	}
	if a, b := architectures()["amd64"], architectures()["arm64"]; len(a.allowed) != len(b.allowed) {
		t.Errorf("%d and %d system calls are allowed", len(a.allowed), len(b.allowed))
	}
	if raw, err := filter("riscv64", own); raw != nil || err != nil {
		t.Errorf("an architecture without a filter: %v, %v", raw, err)
	}
}

// TestNumbers: the numbers of this architecture are those of the kernel, in the order of the list.
func TestNumbers(t *testing.T) {
	a, known := architectures()[runtime.GOARCH]
	if !known {
		t.Logf("%s has no filter", runtime.GOARCH)
		return
	}
	want := []uint32{
		unix.SYS_FUTEX, unix.SYS_EPOLL_PWAIT, unix.SYS_READ, unix.SYS_WRITE, unix.SYS_MADVISE, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_SCHED_YIELD,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		unix.SYS_MUNMAP, unix.SYS_BRK, unix.SYS_MINCORE, unix.SYS_GETPID, unix.SYS_GETTID,
		unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY, unix.SYS_GETRANDOM,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EVENTFD2, unix.SYS_CLOSE, unix.SYS_WRITEV,
		unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_TID_ADDRESS, unix.SYS_RESTART_SYSCALL, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
		unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_PRCTL, unix.SYS_TGKILL, unix.SYS_FCNTL,
	}
	got := append(a.allowed, a.mmap, a.mprotect, a.clone, a.clone3, a.prctl, a.tgkill, a.fcntl)
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("at %d: %v are not %v", i, got, want)
		}
	}
}
