// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controllertest

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pintle-dev/pintle/internal/events"
)

// Events is a recorder that keeps the type, reason and message of events, up to its capacity.
type Events chan string

// Record implements controller.EventRecorder.
func (c Events) Record(_ runtime.Object, e events.Event) {
	c <- e.Type + " " + e.Reason + " " + e.Message
}
