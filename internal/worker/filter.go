// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// architecture has the system calls of a worker process on one architecture. All numbers are those
// of the kernel, so the filters of other architectures can be tested too.
type architecture struct {
	// audit is the AUDIT_ARCH constant.
	audit uint32
	// allowed system calls: those that the Go runtime and the C library use between two system calls
	// of the handler, and those of the pipes.
	allowed []uint32
	// The remaining ones depend on their arguments.
	mmap, mprotect, clone, clone3, prctl, tgkill, fcntl uint32
}

// architectures returns the architectures that have a filter, by the name in runtime.GOARCH.
// Processes of other architectures run without one.
func architectures() map[string]architecture {
	return map[string]architecture{
		"amd64": {
			audit: unix.AUDIT_ARCH_X86_64,
			allowed: []uint32{
				202, 281, 0, 1, 28, 35, 230, 24, // futex, epoll_pwait, read, write, madvise, nanosleep, clock_nanosleep, sched_yield
				13, 14, 15, 131, // rt_sigaction, rt_sigprocmask, rt_sigreturn, sigaltstack
				11, 12, 27, 39, 186, // munmap, brk, mincore, getpid, gettid
				228, 229, 96, 318, // clock_gettime, clock_getres, gettimeofday, getrandom
				291, 233, 290, 3, 20, // epoll_create1, epoll_ctl, eventfd2, close, writev
				204, 218, 219, 273, 334, // sched_getaffinity, set_tid_address, restart_syscall, set_robust_list, rseq
				60, 231, // exit, exit_group
			},
			mmap: 9, mprotect: 10, clone: 56, clone3: 435, prctl: 157, tgkill: 234, fcntl: 72,
		},
		"arm64": {
			audit: unix.AUDIT_ARCH_AARCH64,
			// In the same order.
			allowed: []uint32{
				98, 22, 63, 64, 233, 101, 115, 124,
				134, 135, 139, 132,
				215, 214, 232, 172, 178,
				113, 114, 169, 278,
				20, 21, 19, 57, 66,
				123, 96, 128, 99, 293,
				93, 94,
			},
			mmap: 222, mprotect: 226, clone: 220, clone3: 435, prctl: 167, tgkill: 131, fcntl: 25,
		},
	}
}

// Offsets in struct seccomp_data. The lower half of an argument comes first, and the upper half has
// no meaning in the arguments that are checked.
const (
	offsetNumber    = 0
	offsetArch      = 4
	offsetArguments = 16
)

// argument is a condition on the lower 32 bits of an argument: its bits in mask are equal to value.
type argument struct {
	index       uint32
	mask, value uint32
}

// filter returns the seccomp filter of a process, nil if its architecture has none.
//
// Refused system calls return EPERM and do not end the process: libraries look for files that they
// can do without, such as time zones. A system call by another architecture's convention ends the
// process.
func filter(goarch string, pid int) ([]bpf.RawInstruction, error) {
	a, known := architectures()[goarch]
	if !known {
		return nil, nil
	}
	refuse := func(errno unix.Errno) bpf.Instruction {
		return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	number := bpf.LoadAbsolute{Off: offsetNumber, Size: 4}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.audit, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		number,
	}
	on := func(n uint32, then ...bpf.Instruction) {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: n, SkipFalse: uint8(len(then))})
		program = append(program, then...)
	}
	for _, n := range a.allowed {
		on(n, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
	}
	for _, rule := range a.conditional(uint32(pid)) {
		on(rule.number,
			bpf.LoadAbsolute{Off: offsetArguments + 8*rule.index, Size: 4},
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: rule.mask},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: rule.value, SkipFalse: 1},
			rule.then,
			number, // the accumulator has the argument
		)
	}
	// glibc starts threads by clone if clone3, whose flags are in memory, does not exist.
	on(a.clone3, refuse(unix.ENOSYS))
	// The runtime does not name its memory if the kernel cannot.
	on(a.prctl, refuse(unix.EINVAL))
	program = append(program, refuse(unix.EPERM))
	return bpf.Assemble(program)
}

// conditionalRule returns then for a system call if the condition holds. Otherwise the next rules
// apply.
type conditionalRule struct {
	number uint32
	argument
	then bpf.Instruction
}

func (a architecture) conditional(pid uint32) []conditionalRule {
	// No namespaces, and no process that a tracer of this one would trace.
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	// Memory that RLIMIT_DATA does not count: shared, growing like a stack, and huge pages.
	const mapping = unix.MAP_TYPE | unix.MAP_ANONYMOUS | unix.MAP_GROWSDOWN | unix.MAP_HUGETLB
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	refuse := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	return []conditionalRule{
		{a.mmap, argument{2, unix.PROT_EXEC, unix.PROT_EXEC}, refuse},
		{a.mmap, argument{3, mapping, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS}, allow},
		{a.mprotect, argument{2, unix.PROT_EXEC | unix.PROT_GROWSDOWN | unix.PROT_GROWSUP, 0}, allow},
		{a.clone, argument{0, unix.CLONE_THREAD | unix.CLONE_PTRACE | namespaces, unix.CLONE_THREAD}, allow},
		{a.tgkill, argument{0, ^uint32(0), pid}, allow},
		{a.fcntl, argument{1, ^uint32(0), unix.F_GETFD}, allow},
		{a.fcntl, argument{1, ^uint32(0), unix.F_GETFL}, allow},
	}
}

// install applies the filter of this architecture to all threads of this process. It returns false
// if there is none.
func install() (bool, error) {
	instructions, err := filter(runtime.GOARCH, unix.Getpid())
	if err != nil || instructions == nil {
		return false, err
	}
	program := make([]unix.SockFilter, len(instructions))
	for i, in := range instructions {
		program[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	set := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// The kernel takes over no_new_privs from this thread to all others.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return false, fmt.Errorf("PR_SET_NO_NEW_PRIVS: %w", err)
	}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&set)))
	if errno != 0 {
		return false, fmt.Errorf("seccomp: %w", errno)
	}
	if thread != 0 {
		return false, fmt.Errorf("seccomp: thread %d has another filter", thread)
	}
	return true, nil
}
