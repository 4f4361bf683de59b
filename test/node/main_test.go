// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package node tests the controller on a node with real containers: kubelet, containerd and runc.
// They report states that a simulated node does not have, such as OOMKilled and logs. `make
// test-node` runs the tests as root. README.md describes the facilities for tests.
package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// env is shared by all tests; each has its own namespace.
var env struct {
	*harness.Environment

	// pods is a client for requests that the API server forwards to the kubelet: logs.
	pods *kubernetes.Clientset
}

func TestMain(m *testing.M) {
	if os.Getenv("PINTLE_NODE") == "" {
		fmt.Println("node: skipped: PINTLE_NODE is not set; `make test-node` runs these tests, and needs root")
		return
	}
	code, err := run(m)
	fixture.Exit("node", code, err)
}

func run(m *testing.M) (int, error) {
	images, err := filepath.Glob(filepath.Join(os.Getenv("PINTLE_RELEASE"), "pintle_*_image.tar"))
	if err != nil || len(images) != 1 {
		return 1, errors.New("PINTLE_RELEASE is no folder of a release: these tests need the files that `make release` builds")
	}
	return fixture.Suite{
		Options: harness.Options{
			// Short, because the names of sockets are bounded.
			Dir:  filepath.Join(os.TempDir(), "pintle-node-"+strconv.Itoa(os.Getpid())),
			Node: true, NodeImages: images,
		},
		Prepare: func(_ context.Context, e *harness.Environment) error {
			env.Environment = e
			config, err := clientcmd.BuildConfigFromFlags("", e.Kubeconfig)
			if err != nil {
				return err
			}
			env.pods, err = kubernetes.NewForConfig(config)
			return err
		},
		Failed: func(*harness.Environment) error { return keepLogs(filepath.Join(harness.Root(), "bin", "node-logs")) },
	}.Run(context.Background(), m)
}

// keepLogs copies the logs of the controller, the kubelet and the other components.
func keepLogs(dir string) error {
	record, err := env.Record()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(record.LogDir)); err != nil {
		return err
	}
	content, err := os.ReadFile(env.Controller.LogPath)
	if err != nil {
		return err
	}
	fmt.Println("the logs are kept in", dir)
	return os.WriteFile(filepath.Join(dir, "controller.log"), content, 0o600)
}
