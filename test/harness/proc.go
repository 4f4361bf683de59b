// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// stateListen is TCP_LISTEN in /proc/PID/net/tcp.
const stateListen = "0A"

// listening returns the address at which a process listens at an IPv4 address of this machine. The
// kernel selects the port of a process that listens at port 0, and nothing else tells it.
func listening(pid int, host string) (string, error) {
	wanted, err := netip.ParseAddr(host)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		return "", err
	}
	// All processes of a network namespace have the same table.
	own, err := sockets(pid)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		// sl, local address, remote address, state, queues, timers, retransmits, UID, timeout, inode
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != stateListen || !slices.Contains(own, "socket:["+fields[9]+"]") {
			continue
		}
		if address, err := parseSocket(fields[1]); err == nil && address.Addr() == wanted {
			return address.String(), nil
		}
	}
	return "", fmt.Errorf("process %d does not listen at %s", pid, host)
}

// sockets returns the names of the open files of a process; those of sockets are socket:[INODE].
func sockets(pid int) (names []string, err error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		// A file may be closed meanwhile.
		if name, err := os.Readlink(filepath.Join(dir, entry.Name())); err == nil {
			names = append(names, name)
		}
	}
	return names, err
}

// parseSocket parses an address such as 0100007F:1F90. The kernel prints the IP address as an integer
// in the machine's byte order.
func parseSocket(text string) (netip.AddrPort, error) {
	ip, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(ip)
	if err != nil || len(raw) != 4 {
		return netip.AddrPort{}, fmt.Errorf("%s is no IPv4 address", ip)
	}
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	var bytes [4]byte
	binary.NativeEndian.PutUint32(bytes[:], binary.BigEndian.Uint32(raw))
	return netip.AddrPortFrom(netip.AddrFrom4(bytes), uint16(number)), nil
}
