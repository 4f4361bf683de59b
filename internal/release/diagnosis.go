// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import "time"

// Role says what an object that is waited for is to its release.
type Role string

// Roles of objects. The zero value is an object of the release itself.
const (
	RoleHook Role = "hook"
	RoleTest Role = "test"
)

// Suspect is an object that is waited for and not as wanted.
type UnreadyObject struct {
	Object Object
	UID    string
	Role   Role
	// Content is the object as it was last seen, or else as it was sent. It is not to
	// be changed.
	Content map[string]any
	// Status is what the wait makes of it.
	Status string
	// Failed is true if it has failed for good.
	Failed bool
	// Quiet is true if nobody is to see what its containers have logged.
	HideLogs bool
}

// Inquiry asks why objects are not as wanted.
type DiagnosisRequest struct {
	// Suspects are those objects, those that have failed for good first.
	Objects []UnreadyObject
	// Secrets are texts that must not be in the answer.
	Secrets []string
	// Brief asks only whether there is any use in waiting on: nothing is read but
	// what tells that.
	Brief bool
}

// Diagnosis is why something that was waited for did not come about. It has no
// values of Secrets in it.
type Diagnosis struct {
	// Code is one of the api's failure codes, for machines.
	Code string
	// Object is the one that tells most, and Role what it is to the release.
	Object Object
	Role   Role
	// Summary is one short line that begins with the object and names the cause.
	Summary string
	// Details are the rest, line by line.
	Details []string
	// Logs are the last lines of the containers of the Pod that tells most.
	Logs []ContainerLog
	// Hopeless is true if what is the matter does not go away by waiting, provided
	// that it has been seen for as long as Patience.
	Permanent      bool
	PermanentAfter time.Duration
	// Mark tells whether the same is the matter at two times.
	Fingerprint string
}

// ContainerLog is the end of what a container has logged.
type ContainerLog struct{ Pod, Container, Text string }
