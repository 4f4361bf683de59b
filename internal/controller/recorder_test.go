// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"testing"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/status"
)

// eventTypes keeps the types of events.
type eventTypes struct {
	record.EventRecorder
	all []string
}

func (r *eventTypes) AnnotatedEventf(_ runtime.Object, _ map[string]string, eventType, _, _ string, _ ...any) {
	r.all = append(r.all, eventType)
}

// TestEmit: events that are not posted have types of their own.
func TestEmit(t *testing.T) {
	r := &eventTypes{}
	Emit(r, &helmv2.HelmRelease{}, status.Event{Type: corev1.EventTypeWarning},
		status.Event{Type: corev1.EventTypeNormal, Trace: true}, status.Event{Type: corev1.EventTypeWarning, Repeated: true})
	if want := []string{corev1.EventTypeWarning, eventv1.EventTypeTrace, events.TypeRepeated}; !slices.Equal(r.all, want) {
		t.Errorf("got %v, want %v", r.all, want)
	}
}
