// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"errors"
	"fmt"
	"time"
)

// Outage is the error of a request when its budget is spent because the server does not answer.
type Outage struct {
	// Server is a noun phrase for the server that did not answer.
	Server string
	// Since is when the first request failed.
	Since time.Time
	// Cause is why the last request failed, in the same words for the same reason.
	Cause string
	// Webhook is true if the server is an admission webhook.
	Webhook bool
}

// Error implements error.
func (o *Outage) Error() string {
	return fmt.Sprintf("%s has not answered since %s: %s", o.Server, o.Since.UTC().Format(time.RFC3339), o.Cause)
}

// OutageOf returns the outage in err; nil if there is none. Errors of other packages describe one by
// a method Outage.
func OutageOf(err error) *Outage {
	if outage, ok := errors.AsType[*Outage](err); ok {
		return outage
	}
	var described interface {
		Outage() (server string, since time.Time, cause string)
	}
	if !errors.As(err, &described) {
		return nil
	}
	o := &Outage{}
	o.Server, o.Since, o.Cause = described.Outage()
	return o
}

// UnavailableError is the error of a part of an API server that does not answer, while the server
// itself does: an API of another server that it forwards requests to, or discovery.
type UnavailableError struct {
	// API names the part, such as "metrics.k8s.io/v1beta1".
	API string
	// Why is the reason, in the same words for the same reason.
	Why string
}

// Error implements error.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("API %s is unavailable: %s", e.API, e.Why)
}

// Cause returns the reason.
func (e *UnavailableError) Cause() string { return e.Why }

// lostError wraps the error of a transport: the request has no answer.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }
