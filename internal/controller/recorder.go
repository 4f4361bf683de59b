// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/status"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// EventRecorder records events about objects.
type EventRecorder interface {
	Record(about runtime.Object, e events.Event)
}

// Recorder returns the recorder of both reconcilers: all events get the same annotations, and
// sender posts all of them. A nil sender posts none. name is the reporting controller.
func Recorder(mgr ctrl.Manager, name string, sender *events.Sender) EventRecorder {
	plain := mgr.GetEventRecorderFor(name) //nolint:staticcheck // the newer API loses counts and long messages: docs/decisions/0046-events-of-core-v1.md
	return events.NewRecorder(plain, mgr.GetScheme(), sender)
}

// Emit records events about an object. Package status builds them.
func Emit(recorder EventRecorder, about runtime.Object, all ...status.Event) {
	for _, e := range all {
		recorder.Record(about, events.Event(e))
	}
}

// LogChange logs a new problem at level error, and its end at level info. A problem that has been
// logged is not logged again.
func LogChange(log logr.Logger, c message.Change) {
	switch {
	case c.Problem && c.Stalled:
		log.Error(errors.New(c.Message), "stalled", "reason", c.Reason)
	case c.Problem:
		log.Error(errors.New(c.Message), "failed", "reason", c.Reason)
	case c.Recovered:
		log.Info("recovered", "reason", c.Reason, "message", c.Message)
	}
}
