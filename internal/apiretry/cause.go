// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/pintle-dev/pintle/internal/brief"
)

// Cause returns why a request was not answered, in the same words for the same reason: it has no
// URL, which may contain credentials, no port of the client and no time. If err has a method
// Cause() string, it returns that.
func Cause(err error) string {
	var described interface{ Cause() string }
	if errors.As(err, &described) {
		return described.Cause()
	}
	// The innermost error has the operation and no URL.
	for around := new(url.Error); errors.As(err, &around); {
		err = around.Err
	}
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return "tls: the certificate of the server has expired or is not yet valid"
	}
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op == "dial" && operation.Addr != nil {
		return "dial " + operation.Addr.String() + ": " + brief.Cut(brief.Line(operation.Err.Error()), maxCause)
	}
	var late net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) && late.Timeout() {
		return "no answer in time"
	}
	if operation != nil {
		return operation.Op + ": " + brief.Cut(brief.Line(operation.Err.Error()), maxCause)
	}
	return brief.Cut(brief.Line(err.Error()), maxCause)
}

// Describe returns the message of an error and whether it is transient. The message of a transient
// error is its Cause.
func Describe(err error) (text string, transient bool) {
	if IsTransient(err) {
		return Cause(err), true
	}
	return err.Error(), false
}

// maxCause bounds a cause, in bytes. Some errors quote an answer.
const maxCause = 200

// Cause returns why a request is repeated, in the same words for the same reason.
func (a Answer) Cause() string {
	switch {
	case a.Err != nil:
		return Cause(a.Err)
	case a.webhook() != "":
		return a.webhookCause()
	}
	return fmt.Sprintf("answered with %d %s", a.Code, http.StatusText(int(a.Code)))
}
