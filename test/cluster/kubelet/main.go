// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Command kubelet is the kubelet of the Kubernetes version that the control plane
// has. It is apart from the control plane's executable because only the tests on
// a real node need it, and the others must not pay for its build.
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background())))
}
