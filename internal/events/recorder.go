// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// maxMessage is the length of the longest posted message, in characters. The receiver rejects
// longer ones.
const maxMessage = 39000

// TypeRepeated is the type of a warning that the last event of the object has reported. It raises the
// count of that event on the API server, and is not posted.
const TypeRepeated = "Repeated"

// Recorder records events on the API server and passes them to a Sender. All events of the program
// go through it, because it adds the event annotations of the object.
type Recorder struct {
	events record.EventRecorder
	scheme *runtime.Scheme
	sender *Sender
}

var _ record.EventRecorder = (*Recorder)(nil)

// NewRecorder returns a recorder of events about objects whose types are in scheme. A nil sender
// posts nothing.
func NewRecorder(events record.EventRecorder, scheme *runtime.Scheme, sender *Sender) *Recorder {
	return &Recorder{events: events, scheme: scheme, sender: sender}
}

// Event implements record.EventRecorder.
func (r *Recorder) Event(object runtime.Object, eventType, reason, message string) {
	r.AnnotatedEventf(object, nil, eventType, reason, "%s", message)
}

// Eventf implements record.EventRecorder.
func (r *Recorder) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	r.AnnotatedEventf(object, nil, eventType, reason, format, args...)
}

// AnnotatedEventf implements record.EventRecorder. An event of type eventv1.EventTypeTrace is
// recorded as Normal, and one of TypeRepeated as Warning. Both are not posted. It does not block.
func (r *Recorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any) {
	all := withAnnotations(object, annotations)
	switch eventType {
	case eventv1.EventTypeTrace:
		r.events.AnnotatedEventf(object, all, corev1.EventTypeNormal, reason, format, args...)
		return
	case TypeRepeated:
		r.events.AnnotatedEventf(object, all, corev1.EventTypeWarning, reason, format, args...)
		return
	}
	r.events.AnnotatedEventf(object, all, eventType, reason, format, args...)
	if r.sender == nil {
		return
	}
	about, err := reference.GetReference(r.scheme, object)
	if err != nil {
		r.sender.log.Error(err, "an event is not posted: its object has no reference", "reason", reason)
		return
	}
	r.sender.Send(eventv1.Event{
		InvolvedObject: *about, Severity: severity(eventType), Timestamp: metav1.NewTime(r.sender.now()),
		Message: truncate(fmt.Sprintf(format, args...)), Reason: reason, Metadata: posted(all),
	})
}

// posted returns the metadata of a posted event: all, and cause and object of a failure with keys that
// notification-controller passes on.
func posted(all map[string]string) map[string]string {
	m := maps.Clone(all)
	for key, from := range map[string]string{helmv2.EventMetadataCause: helmv2.EventMetadataFailure, helmv2.EventMetadataCauseObject: helmv2.EventMetadataObject} {
		if value := all[from]; value != "" {
			m[key] = value
		}
	}
	return m
}

// withAnnotations adds the event annotations of an object to annotations, which win.
func withAnnotations(object runtime.Object, annotations map[string]string) map[string]string {
	all := map[string]string{}
	if o, ok := object.(metav1.Object); ok {
		for key, value := range o.GetAnnotations() {
			if strings.HasPrefix(key, helmv2.EventAnnotationPrefix) {
				all[key] = value
			}
		}
	}
	maps.Copy(all, annotations)
	return all
}

func severity(eventType string) string {
	if eventType == corev1.EventTypeWarning {
		return eventv1.EventSeverityError
	}
	return eventv1.EventSeverityInfo
}

// truncate truncates a message to maxMessage. Messages end with lines of logs, which matter least.
func truncate(message string) string {
	if len(message) <= maxMessage || utf8.RuneCountInString(message) <= maxMessage {
		return message
	}
	return string([]rune(message)[:maxMessage-3]) + "..."
}
