// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/events"
)

// recorder is the one way to make events: what it adds to them, and whom it tells
// besides, must not depend on who makes one. A nil sender tells nobody.
func recorder(mgr ctrl.Manager, sender *events.Sender) record.EventRecorder {
	plain := mgr.GetEventRecorderFor(helmv2.ControllerName) //nolint:staticcheck // the newer recorder cannot annotate events, which carry the revision
	return events.NewRecorder(plain, mgr.GetScheme(), sender)
}
