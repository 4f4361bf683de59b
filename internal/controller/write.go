// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// FieldOwner is the field manager of all writes of the controllers themselves.
	FieldOwner = client.FieldOwner(helmv2.FieldManager)
	// StaleRetry is the pause until the cache has caught up with a write.
	StaleRetry = 20 * time.Millisecond
)
