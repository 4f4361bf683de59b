// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package oomwatch

// DropExecutable does nothing where there is no Linux.
func DropExecutable() error { return nil }
