// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package oomwatch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// smaps is what a process lists that was linked dynamically: its last mapping that
// may only be read is one that the dynamic linker wrote to first.
const smaps = `
00400000-0275b000 r-xp 00000000 fe:00 2470                       /manager
Size:              36204 kB
Rss:               25792 kB
Private_Clean:     25792 kB
Anonymous:             0 kB
Swap:                  0 kB
SwapPss:               0 kB
VmFlags: rd ex mr mw me
0275b000-04f58000 r--p 0235b000 fe:00 2470                       /manager
Rss:               35124 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd mr mw me
04f58000-04f59000 r--p 04b58000 fe:00 2470                       /manager
Rss:                   4 kB
Anonymous:             4 kB
Swap:                  0 kB
04f59000-04f5a000 r--p 04b59000 fe:00 2470                       /manager
Rss:                   0 kB
Anonymous:             0 kB
Swap:                  4 kB
04f5a000-05075000 rw-p 04b5a000 fe:00 2470                       /manager
Rss:                 756 kB
Anonymous:             0 kB
Swap:                  0 kB
05075000-05076000 r--s 04c75000 fe:00 2470                       /manager
Rss:                   4 kB
Anonymous:             0 kB
Swap:                  0 kB
7f0000000000-7f0000001000 r-xp 00000000 fe:00 99                 /lib/libc.so
Rss:                   4 kB
Anonymous:             0 kB
Swap:                  0 kB
7f0000001000-7f0000002000 r--p 00000000 00:00 0
Rss:                   4 kB
Anonymous:             0 kB
Swap:                  0 kB
`

func TestUnwritten(t *testing.T) {
	got, err := unwritten(strings.NewReader(smaps), "/manager")
	if err != nil {
		t.Fatal(err)
	}
	want := []mapping{{0x400000, 0x275b000}, {0x275b000, 0x4f58000}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mapping{})); diff != "" {
		t.Errorf("mappings (-want +got):\n%s", diff)
	}
	if got, err := unwritten(strings.NewReader(smaps), "/manager (deleted)"); err != nil || len(got) > 0 {
		t.Errorf("of a file with another name there is %v, %v, want none", got, err)
	}
	if _, err := unwritten(strings.NewReader("here-there r-xp 0 fe:00 1 /manager\n"), "/manager"); err == nil {
		t.Error("what is no range of addresses is no error")
	}
}
