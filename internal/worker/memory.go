// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

const mebibyte = 1 << 20

// Memory of a container is divided between the parent process and the worker processes.
const (
	// minParentMemory is the least memory of the Go runtime in the parent process.
	minParentMemory = 320 * mebibyte
	// reservedPart is the part of the limit for what no runtime counts: pages of the executable,
	// page tables and buffers of the kernel.
	reservedPart = 8
	// minMemoryLimit is the least memory of a worker process. The Go runtime and the packages of an
	// executable take a part of it before the first call.
	minMemoryLimit = 128 * mebibyte
	// minSharedLimit is the least memory of each of two worker processes. One process with more would
	// render a few more charts, but one chart could delay all others.
	minSharedLimit = 160 * mebibyte
	// DefaultMemoryLimit is the memory of a worker process if there is enough, in bytes.
	DefaultMemoryLimit = 256 * mebibyte
	// DefaultSize is the number of worker processes if there is enough memory and no more processors.
	DefaultSize = 2
)

// Shares divide the memory limit of a container.
type Shares struct {
	// Size is the maximum number of worker processes.
	Size int
	// MemoryLimit is the memory limit of each worker process in bytes.
	MemoryLimit int64
	// Parent is the rest without a reserve, in bytes: the value of GOMEMLIMIT for the parent process. It
	// is 0 without a limit.
	Parent int64
}

// Share divides limit, in bytes, for a machine with the given number of processors. A limit of 0
// stands for none. It returns false if the limit is too small for a worker process beside the parent
// process, which needs 320 MiB.
func Share(limit int64, processors int) (Shares, bool) {
	most := max(DefaultSize, processors)
	if limit <= 0 {
		return Shares{Size: most, MemoryLimit: DefaultMemoryLimit}, true
	}
	limit -= limit / reservedPart
	rest := limit - minParentMemory
	if rest < minMemoryLimit {
		return Shares{}, false
	}
	s := Shares{Size: int(max(1, min(int64(most), rest/DefaultMemoryLimit)))}
	if s.Size == 1 && rest >= 2*minSharedLimit {
		s.Size = 2
	}
	s.MemoryLimit = min(DefaultMemoryLimit, rest/int64(s.Size))
	s.Parent = limit - int64(s.Size)*s.MemoryLimit
	return s, true
}
