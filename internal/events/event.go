// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TypeTrace is the type of an event that is recorded on the API server, as Normal, and not posted.
const TypeTrace = "Trace"

// Severities of posted events.
const (
	SeverityInfo  = "info"
	SeverityError = "error"
)

// maxMessage is the length of the longest posted message, in characters.
const maxMessage = 39000

// Event is the payload for notification-controller: version v1beta1 of event.toolkit.fluxcd.io.
type Event struct {
	InvolvedObject corev1.ObjectReference `json:"involvedObject"`
	// Severity is SeverityInfo or SeverityError.
	Severity  string      `json:"severity"`
	Timestamp metav1.Time `json:"timestamp"`
	Message   string      `json:"message"`
	Reason    string      `json:"reason"`
	// Metadata are the annotations that the event has on the API server.
	Metadata map[string]string `json:"metadata,omitempty"`
	// ReportingController is the name that all replicas share, and ReportingInstance that of one.
	ReportingController string `json:"reportingController"`
	ReportingInstance   string `json:"reportingInstance,omitempty"`
}

func severity(eventType string) string {
	if eventType == corev1.EventTypeWarning {
		return SeverityError
	}
	return SeverityInfo
}

// shortened truncates a message to maxMessage. Messages end with lines of logs, which matter least.
func shortened(message string) string {
	if len(message) <= maxMessage || utf8.RuneCountInString(message) <= maxMessage {
		return message
	}
	return string([]rune(message)[:maxMessage-3]) + "..."
}
