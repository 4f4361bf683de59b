// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package events

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/record"
)

// annotationAction takes the action of an event from a Recorder to the sink, since client-go's recorder
// of core/v1 has no parameter for it. It is not stored.
const annotationAction = "pintle.dev/action"

// NewBroadcaster returns the broadcaster of a manager. It counts and limits events as client-go does,
// and writes them with their action.
func NewBroadcaster() record.EventBroadcaster { return broadcaster{record.NewBroadcaster()} }

type broadcaster struct{ record.EventBroadcaster }

// StartRecordingToSink implements record.EventBroadcaster.
func (b broadcaster) StartRecordingToSink(to record.EventSink) watch.Interface {
	return b.EventBroadcaster.StartRecordingToSink(sink{to})
}

type sink struct{ record.EventSink }

// Create implements record.EventSink. It does not change e, which is sent again after an error. A patch
// raises the count only, so Patch needs no action.
func (s sink) Create(e *corev1.Event) (*corev1.Event, error) {
	e = e.DeepCopy()
	e.Action = e.Annotations[annotationAction]
	delete(e.Annotations, annotationAction)
	return s.EventSink.Create(e)
}
