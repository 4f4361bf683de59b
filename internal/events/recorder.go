// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package events

import (
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

// Event is an event about an object. Package status builds it.
type Event struct {
	// Type is Normal or Warning.
	Type    string
	Reason  string
	Action  string
	Message string
	// Metadata are annotations of the event; nil for none.
	Metadata map[string]string
	// Trace events are recorded on the API server and not posted.
	Trace bool
	// Repeated events equal the last event of the object. They raise its count on the API server, and
	// are not posted.
	Repeated bool
}

// Recorder records events on the API server and passes them to a Sender. All events of the program
// go through it, because it adds the event annotations of the object.
type Recorder struct {
	events record.EventRecorder
	scheme *runtime.Scheme
	sender *Sender
}

// NewRecorder returns a recorder of events about objects whose types are in scheme. events must be a
// recorder of NewBroadcaster. A nil sender posts nothing.
func NewRecorder(events record.EventRecorder, scheme *runtime.Scheme, sender *Sender) *Recorder {
	return &Recorder{events: events, scheme: scheme, sender: sender}
}

// Record records an event about an object, and posts it. It does not block.
func (r *Recorder) Record(about runtime.Object, e Event) {
	all := withAnnotations(about, e.Metadata)
	r.events.AnnotatedEventf(about, withAction(all, e.Action), e.Type, e.Reason, "%s", e.Message)
	if r.sender == nil || e.Trace || e.Repeated {
		return
	}
	involved, err := reference.GetReference(r.scheme, about)
	if err != nil {
		r.sender.log.Error(err, "an event is not posted: its object has no reference", "reason", e.Reason)
		return
	}
	r.sender.Send(eventv1.Event{
		InvolvedObject: *involved, Severity: severity(e.Type), Timestamp: metav1.NewTime(r.sender.now()),
		Message: truncate(e.Message), Reason: e.Reason, Action: e.Action, Metadata: posted(all),
	})
}

// withAction returns annotations from which the sink takes the action.
func withAction(annotations map[string]string, action string) map[string]string {
	all := maps.Clone(annotations)
	all[annotationAction] = action
	return all
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
