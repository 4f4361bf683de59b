// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package diagnosis finds out, from what was read of an object, its pods, their logs
// and events, why the object is not as it should be, and says so without saying
// what is secret. It turns values into values: reading is for others.
package diagnosis

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Facts are what is known of one object that is not as it should be.
type Facts struct {
	Kind, Namespace, Name string
	// Role is "hook" or "test" if the object is one, or empty.
	Role string
	// Status is what somebody who waits for the object makes of it.
	Status string
	// Failed is true if it has failed for good.
	Failed bool
	// Refused is true if the API server refused the object, with what Status says.
	Refused bool
	// Conditions are those of the object's own status.
	Conditions []Condition
	// Pods are those of the object, in any order.
	Pods []corev1.Pod
	// Events are warnings about the object and the Pod that Telling returns.
	Events []corev1.Event
	// Logs are the ends of the logs of that Pod, long enough to be cut.
	Logs []Log
	// Secrets are texts that must not be told.
	Secrets []string
	// Withheld says why nothing is told of what containers have written, such as that
	// not all secrets are known; empty if it is told.
	Withheld string
	// Unread says what could not be read, and why.
	Unread []string
}

// Condition is one condition of an object, as far as it matters here.
type Condition struct{ Type, Status, Reason, Message string }

// Log is the end of what one container has logged.
type Log struct{ Container, Text string }

// Finding is what the facts come to.
type Finding struct {
	// Code is one of the failure codes of the api.
	Code string
	// Sure is false if nothing was found but that the object is not as it should be.
	Sure bool
	// Summary is one line that begins with the object, MaxSummary bytes at most.
	Summary string
	// Details are the rest, line by line.
	Details []string
	// Logs are what may be told of the logs, MaxLogBytes each.
	Logs []Log
	// Hopeless is true if it will not go away by waiting, provided that it has been
	// seen for as long as Patience.
	Hopeless bool
	Patience time.Duration
	// Mark is the same whenever the same is the matter, however often it has happened.
	Mark string
}

// Bounds of what is told.
const (
	// MaxSummary is how long a summary is, in bytes.
	MaxSummary = 400
	// MaxLogBytes is how much is told of the log of a container.
	MaxLogBytes = 4096
	// MaxLogs is of how many containers logs are told.
	MaxLogs = 6

	maxMessage = 300
	maxLine    = 200
	maxEvents  = 5
)

// How long the same must have been seen before it is hopeless. A kubelet tries an
// image again after 10, 20 and 40 seconds; controllers create pods again about as
// often at first. Quota may be held by pods that are on their way out.
const (
	imagePatience     = time.Minute
	crashPatience     = time.Minute
	admissionPatience = time.Minute
	quotaPatience     = 2 * time.Minute
	// crashes is how often a container has been started again before it counts as
	// one that always crashes: by then it waits for minutes between two lives.
	crashes = 5
)
