// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package diagnosis finds out why an object failed, from the object's status and its Pods, their
// logs and events. It describes the cause in texts without secrets. It is pure: package evidence
// reads the cluster.
//
// Files, top-down:
//
//	find.go      Find: the cause, its summary and details
//	pod.go       the symptoms of Pods and containers
//	stable.go    texts without times and names that differ between equal failures
//	secrets.go   the ends of logs, and the Secrets that a Pod uses
package diagnosis

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/pintle-dev/pintle/internal/redaction"
)

// Facts are the input of Find about one object that is not ready or has failed.
type Facts struct {
	Kind, Namespace, Name string
	// Home is the namespace of the release. Texts name an object in it without its namespace.
	Home string
	// Waited is the timeout of the wait that has ended; zero if the object was not awaited until then.
	Waited time.Duration
	// Role is "hook" or "test" if the object is one, or empty.
	Role string
	// Status is the readiness message for the object.
	Status string
	// Failed is true if the object has failed for good.
	Failed bool
	// Refused is true if the API server rejected the object. Status is its error message.
	Refused bool
	// Conditions are the conditions in the object's status.
	Conditions []Condition
	// Pods are the Pods of the object, in any order.
	Pods []corev1.Pod
	// Events are warnings about the object and about the Pod that RelevantPod returns.
	Events []corev1.Event
	// Logs are the ends of the logs of that Pod, before redaction and truncation.
	Logs []Log
	// Secrets are values of Secrets to redact.
	Secrets []string
	// redactor removes them. Find sets it.
	redactor redaction.Redactor
	// Withheld is the reason why container output is left out, such as unknown Secrets. It is empty
	// if container output is included.
	Withheld string
	// Unread lists the resources that could not be read, with the error.
	Unread []string
}

// Condition is one condition of an object.
type Condition struct{ Type, Status, Reason, Message string }

// Log is the end of the log of one container.
type Log struct{ Container, Text string }

// Finding is the cause of a failure.
type Finding struct {
	// Code is one of the failure codes of the API.
	Code string
	// Sure is false if no cause was found.
	Sure bool
	// Summary is one line that starts with the object, at most MaxSummary bytes long.
	Summary string
	// Details are further lines.
	Details []string
	// Logs are redacted logs, at most MaxLogBytes each.
	Logs []Log
	// Hopeless is true if waiting does not help, provided that the cause has persisted for
	// Patience.
	Hopeless bool
	Patience time.Duration
	// Mark identifies the cause. It is equal for repeated failures with the same cause.
	Mark string
}

// Limits of the result.
const (
	// MaxSummary is the maximum length of a summary, in bytes.
	MaxSummary = 400
	// MaxLogBytes is the maximum length of one container's log, in bytes.
	MaxLogBytes = 4096
	// MaxLogs is the maximum number of containers with logs.
	MaxLogs = 6

	maxMessage = 300
	maxLine    = 200
	maxEvents  = 5
)

// How long a cause must persist before waiting counts as hopeless. A kubelet retries an image pull
// after 10, 20 and 40 seconds; controllers retry the creation of Pods about as often at first.
// Terminating Pods may still use quota.
const (
	imagePatience     = time.Minute
	crashPatience     = time.Minute
	admissionPatience = time.Minute
	quotaPatience     = 2 * time.Minute
	// crashes is the number of restarts after which a container counts as crashing every time. By
	// then the kubelet delays each restart by minutes.
	crashes = 5
)
