// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/status"
)

// Recorder returns the recorder of both reconcilers: all events get the same annotations, and
// sender posts all of them. A nil sender posts none. name is the reporting controller.
func Recorder(mgr ctrl.Manager, name string, sender *events.Sender) record.EventRecorder {
	plain := mgr.GetEventRecorderFor(name) //nolint:staticcheck // the newer recorder cannot annotate events, which carry the revision
	return events.NewRecorder(plain, mgr.GetScheme(), sender)
}

// Emit records events about an object. Package status builds them.
func Emit(recorder record.EventRecorder, about runtime.Object, all ...status.Event) {
	for _, e := range all {
		kind := e.Type
		if e.Trace {
			kind = eventv1.EventTypeTrace
		}
		recorder.AnnotatedEventf(about, e.Metadata, kind, e.Reason, "%s", e.Message)
	}
}
