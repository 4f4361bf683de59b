// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !servers

package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func init() { programs["etcd"] = func() { etcdmain.Main(os.Args) } }
