// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package events makes events: on the API server, and, if there is an address to
// post them to, there. It keeps nobody waiting: what is posted is queued, and
// what cannot be delivered is counted and dropped.
package events

import (
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TypeTrace is the type of an event that is on the API server only, where it is a
// normal one.
const TypeTrace = "Trace"

// Severities of events, as receivers know them.
const (
	SeverityInfo  = "info"
	SeverityError = "error"
)

// maxMessage is the longest message a receiver has to take, in characters.
const maxMessage = 39000

// Event is what is posted, as notification-controller takes it: version v1beta1
// of event.toolkit.fluxcd.io.
type Event struct {
	InvolvedObject corev1.ObjectReference `json:"involvedObject"`
	// Severity is one of the constants.
	Severity  string      `json:"severity"`
	Timestamp metav1.Time `json:"timestamp"`
	Message   string      `json:"message"`
	Reason    string      `json:"reason"`
	// Metadata are the annotations that the event has on the API server.
	Metadata map[string]string `json:"metadata,omitempty"`
	// ReportingController and ReportingInstance say who posts: a name that all
	// replicas share, and that of one.
	ReportingController string `json:"reportingController"`
	ReportingInstance   string `json:"reportingInstance,omitempty"`
}

func severity(eventType string) string {
	if eventType == corev1.EventTypeWarning {
		return SeverityError
	}
	return SeverityInfo
}

// shortened returns a message that receivers take. Its beginning says what has
// happened; what is at its end are lines of logs.
func shortened(message string) string {
	if len(message) <= maxMessage || utf8.RuneCountInString(message) <= maxMessage {
		return message
	}
	return string([]rune(message)[:maxMessage-3]) + "..."
}
