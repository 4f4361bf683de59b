// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package worker

func init() { raceDetector = true }
