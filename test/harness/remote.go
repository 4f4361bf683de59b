// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Remote is a second control plane, without source-controller and CRDs of this project. Releases
// can be installed into it.
type Remote struct {
	// Kubeconfig is the path of a self-contained kubeconfig.
	Kubeconfig string
	Client     client.WithWatch

	dir     string
	cluster *cluster
}

// StartRemote starts another control plane with its files in dir. It ends with this process, even
// if that is killed.
func StartRemote(ctx context.Context, clusterBin, dir string) (*Remote, error) {
	r := &Remote{Kubeconfig: filepath.Join(dir, "kubeconfig"), dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if r.cluster, err = upCluster(ctx, clusterBin, filepath.Join(dir, "cluster"), r.Kubeconfig); err != nil {
		return nil, err
	}
	if r.Client, err = Connect(r.Kubeconfig); err != nil {
		return nil, errors.Join(err, r.Stop(context.WithoutCancel(ctx)))
	}
	return r, nil
}

// Kill kills the API server and its storage. The stored data is kept. The other components retry
// their connections.
func (r *Remote) Kill() error { return r.cluster.signal(syscall.SIGKILL, APIServer, Etcd) }

// Freeze stops the API server, so that it accepts connections and does not answer.
func (r *Remote) Freeze() error { return r.cluster.signal(syscall.SIGSTOP, APIServer) }

// Thaw ends Freeze.
func (r *Remote) Thaw() error { return r.cluster.signal(syscall.SIGCONT, APIServer) }

// Restart starts killed components again at the same address, and returns when they are ready.
func (r *Remote) Restart(ctx context.Context) error { return r.cluster.restart(ctx) }

// Stop stops everything and removes the files.
func (r *Remote) Stop(ctx context.Context) error {
	return errors.Join(r.cluster.stop(ctx), os.RemoveAll(r.dir))
}
