// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import "time"

// Role is the relation of an awaited object to its release.
type Role string

// Roles of objects. The zero value is an object of the release itself.
const (
	RoleHook Role = "hook"
	RoleTest Role = "test"
)

// UnreadyObject is an awaited object that is not ready.
type UnreadyObject struct {
	Object Object
	UID    string
	Role   Role
	// Content is the object as last observed, or else as it was sent. It must not be changed.
	Content map[string]any
	// Status is the status that the readiness check returned.
	Status string
	// Failed is true if the object has failed terminally.
	Failed bool
	// HideLogs is true if the logs of its containers must not be shown.
	HideLogs bool
}

// DiagnosisRequest requests the failure cause of unready objects.
type DiagnosisRequest struct {
	// Objects are the unready objects, terminally failed ones first.
	Objects []UnreadyObject
	// Secrets are texts that the diagnosis must not contain.
	Secrets []string
	// Brief limits the reads to those that decide whether waiting can still succeed.
	Brief bool
}

// Diagnosis is the failure cause of a wait. It contains no values of Secrets.
type Diagnosis struct {
	// Code is one of the failure codes of the API, for machines.
	Code string
	// Object is the object that shows the cause. Role is its relation to the release.
	Object Object
	Role   Role
	// Summary is one short line that starts with the object and names the cause.
	Summary string
	// Details has further lines.
	Details []string
	// Logs has the last log lines of the containers of the Pod that shows the cause.
	Logs []ContainerLog
	// Permanent is true if the cause does not disappear by waiting once it has been present for
	// PermanentAfter.
	Permanent      bool
	PermanentAfter time.Duration
	// Fingerprint is equal for two diagnoses of the same cause.
	Fingerprint string
}

// ContainerLog is the end of a container's log.
type ContainerLog struct{ Pod, Container, Text string }
