// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// ports are ten in a row, so that one number describes a cluster.
type ports struct {
	Base int
}

const portsPerCluster = 10

var portNames = [portsPerCluster]string{
	etcd, etcd + "-peer", apiServer, controllerManager, scheduler, kwok,
	sourceControllerName, sourceControllerName + "-metrics", sourceControllerName + "-health",
	kubelet,
}

func (p ports) etcd() string              { return p.address(0) }
func (p ports) etcdPeer() string          { return p.address(1) }
func (p ports) apiServer() string         { return p.address(2) }
func (p ports) controllerManager() string { return p.address(3) }
func (p ports) scheduler() string         { return p.address(4) }
func (p ports) kwok() string              { return p.address(5) }
func (p ports) sourceArtifacts() string   { return p.address(6) }
func (p ports) sourceMetrics() string     { return p.address(7) }
func (p ports) sourceHealth() string      { return p.address(8) }

func (p ports) address(offset int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Base+offset))
}

func (p ports) number(offset int) string { return strconv.Itoa(p.Base + offset) }

// byName is for the record that other programs read.
func (p ports) byName() map[string]int {
	byName := map[string]int{}
	for i, name := range portNames {
		byName[name] = p.Base + i
	}
	return byName
}

// checkFree binds each port for a moment.
func (p ports) checkFree() error {
	if p.Base < 1024 || p.Base > 65535-portsPerCluster+1 {
		return fmt.Errorf("port base %d: choose one between 1024 and %d", p.Base, 65535-portsPerCluster+1)
	}
	for i, name := range portNames {
		l, err := net.Listen("tcp", p.address(i))
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("port %d (%s) is in use already; choose another port base than %d, or none", p.Base+i, name, p.Base)
		}
		if err != nil {
			return fmt.Errorf("port %d (%s): %w", p.Base+i, name, err)
		}
		l.Close()
	}
	return nil
}

// choosePorts stays below the range from which Linux takes the ports of outgoing
// connections (32768 by default): one of those could take a port between this
// check and the component's start. The lock keeps other launchers of this user
// from the same choice for as long as the returned file is open, here or in the
// supervisor that inherits it.
func choosePorts() (ports, *os.File, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("pintle-cluster-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ports{}, nil, err
	}
	const lowest, highest = 20000, 32700
	for range 100 {
		p := ports{Base: lowest + portsPerCluster*rand.IntN((highest-lowest)/portsPerCluster)}
		lock, err := tryLock(filepath.Join(dir, strconv.Itoa(p.Base)))
		if errors.Is(err, errLocked) {
			continue
		}
		if err != nil {
			return ports{}, nil, err
		}
		if p.checkFree() == nil {
			return p, lock, nil
		}
		lock.Close()
	}
	return ports{}, nil, errors.New("found no ten free ports in a row; name a port base")
}

var errLocked = errors.New("locked by another process")

func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}
