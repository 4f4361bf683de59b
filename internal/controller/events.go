// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/notify"
)

// recorder is the one way to make events: what it adds to them, and whom it tells
// besides, must not depend on who makes one. A nil sender tells nobody.
func recorder(mgr ctrl.Manager, sender *notify.Sender) record.EventRecorder {
	events := mgr.GetEventRecorderFor(helmv2.ControllerName) //nolint:staticcheck // the newer recorder cannot annotate events, which carry the revision
	return notify.NewRecorder(events, mgr.GetScheme(), sender)
}
